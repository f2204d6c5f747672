#!/usr/bin/env bash
# race.sh tests the packages whose work is concurrent with the race detector: transports, drivers, simulated devices, the
# host agent, and the engine of rollouts. What stands on SQLite is left to `make soak`: its pure Go engine is fifteen times slower so.
set -euo pipefail
cd "$(dirname "$0")/.."

go test -race -timeout 15m ./agent/... ./ccconfig/driver/... ./ccconfig/gnmi/... ./ccconfig/ibmad ./internal/listen \
  ./service/device ./service/telemetry ./sim/p4dev ./sim/simdev ./subnet/discover ./subnet/ibsim ./subnet/madlink ./subnet/umad ./wrcc/p4rt
go test -race -timeout 15m ./service/rollout -schedules 100
