-- +goose Up
-- Times are microseconds since 1970 UTC. GUIDs are text, 0x and sixteen hexadecimal digits:
-- they use all 64 bits, which SQL integers do not have.
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
