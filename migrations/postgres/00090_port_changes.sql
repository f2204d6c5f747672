-- +goose Up
-- The latest change of the link state of each host port that scans found in more than one state. A port without a row has had the same
-- state since the first scan. seen_at_us is the latest scan before the change, for ports that are not found any more.
CREATE TABLE port_changes (
    fabric_id  BIGINT NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid  TEXT NOT NULL,
    port_num   BIGINT NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    state      TEXT NOT NULL CHECK (state IN ('up', 'down', 'unknown')),
    since_us   BIGINT NOT NULL,
    seen_at_us BIGINT NOT NULL,
    PRIMARY KEY (fabric_id, node_guid, port_num)
);
