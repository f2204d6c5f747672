-- +goose Up
-- What is known of each device of the plan in force from reading it outside of rollouts. Times are microseconds; NULL is never.
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
    version           INTEGER NOT NULL, -- of what people decide about it
    PRIMARY KEY (fabric_id, node_guid, port_num)
);

CREATE INDEX devices_by_due ON devices (fabric_id, due_at_us);
