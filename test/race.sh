#!/usr/bin/env bash
# race.sh runs the tests of packages with concurrent work with the race detector: transports, drivers, simulated devices,
# the host agent, and the rollout engine. `make soak` covers packages that use SQLite, whose pure Go engine is fifteen
# times slower with the race detector.
set -euo pipefail
cd "$(dirname "$0")/.."

go test -race -timeout 15m ./agent/... ./ccconfig/driver/... ./ccconfig/gnmi/... ./ccconfig/ibmad ./internal/listen \
  ./service/auditexport ./service/collect ./service/device ./service/notify ./sim/p4dev ./sim/simdev ./subnet/discover ./subnet/ibsim ./subnet/madlink ./subnet/umad ./wrcc/p4rt
go test -race -timeout 15m ./service/telemetry -contention.cases 1 # whose simulations have no concurrent work
go test -race -timeout 15m ./service/rollout -schedules 100
