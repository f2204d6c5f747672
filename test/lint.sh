#!/usr/bin/env bash
# Format, vet, staticcheck and golangci-lint, at the versions of tools/lint/go.mod.
set -euo pipefail
cd "$(dirname "$0")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
  echo "not gofmt'ed:" >&2
  echo "$unformatted" >&2
  exit 1
fi
go vet ./...
go tool -modfile=tools/lint/go.mod staticcheck ./...
go tool -modfile=tools/lint/go.mod golangci-lint run ./...
