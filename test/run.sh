#!/usr/bin/env bash
# Runs everything that CI runs. FAIRLANE_REQUIRE_INTEROP turns a missing peer tool from a skip into a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

# With -trimpath, builds and tests share what they compile, also with clones in other folders. Without symbols, each of the 200 test
# programs takes a third of the time to link.
export GOFLAGS="-trimpath '-ldflags=-s -w'"

# begin PART says how long the part before it took, also in processor time of the commands that have ended.
part="" since=0 spent=0 clock=$(mktemp) aside=$(mktemp)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -f "$clock" "$aside"' EXIT
begin() {
  local all
  times >"$clock" # not in a subshell, which has times of its own
  all=$(awk 'NR == 2 { split($1 "m" $2, t, "[ms]+"); printf "%d", 60 * (t[1] + t[3]) + t[2] + t[4] }' "$clock")
  if [ -n "$part" ]; then echo "-- $part took $((SECONDS - since)) s, $((all - spent)) s of processor time"; fi
  part=$1 since=$SECONDS spent=$all
  if [ -n "$part" ]; then echo "== $part"; fi
}

begin "lint"
./test/lint.sh

begin "portal" # before the program, which embeds it
./web/build.sh --install

begin "build"
make --no-print-directory build

begin "demo"
./bin/fairlane demo --plane ib --once

status=0
begin "portal, checks and unit tests"
portal() { timeout -k 30s "$1" ./web/build.sh --exec "${@:2}"; }
portal 5m npm run check || status=1
portal 2m npm run generated || status=1
portal 2m npm run size || status=1
portal 5m npm test || status=1

# The browser tests, one at a time, leave half of two cores idle: the tests that only compute take it, at a lower priority.
# Coverage only for packages with short tests: counting would slow down the simulations.
mapfile -t computing < <(go list ./policy/... ./sim/...)
mapfile -t whole < <(go list ./test/...)
mapfile -t short < <(go list ./... | grep -vE '^fairlane/(policy|sim|test)(/|$)')

begin "browser tests of the portal; beside them, tests of the compiler and the simulator"
FAIRLANE_REQUIRE_INTEROP=1 nice go test -p 1 -timeout 25m "${computing[@]}" >"$aside" 2>&1 &
computed=$!
# A missing browser or a build without pages is a failure. What tests leave is in web/e2e/results.
FAIRLANE_BIN=$PWD/bin/fairlane E2E_REQUIRE_PAGES=1 portal 20m npm run e2e || status=1
echo "-- browser tests took $((SECONDS - since)) s"
wait "$computed" || status=1
cat "$aside"

# One program more than cores runs at a time, since many wait for timers and other processes.
begin "tests of whole programs"
FAIRLANE_REQUIRE_INTEROP=1 go test -p 3 -timeout 15m "${whole[@]}" || status=1
begin "tests of the other packages"
FAIRLANE_REQUIRE_INTEROP=1 go test -p 3 -timeout 15m -cover "${short[@]}" || status=1
[ "$status" -eq 0 ]

begin "race detector, concurrent packages"
./test/race.sh

begin "fuzzing, other targets with each commit"
FUZZ_SOME=8 ./test/fuzz.sh 15s
begin ""
