-- +goose Up
-- What is known of each device of the plan in force from reading it outside of rollouts. Times are microseconds; NULL is never.
CREATE TABLE devices (
    fabric_id         BIGINT NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid         TEXT COLLATE "C" NOT NULL,
    port_num          BIGINT NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    device            BYTEA NOT NULL, -- JSON
    plan              TEXT NOT NULL, -- by whose settings it was judged; '' before the first
    policy            TEXT NOT NULL CHECK (policy IN ('', 'report', 'repair', 'freeze')), -- '' is the fabric's
    reading           TEXT NOT NULL CHECK (reading IN ('unknown', 'in-sync', 'drifted', 'unreachable', 'unsupported')),
    seen              TEXT NOT NULL CHECK (seen IN ('unknown', 'in-sync', 'drifted', 'unsupported')), -- the latest with an answer
    observed          BYTEA, -- JSON; NULL when it was as wanted
    differences       BYTEA, -- JSON
    error             TEXT NOT NULL,
    read_by           TEXT NOT NULL, -- the manager that read it last
    read_at_us        BIGINT,
    seen_at_us        BIGINT,
    steady_at_us      BIGINT, -- since when it was as wanted at every answer
    quarantined_at_us BIGINT,
    quarantine_reason TEXT NOT NULL,
    incidents         BYTEA, -- JSON: times in microseconds
    repair            BIGINT NOT NULL, -- the rollout that last repaired it; 0 is none
    due_at_us         BIGINT NOT NULL, -- when it is read next
    version           BIGINT NOT NULL, -- of what people decide about it
    PRIMARY KEY (fabric_id, node_guid, port_num)
);

CREATE INDEX devices_by_due ON devices (fabric_id, due_at_us);
