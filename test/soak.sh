#!/usr/bin/env bash
# soak.sh [TOTAL [SEED]] runs the long tests for about TOTAL (default 2h; units s, m or h). Each part runs for its share of
# the time, in rounds with different random seeds derived from SEED (default 1), at least one round. The summary lists
# the parts; the exit status is 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."

seconds() {
  case $1 in
    *h) echo $((${1%h} * 3600)) ;;
    *m) echo $((${1%m} * 60)) ;;
    *s) echo "${1%s}" ;;
    *) echo "soak: $1: want a number of hours, minutes or seconds, such as 2h, 90m or 600s" >&2; return 2 ;;
  esac
}

total=$(seconds "${1:-2h}") || exit 2
seed=${2:-1}
export FAIRLANE_REQUIRE_INTEROP=1
summary=()
failed=0

# part NAME PERCENT FUNCTION calls the function with the number of the round until its share of the time is used.
part() {
  local name=$1 share=$((total * $2 / 100)) run=$3 begun=$SECONDS round=0 status=ok
  echo "== $name, for about $share s"
  while [ "$round" -eq 0 ] || [ $((SECONDS - begun)) -lt "$share" ]; do
    if ! "$run" "$round" "$share"; then
      status=FAIL failed=1
      break
    fi
    round=$((round + 1))
  done
  summary+=("$status  $name: $round rounds in $((SECONDS - begun)) s")
}

mapfile -t packages < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...)

# race tests one package with the race detector, in each round the next one; the seed determines the first.
race() { go test -race -timeout 60m "${packages[$(((seed * 37 + $1) % ${#packages[@]}))]}"; }

properties() { go test -count=1 -timeout 60m -run 'TestConservation|TestNothingIsLost|TestLinkFailures|TestALoopIsReported|TestWheelAgrees|TestQueueAgrees' ./sim ./sim/fabric ./sim/ether -rapid.checks=500 -rapid.seed=$((seed * 100000 + $1)); }

contract() { go test -count=1 -timeout 60m -run TestGeneratedRequestsNeverHarm ./api -contract.requests 10000 -contract.seed $((seed * 100000 + $1)); }

isolation() { go test -count=1 -timeout 60m -run TestQueriesSeeOnlyTheirScope ./service/series/embedded -series.queries 20000 -series.seed $((seed * 100000 + $1)); }

contention() { go test -count=1 -timeout 60m -run TestContentionIsJudgedAsByTheExactAllocation ./service/telemetry -contention.cases 100 -contention.seed $((seed * 100000 + $1)); }

schedules() { go test -count=1 -timeout 60m -run TestDevicesEndInDesiredOrPreviousStateAfterAnyFault ./service/rollout -schedules 5000 -seed $((1 + seed * 10000000 + $1 * 5000)); }

kills() { go test -count=1 -timeout 120m ./test/kill -hosts 1000 -kills 20 -seed $((seed * 100000 + $1)); }

attack() { go test -count=1 -timeout 6h ./test/attack -attack.for "$2s" -attack.seed "$seed"; }

# fuzz runs every target for the same time, and allows half a minute more for its build.
fuzz() {
  local targets
  targets=$(grep -rhE '^func Fuzz' --include='*_test.go' . | wc -l)
  ./test/fuzz.sh "$((($2 * $(nproc) / targets > 35 ? $2 * $(nproc) / targets - 30 : 5)))s"
}

# pages measures the pages of large fabrics and long lists, and keeps a tab open for 28,800 updates.
pages() { FAIRLANE_BIN=$PWD/bin/fairlane npm --prefix web run soak; }

clients() { make --no-print-directory grpcurl gnmic; }

part "race detector" 15 race
part "properties of the simulator" 10 properties
part "generated requests" 5 contract
part "isolation of series" 5 isolation
part "judgement of contention" 5 contention
part "schedules of rollouts" 5 schedules
part "kills" 10 kills
part "attack" 15 attack
part "pages" 15 pages
part "fuzzing" 15 fuzz
part "grpcurl and gnmic" 0 clients

printf '%s\n' "-- soak: $SECONDS s" "${summary[@]}"
exit $failed
