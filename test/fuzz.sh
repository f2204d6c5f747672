#!/usr/bin/env bash
# fuzz.sh [TIME [DIRECTORY...]] runs every fuzz target of the module, or of the directories, for TIME each (default 60s):
# as many concurrently as there are cores, each with one worker. It prints one line for each target that passes and the
# whole log of each that fails. FUZZ_SOME=N runs N of the targets, a different selection for each commit.
set -euo pipefail
cd "$(dirname "$0")/.."

export FUZZ_TIME=${1:-60s}
shift || true
[ $# -gt 0 ] || set -- .

# fuzz DIRECTORY TARGET runs a target. At the end of the time, Go's fuzzing engine sometimes reports its own deadline as a
# fault of the target; a run that ends so, without a failing input, is repeated.
fuzz() {
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  for _ in 1 2 3; do
    if go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZ_TIME" -fuzzminimizetime 5s -parallel 1 "$1" >"$log" 2>&1; then
      echo "ok   $1 $2: $(grep -oE 'execs: [0-9]+' "$log" | tail -1)"
      return
    fi
    if ! grep -q 'context deadline exceeded' "$log" || grep -q 'Failing input written' "$log"; then
      break
    fi
  done
  echo "FAIL $1 $2"
  cat "$log"
  return 1
}
export -f fuzz

# some selects FUZZ_SOME of the targets by the hash of the commit and their names; all if FUZZ_SOME is not set.
some() {
  [ -n "${FUZZ_SOME:-}" ] || { cat; return; }
  commit=$(git rev-parse HEAD 2>/dev/null || echo none)
  while read -r target; do
    echo "$(echo "$commit $target" | sha256sum | cut -c1-16) $target"
  done | sort | head -n "$FUZZ_SOME" | cut -d' ' -f2-
}

grep -rlE '^func Fuzz' --include='*_test.go' "${@/#/./}" | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed "s|^func |$dir |" | sort -u
done | some | xargs -P "$(nproc)" -L 1 bash -euc 'fuzz "$@"' fuzz
