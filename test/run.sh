#!/usr/bin/env bash
# Runs everything that CI runs. FAIRLANE_REQUIRE_INTEROP turns a missing peer tool from a skip into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== lint"
./test/lint.sh

echo "== build"
make --no-print-directory build

echo "== demo"
./bin/fairlane demo --plane ib --once

echo "== tests"
# Coverage only for packages with short tests: counting would slow down the simulations.
mapfile -t long < <(go list ./policy/... ./sim/... ./test/...)
mapfile -t short < <(go list ./... | grep -vE '^fairlane/(policy|sim|test)(/|$)')
status=0
FAIRLANE_REQUIRE_INTEROP=1 go test -timeout 15m "${long[@]}" || status=1
FAIRLANE_REQUIRE_INTEROP=1 go test -timeout 15m -cover "${short[@]}" || status=1
[ "$status" -eq 0 ]

echo "== race detector, concurrent packages"
./test/race.sh

echo "== fuzzing, other targets with each commit"
FUZZ_SOME=8 ./test/fuzz.sh 15s
