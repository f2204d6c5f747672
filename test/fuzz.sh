#!/usr/bin/env bash
# Runs every fuzz target of the module for the given time each (default 60s).
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-60s}
grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r dir; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | sed 's/^func //' | sort -u | while read -r target; do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^${target}\$" -fuzztime "$time" -fuzzminimizetime 5s "$dir"
  done
done
