#!/usr/bin/env bash
# Measures the API under load on loopback with vegeta: 2,000 tenants with 20,000 attachments, lists at 500/s and,
# concurrently, writes at 50/s. Fails if a limit is exceeded. The database is SQLite in a temporary directory, or
# FAIRLANE_DATABASE. Arguments are passed to tools/load.
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$(mktemp -d)
serve=
trap '[ -z "$serve" ] || kill "$serve" 2>/dev/null; wait 2>/dev/null || true; rm -rf "$dir"' EXIT
go build -trimpath -o "$dir/fairlane" ./cmd/fairlane
(cd tools/load && go build -trimpath -o "$dir/load" .)
port=${FAIRLANE_LOAD_PORT:-18470}
export FAIRLANE_TOKEN=flt_load_$(head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n')
export FAIRLANE_URL=http://127.0.0.1:$port
echo "$FAIRLANE_TOKEN" >"$dir/token"
chmod 600 "$dir/token"
FAIRLANE_DATABASE=${FAIRLANE_DATABASE:-$dir/fairlane.db} FAIRLANE_LOG_LEVEL=warn FAIRLANE_ADMIN_TOKEN_FILE=$dir/token \
  FAIRLANE_OPERATIONS_LISTEN=127.0.0.1:$((port + 1)) FAIRLANE_OPERATIONS_PPROF=true \
  FAIRLANE_DISCOVERY_SOURCES="file:$dir/*" "$dir/fairlane" serve --listen "127.0.0.1:$port" 2>"$dir/log" &
serve=$!
for _ in $(seq 100); do
  curl -fsS -o "$dir/ready" "$FAIRLANE_URL/api/v1/ready" 2>/dev/null && break
  kill -0 "$serve" 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
  sleep 0.1
done
"$dir/load" -write-fabric "$dir/fabric.yaml"
"$dir/fairlane" fabric create load --source "file:$dir/fabric.yaml"
"$dir/fairlane" fabric discover load
echo "load average before: $(cut -d' ' -f1-3 /proc/loadavg)" >&2
"$dir/load" -url "$FAIRLANE_URL" "$@" || { tail -5 "$dir/log" >&2; exit 1; }
echo "load average after: $(cut -d' ' -f1-3 /proc/loadavg)" >&2
