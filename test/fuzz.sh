#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 60s).
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-60s}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz DIRECTORY TARGET. At the end of the time Go's fuzzing engine now and then takes its own deadline for a fault of the
# target; a run that ends so, without a failing input, is made again.
fuzz() {
  for _ in 1 2 3; do
    if go test -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 5s "$1" 2>&1 | tee "$log"; then
      return
    fi
    if ! grep -q 'context deadline exceeded' "$log" || grep -q 'Failing input written' "$log"; then
      return 1
    fi
  done
  return 1
}

grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r target; do
    echo "== $dir $target"
    fuzz "$dir" "$target"
  done
done
