#!/usr/bin/env bash
# Everything CI runs. FAIRLANE_REQUIRE_INTEROP turns a missing peer tool from a skip into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== lint"
./test/lint.sh

echo "== build"
make --no-print-directory build

echo "== demo"
./bin/fairlane demo --plane ib --once

echo "== tests"
FAIRLANE_REQUIRE_INTEROP=1 go test -timeout 15m ./...

echo "== fuzzing, other targets with each commit"
FUZZ_SOME=8 ./test/fuzz.sh 15s
