-- +goose Up
-- One row at most: what an administrator chose, as JSON.
CREATE TABLE settings (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    body          BLOB    NOT NULL,
    version       INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL
);
