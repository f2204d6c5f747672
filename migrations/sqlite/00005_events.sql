-- +goose Up
-- Events outlive the fabric they speak of, so they hold its name and no reference.
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
