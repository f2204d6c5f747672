#!/usr/bin/env bash
# check.sh [BASE]: checks to run before each commit. Builds everything; checks the format of, vets, lints and tests the packages that
# differ from the commit BASE (default: the merge base with origin/main, or the previous commit), and checks the rules of the whole module.
set -euo pipefail
cd "$(dirname "$0")/.."

base=${1:-$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD~1)}
[ "$base" != "$(git rev-parse HEAD)" ] || [ -n "$(git status --porcelain)" ] || base=$(git rev-parse HEAD~1)

files=$({ git diff --name-only --diff-filter=d "$base"; git ls-files -o --exclude-standard; } | sort -u)
gofiles=$(grep '\.go$' <<<"$files" | grep -v '^tools/' || true)

echo "== build"
go build ./...

if [ -n "$gofiles" ]; then
  mapfile -t packages < <(xargs -n1 dirname <<<"$gofiles" | sort -u | sed 's|^|./|')
  echo "== lint: ${packages[*]}"
  unformatted=$(xargs gofmt -l <<<"$gofiles")
  if [ -n "$unformatted" ]; then
    echo "not gofmt'ed:" >&2
    echo "$unformatted" >&2
    exit 1
  fi
  go vet "${packages[@]}"
  go tool -modfile=tools/lint/go.mod golangci-lint run "${packages[@]}"
fi

# Generated tests run with few cases, which suffice before a commit.
echo "== tests"
rest=()
for p in "${packages[@]:-}"; do
  case $p in
    "") ;;
    ./api) go test ./api -contract.requests 300 ;;
    ./service/rollout) go test ./service/rollout -schedules 250 ;;
    *) rest+=("$p") ;;
  esac
done
go test -timeout 5m ./internal/archtest ./internal/i18n ./test/docs "${rest[@]}"
