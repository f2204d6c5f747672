CREATE TABLE accounts (
    id              INTEGER PRIMARY KEY,
    kind            TEXT    NOT NULL CHECK (kind IN ('user', 'service-account')),
    name            TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    tenant_id       INTEGER REFERENCES tenants (id) ON DELETE CASCADE CHECK (tenant_id IS NULL OR kind = 'service-account'),
    display_name    TEXT    NOT NULL CHECK (length(display_name) <= 200),
    password        TEXT    NOT NULL CHECK (length(password) <= 300),
    issuer          TEXT    NOT NULL CHECK (length(issuer) <= 1000),
    subject         TEXT    NOT NULL CHECK (length(subject) <= 255),
    disabled        INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    version         INTEGER NOT NULL,
    created_at_us   INTEGER NOT NULL,
    updated_at_us   INTEGER NOT NULL,
    signed_in_at_us INTEGER
);

CREATE UNIQUE INDEX accounts_by_subject ON accounts (issuer, subject) WHERE subject <> '';

CREATE UNIQUE INDEX accounts_of_all ON accounts (kind, name) WHERE tenant_id IS NULL;

CREATE UNIQUE INDEX accounts_of_tenant ON accounts (tenant_id, name) WHERE tenant_id IS NOT NULL;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit entries are never changed');
END;

CREATE TABLE audit (
    seq        INTEGER PRIMARY KEY CHECK (seq > 0),
    at_us      INTEGER NOT NULL,
    actor      TEXT    NOT NULL,
    actor_kind TEXT    NOT NULL,
    addr       TEXT    NOT NULL,
    request_id TEXT    NOT NULL,
    fabric     TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    object     TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    detail     TEXT    NOT NULL,
    before     BLOB,
    after      BLOB,
    prev       TEXT    NOT NULL CHECK (length(prev) = 64),
    hash       TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64)
, token TEXT NOT NULL DEFAULT '', said TEXT);

CREATE INDEX audit_by_actor ON audit (actor, seq);

CREATE INDEX audit_by_fabric ON audit (fabric, seq);

CREATE TABLE audit_sinks (
    name     TEXT    PRIMARY KEY,
    seq      INTEGER NOT NULL,
    hash     TEXT    NOT NULL CHECK (length(hash) = 64),
    owner    TEXT    NOT NULL,
    until_us INTEGER NOT NULL
);

CREATE TABLE audit_tail (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    seq  INTEGER NOT NULL,
    hash TEXT    NOT NULL CHECK (length(hash) = 64)
);

CREATE TABLE baselines (
    fabric_id      INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid      TEXT    NOT NULL CHECK (length(node_guid) = 18),
    port_num       INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    device         BLOB    NOT NULL, -- JSON
    settings       BLOB    NOT NULL, -- JSON
    origin         TEXT    NOT NULL CHECK (origin IN ('before', 'unknown')),
    note           TEXT    NOT NULL,
    held           INTEGER NOT NULL CHECK (held IN (0, 1)),
    rollout_id     INTEGER NOT NULL, -- which wrote it first
    recorded_at_us INTEGER NOT NULL, note_said TEXT,
    PRIMARY KEY (fabric_id, node_guid, port_num)
);

CREATE TABLE collectors (
    fabric_id INTEGER PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    owner     TEXT    NOT NULL,
    until_us  INTEGER NOT NULL
);

CREATE TABLE devices (
    fabric_id         INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid         TEXT NOT NULL,
    port_num          INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    device            BLOB NOT NULL, -- JSON
    plan              TEXT NOT NULL, -- by whose settings it was judged; '' before the first
    policy            TEXT NOT NULL CHECK (policy IN ('', 'report', 'repair', 'freeze')), -- '' is the fabric's
    reading           TEXT NOT NULL CHECK (reading IN ('unknown', 'in-sync', 'drifted', 'unreachable', 'unsupported')),
    seen              TEXT NOT NULL CHECK (seen IN ('unknown', 'in-sync', 'drifted', 'unsupported')), -- the latest with an answer
    observed          BLOB, -- JSON; NULL when it was as wanted
    differences       BLOB, -- JSON
    error             TEXT NOT NULL,
    read_by           TEXT NOT NULL, -- the manager that read it last
    read_at_us        INTEGER,
    seen_at_us        INTEGER,
    steady_at_us      INTEGER, -- since when it was as wanted at every answer
    quarantined_at_us INTEGER,
    quarantine_reason TEXT NOT NULL,
    incidents         BLOB, -- JSON: times in microseconds
    repair            INTEGER NOT NULL, -- the rollout that last repaired it; 0 is none
    due_at_us         INTEGER NOT NULL, -- when it is read next
    version           INTEGER NOT NULL, error_said TEXT, quarantine_said TEXT, -- of what people decide about it
    PRIMARY KEY (fabric_id, node_guid, port_num)
);

CREATE INDEX devices_by_due ON devices (fabric_id, due_at_us);

CREATE TABLE drift_policies (
    fabric_id     INTEGER PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    body          BLOB NOT NULL,
    plan          TEXT   NOT NULL,
    version       INTEGER NOT NULL,
    updated_at_us INTEGER
);

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
, by_tenant INTEGER NOT NULL DEFAULT 0 CHECK (by_tenant IN (0, 1)), said TEXT);

CREATE INDEX events_by_fabric ON events (fabric, id);

CREATE INDEX events_by_rollout ON events (rollout_id, id);

CREATE INDEX events_by_subject ON events (fabric, subject, id);

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
, counters TEXT NOT NULL DEFAULT 'clear' CHECK (counters IN ('clear', 'keep')), management TEXT NOT NULL DEFAULT 'managed' CHECK (management IN ('managed', 'releasing', 'released')), management_at_us INTEGER, restored_at_us INTEGER, repairs_wait INTEGER NOT NULL DEFAULT 0 CHECK (repairs_wait IN (0, 1)), prerequisites TEXT NOT NULL DEFAULT 'report' CHECK (prerequisites IN ('report', 'repair')));

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

CREATE TABLE idempotency_keys (
    actor         TEXT    NOT NULL,
    word          TEXT    NOT NULL CHECK (length(word) BETWEEN 1 AND 128),
    request       TEXT    NOT NULL CHECK (length(request) = 64),
    status        INTEGER NOT NULL,
    header        BLOB,
    body          BLOB,
    expires_at_us INTEGER NOT NULL,
    PRIMARY KEY (actor, word)
);

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at_us);

CREATE TABLE maintenance (
    id              INTEGER PRIMARY KEY,
    fabric_id       INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    name            TEXT NOT NULL UNIQUE CHECK (length(name) = 14),
    starts_at_us    INTEGER NOT NULL,
    ends_at_us      INTEGER NOT NULL,
    text_en         TEXT NOT NULL,
    text_zh         TEXT NOT NULL,
    tenants         BLOB NOT NULL,
    places          BLOB NOT NULL,
    whole           INTEGER NOT NULL CHECK (whole IN (0, 1)),
    author          TEXT NOT NULL,
    version         INTEGER NOT NULL,
    created_at_us   INTEGER NOT NULL,
    updated_at_us   INTEGER NOT NULL,
    canceled_at_us INTEGER
);

CREATE INDEX maintenance_by_end ON maintenance (fabric_id, ends_at_us);

CREATE TABLE maintenance_tenants (
    maintenance_id INTEGER NOT NULL REFERENCES maintenance (id) ON DELETE CASCADE,
    tenant_id      INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    PRIMARY KEY (maintenance_id, tenant_id)
);

CREATE INDEX maintenance_of_tenant ON maintenance_tenants (tenant_id);

CREATE TABLE "memberships" (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    fabric_id     INTEGER REFERENCES fabrics (id) ON DELETE CASCADE,
    role          TEXT    NOT NULL CHECK (tenant_id IS NULL AND fabric_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor', 'feeder')
                                       OR tenant_id IS NULL AND fabric_id IS NOT NULL AND role IN ('fabric-admin@fabric', 'operator@fabric', 'auditor@fabric', 'feeder@fabric')
                                       OR tenant_id IS NOT NULL AND fabric_id IS NULL AND role IN ('tenant-admin', 'tenant-viewer')),
    source        TEXT    NOT NULL CHECK (source IN ('local', 'oidc')),
    created_at_us INTEGER NOT NULL
);

CREATE INDEX memberships_by_account ON memberships (account_id);

CREATE UNIQUE INDEX memberships_of_all ON memberships (account_id, source) WHERE tenant_id IS NULL AND fabric_id IS NULL;

CREATE UNIQUE INDEX memberships_of_fabric ON memberships (fabric_id, account_id, source) WHERE fabric_id IS NOT NULL;

CREATE UNIQUE INDEX memberships_of_tenant ON memberships (tenant_id, account_id, source) WHERE tenant_id IS NOT NULL;

CREATE TABLE objectives (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    bound         REAL NOT NULL,
    target        REAL NOT NULL,
    updated_at_us INTEGER NOT NULL
);

CREATE UNIQUE INDEX objectives_default ON objectives (fabric_id) WHERE tenant_id IS NULL;

CREATE UNIQUE INDEX objectives_tenant ON objectives (tenant_id);

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

CREATE TABLE policies (
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    number        INTEGER NOT NULL CHECK (number > 0),
    label         TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    restores      INTEGER NOT NULL,
    tenants       INTEGER NOT NULL,
    flows         INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL, said TEXT,
    PRIMARY KEY (fabric_id, number)
);

CREATE TABLE policy_parts (
    fabric_id INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    kind      TEXT    NOT NULL CHECK (kind IN ('tenant', 'flows', 'options')),
    name      TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    until     INTEGER,
    body      BLOB    NOT NULL,
    PRIMARY KEY (fabric_id, kind, name, since)
);

CREATE UNIQUE INDEX policy_parts_in_force ON policy_parts (fabric_id, kind, name) WHERE until IS NULL;

CREATE TABLE port_changes (
    fabric_id  INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid  TEXT NOT NULL,
    port_num   INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    state      TEXT NOT NULL CHECK (state IN ('up', 'down', 'unknown')),
    since_us   INTEGER NOT NULL,
    seen_at_us INTEGER NOT NULL,
    PRIMARY KEY (fabric_id, node_guid, port_num)
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
    updated_at_us INTEGER NOT NULL, wave INTEGER NOT NULL DEFAULT 0, shard INTEGER NOT NULL DEFAULT 0, touched INTEGER NOT NULL DEFAULT 0 CHECK (touched IN (0, 1)), note TEXT NOT NULL DEFAULT '', note_said TEXT, error_said TEXT,
    PRIMARY KEY (rollout_id, node_guid, port_num)
);

CREATE INDEX rollout_devices_by_shard ON rollout_devices (rollout_id, wave, shard);

CREATE INDEX rollout_devices_dirty ON rollout_devices (node_guid, port_num, rollout_id)
    WHERE touched = 1 AND state NOT IN ('pending', 'in-sync', 'rolled-back');

CREATE TABLE rollout_shards (
    rollout_id INTEGER NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    undo       INTEGER NOT NULL CHECK (undo IN (0, 1)),
    wave       INTEGER NOT NULL CHECK (wave >= 0),
    shard      INTEGER NOT NULL CHECK (shard >= 0),
    state      TEXT    NOT NULL CHECK (state IN ('ready', 'queued', 'working', 'done')),
    epoch      INTEGER NOT NULL,
    beat       INTEGER NOT NULL,
    owner      TEXT    NOT NULL,
    PRIMARY KEY (rollout_id, undo, wave, shard)
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
, revision INTEGER NOT NULL DEFAULT 1, phase TEXT NOT NULL DEFAULT 'ended'
    CHECK (phase IN ('placing', 'pushing', 'confirming', 'undoing', 'unplacing', 'ended')), wish TEXT NOT NULL DEFAULT 'run' CHECK (wish IN ('run', 'pause', 'cancel', 'undo')), wish_actor TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '', options BLOB, wave INTEGER NOT NULL DEFAULT -1, waves INTEGER NOT NULL DEFAULT 0, prior_plan TEXT NOT NULL DEFAULT '', placed TEXT NOT NULL DEFAULT 'none' CHECK (placed IN ('none', 'unverified', 'verified', 'restored')), gated INTEGER NOT NULL DEFAULT -1, confirmed INTEGER NOT NULL DEFAULT 0 CHECK (confirmed IN (0, 1)), confirm_by_us INTEGER, reason TEXT NOT NULL DEFAULT '', refused INTEGER NOT NULL DEFAULT 0 CHECK (refused IN (0, 1)), result_said TEXT, reason_said TEXT);

CREATE INDEX rollouts_by_fabric ON rollouts (fabric_id, id);

CREATE UNIQUE INDEX rollouts_one_running ON rollouts (fabric_id) WHERE state = 'running';

CREATE INDEX rollouts_placed ON rollouts (fabric_id, id)
    WHERE state IN ('succeeded', 'partial') AND stages IN ('placement', 'placement,settings');

CREATE TABLE series_managers (
    url      TEXT PRIMARY KEY,
    name     TEXT    NOT NULL,
    key      BLOB    NOT NULL,
    until_us INTEGER NOT NULL
);

CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY,
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    method        TEXT    NOT NULL CHECK (method IN ('password', 'oidc')),
    created_at_us INTEGER NOT NULL,
    seen_at_us    INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL
);

CREATE INDEX sessions_by_account ON sessions (account_id);

CREATE INDEX sessions_by_expiry ON sessions (expires_at_us);

CREATE TABLE settings (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    body          BLOB    NOT NULL,
    version       INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
);

CREATE TABLE share_samples (
    fabric_id      INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    measured_at_us INTEGER NOT NULL,
    body           BLOB    NOT NULL,
    PRIMARY KEY (fabric_id, measured_at_us)
);

CREATE TABLE share_turns (
    fabric_id INTEGER PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    due_at_us INTEGER NOT NULL
);

CREATE TABLE signin_failures (
    name_sha256     TEXT    NOT NULL PRIMARY KEY CHECK (length(name_sha256) = 64),
    failures        INTEGER NOT NULL CHECK (failures >= 0),
    last_at_us      INTEGER NOT NULL,
    locked_until_us INTEGER NOT NULL
);

CREATE INDEX signin_failures_by_time ON signin_failures (last_at_us);

CREATE TABLE silences (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    matchers      BLOB    NOT NULL,
    starts_at_us  INTEGER NOT NULL,
    ends_at_us    INTEGER NOT NULL,
    author        TEXT    NOT NULL,
    comment       TEXT    NOT NULL,
    created_at_us INTEGER NOT NULL
);

CREATE INDEX silences_by_end ON silences (ends_at_us);

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

CREATE INDEX snapshots_by_sighting ON snapshots
    (fabric_id, seen_seq, id, sha256, nodes, switches, hosts, links, wall_us, mads_sent, taken_at_us, seen_at_us);

CREATE TABLE tasks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    kind           TEXT    NOT NULL CHECK (kind IN ('simulation', 'calibration')),
    request        BLOB    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'canceled')),
    progress       REAL    NOT NULL,
    result         BLOB,
    error          TEXT    NOT NULL,
    actor          TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    cancel         INTEGER NOT NULL,
    beat_at_us     INTEGER NOT NULL,
    created_at_us  INTEGER NOT NULL,
    started_at_us  INTEGER,
    finished_at_us INTEGER
, error_said TEXT);

CREATE INDEX tasks_by_kind ON tasks (kind, id);

CREATE INDEX tasks_open ON tasks (state, beat_at_us) WHERE finished_at_us IS NULL;

CREATE TABLE tenant_attachments (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    node_guid TEXT    NOT NULL CHECK (length(node_guid) = 18),
    port_num  INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    sl        INTEGER CHECK (sl BETWEEN 0 AND 15), feed_only INTEGER NOT NULL DEFAULT 0 CHECK (feed_only IN (0, 1)), claimed_bps INTEGER NOT NULL DEFAULT 0 CHECK (claimed_bps >= 0), functions_by_node INTEGER NOT NULL DEFAULT 0 CHECK (functions_by_node IN (0, 1)),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, node_guid, port_num)
);

CREATE INDEX tenant_attachments_by_node ON tenant_attachments (node_guid);

CREATE TABLE tenant_classes (
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    weight_milli INTEGER NOT NULL CHECK (weight_milli BETWEEN 1 AND 1000000000),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, name)
);

CREATE TABLE tenant_feeds (
    id            INTEGER PRIMARY KEY,
    tenant_id     INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    ports         BLOB    NOT NULL,
    count         INTEGER NOT NULL CHECK (count BETWEEN 0 AND 65536),
    actor         TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL, claimed BLOB, functions_by_node INTEGER NOT NULL DEFAULT 0 CHECK (functions_by_node IN (0, 1)),
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

CREATE INDEX tenants_by_pkey ON tenants (fabric_id, pkey);

CREATE TABLE "tokens" (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER REFERENCES accounts (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    scopes        TEXT    NOT NULL,
    created_at_us INTEGER NOT NULL,
    expires_at_us INTEGER,
    used_at_us    INTEGER
);

CREATE UNIQUE INDEX tokens_of_account ON tokens (account_id, name) WHERE account_id IS NOT NULL;

CREATE UNIQUE INDEX tokens_of_none ON tokens (name) WHERE account_id IS NULL;

