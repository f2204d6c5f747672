-- +goose Up
CREATE TABLE rollouts (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    fabric_id      INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    plan_id        INTEGER NOT NULL REFERENCES plans (id) ON DELETE CASCADE,
    stages         TEXT    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('running', 'succeeded', 'partial', 'failed', 'rolled-back', 'canceled', 'interrupted')),
    result         TEXT    NOT NULL,
    actor          TEXT    NOT NULL,
    version        INTEGER NOT NULL,
    created_at_us  INTEGER NOT NULL,
    updated_at_us  INTEGER NOT NULL,
    finished_at_us INTEGER
);

-- Two rollouts on one fabric never interleave, whoever starts them.
CREATE UNIQUE INDEX rollouts_one_running ON rollouts (fabric_id) WHERE state = 'running';
CREATE INDEX rollouts_by_fabric ON rollouts (fabric_id, id);

-- before, wanted, observed and receipt are JSON of the device contract's types.
CREATE TABLE rollout_devices (
    rollout_id    INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    node_guid     TEXT    NOT NULL CHECK (length(node_guid) = 18),
    port_num      INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    device        BLOB    NOT NULL,
    state         TEXT    NOT NULL,
    before        BLOB,
    wanted        BLOB,
    observed      BLOB,
    receipt       BLOB,
    error         TEXT    NOT NULL,
    updated_at_us INTEGER NOT NULL,
    PRIMARY KEY (rollout_id, node_guid, port_num)
);
