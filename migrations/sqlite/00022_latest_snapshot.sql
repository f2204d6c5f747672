-- +goose Up
-- What is told of a snapshot beside its topology: without this, SQLite walks through all of the topology to the columns
-- behind it, with each look at a fabric.
DROP INDEX snapshots_by_sighting;
CREATE INDEX snapshots_by_sighting ON snapshots
    (fabric_id, seen_seq, id, sha256, nodes, switches, hosts, links, wall_us, mads_sent, taken_at_us, seen_at_us);
