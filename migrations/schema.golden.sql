CREATE TABLE events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at_us      INTEGER NOT NULL,
    fabric     TEXT    NOT NULL,
    rollout_id INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    message    TEXT    NOT NULL,
    data       BLOB
);

CREATE INDEX events_by_fabric ON events (fabric, id);

CREATE INDEX events_by_rollout ON events (rollout_id, id);

CREATE TABLE fabrics (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63),
    plane         TEXT    NOT NULL,
    source        TEXT    NOT NULL,
    time_scale    REAL    NOT NULL CHECK (time_scale > 0),
    version       INTEGER NOT NULL,
    flows_version INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
);

CREATE TABLE flows (
    fabric_id  INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id),
    class      TEXT    NOT NULL,
    src_guid   TEXT    NOT NULL CHECK (length(src_guid) = 18),
    src_port   INTEGER NOT NULL CHECK (src_port BETWEEN 0 AND 254),
    dst_guid   TEXT    NOT NULL CHECK (length(dst_guid) = 18),
    dst_port   INTEGER NOT NULL CHECK (dst_port BETWEEN 0 AND 254),
    qps        INTEGER NOT NULL CHECK (qps BETWEEN 1 AND 65536),
    demand_bps INTEGER NOT NULL CHECK (demand_bps >= 0),
    PRIMARY KEY (fabric_id, position)
);

CREATE INDEX flows_by_tenant ON flows (tenant_id);

CREATE TRIGGER plans_are_immutable BEFORE UPDATE ON plans
BEGIN
    SELECT RAISE(ABORT, 'plans are immutable');
END;

CREATE TABLE plans (
    id                  INTEGER PRIMARY KEY,
    fabric_id           INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    name                TEXT    NOT NULL CHECK (length(name) = 64),
    snapshot_sha256     TEXT    NOT NULL CHECK (length(snapshot_sha256) = 64),
    plan                BLOB    NOT NULL,
    input               BLOB    NOT NULL,
    tenants             INTEGER NOT NULL,
    devices             INTEGER NOT NULL,
    findings            INTEGER NOT NULL,
    max_predicted_error REAL    NOT NULL,
    created_at_us       INTEGER NOT NULL,
    UNIQUE (fabric_id, name)
);

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

CREATE INDEX rollouts_by_fabric ON rollouts (fabric_id, id);

CREATE UNIQUE INDEX rollouts_one_running ON rollouts (fabric_id) WHERE state = 'running';

CREATE TABLE snapshots (
    id            INTEGER PRIMARY KEY,
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    sha256        TEXT    NOT NULL CHECK (length(sha256) = 64),
    topology      BLOB    NOT NULL,
    nodes         INTEGER NOT NULL,
    switches      INTEGER NOT NULL,
    hosts         INTEGER NOT NULL,
    links         INTEGER NOT NULL,
    wall_us       INTEGER NOT NULL,
    mads_sent     INTEGER NOT NULL,
    taken_at_us   INTEGER NOT NULL,
    seen_at_us    INTEGER NOT NULL,
    -- seen_seq orders snapshots by their latest sighting even when the clock stands still.
    seen_seq      INTEGER NOT NULL,
    UNIQUE (fabric_id, sha256)
);

CREATE INDEX snapshots_by_sighting ON snapshots (fabric_id, seen_seq);

CREATE TABLE tenant_attachments (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    node_guid TEXT    NOT NULL CHECK (length(node_guid) = 18),
    port_num  INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    sl        INTEGER CHECK (sl BETWEEN 0 AND 15),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, node_guid, port_num)
);

CREATE TABLE tenant_classes (
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    weight_milli INTEGER NOT NULL CHECK (weight_milli BETWEEN 1 AND 1000000000),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, name)
);

CREATE TABLE tenants (
    id            INTEGER PRIMARY KEY,
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    weight_milli  INTEGER NOT NULL CHECK (weight_milli BETWEEN 1 AND 1000000000),
    pkey          INTEGER NOT NULL CHECK (pkey BETWEEN 0 AND 65535),
    version       INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL, guarantee_bps INTEGER NOT NULL DEFAULT 0 CHECK (guarantee_bps BETWEEN 0 AND 100000000000000), cap_bps INTEGER NOT NULL DEFAULT 0 CHECK (cap_bps BETWEEN 0 AND 100000000000000),
    UNIQUE (fabric_id, name)
);

CREATE TABLE tokens (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63),
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    created_at_us INTEGER NOT NULL
);

