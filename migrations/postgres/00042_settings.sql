-- +goose Up
-- One row at most: what an administrator chose, as JSON.
CREATE TABLE settings (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    body          BYTEA   NOT NULL,
    version       BIGINT  NOT NULL,
    updated_at_us BIGINT  NOT NULL
);
