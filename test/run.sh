#!/usr/bin/env bash
# Runs everything that CI runs. FAIRLANE_REQUIRE_INTEROP turns a missing peer tool from a skip into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== lint"
./test/lint.sh

echo "== portal" # before the program, which embeds it
./web/build.sh --install

echo "== build"
make --no-print-directory build

echo "== demo"
./bin/fairlane demo --plane ib --once

status=0
echo "== portal, checks and unit tests"
portal() { timeout -k 30s "$1" ./web/build.sh --exec "${@:2}"; }
portal 5m npm run check || status=1
portal 2m npm run generated || status=1
portal 2m npm run size || status=1
portal 5m npm test || status=1

# A missing browser or a build without pages is a failure. What tests leave is in web/e2e/results.
echo "== portal, browser tests"
FAIRLANE_BIN=$PWD/bin/fairlane E2E_REQUIRE_PAGES=1 portal 15m npm run e2e || status=1

echo "== tests"
# Coverage only for packages with short tests: counting would slow down the simulations.
mapfile -t long < <(go list ./policy/... ./sim/... ./test/...)
mapfile -t short < <(go list ./... | grep -vE '^fairlane/(policy|sim|test)(/|$)')
FAIRLANE_REQUIRE_INTEROP=1 go test -timeout 15m "${long[@]}" || status=1
FAIRLANE_REQUIRE_INTEROP=1 go test -timeout 15m -cover "${short[@]}" || status=1
[ "$status" -eq 0 ]

echo "== race detector, concurrent packages"
./test/race.sh

echo "== fuzzing, other targets with each commit"
FUZZ_SOME=8 ./test/fuzz.sh 15s
