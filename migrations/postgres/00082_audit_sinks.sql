-- +goose Up
-- Where the audit log is sent: the newest entry that a sink has acknowledged, and the manager that sends, until when unless it extends its
-- lease. A row is made at the first claim and outlives its sink's configuration.
CREATE TABLE audit_sinks (
    name     TEXT    PRIMARY KEY,
    seq      BIGINT  NOT NULL,
    hash     TEXT    NOT NULL CHECK (length(hash) = 64),
    owner    TEXT    NOT NULL,
    until_us BIGINT  NOT NULL
);
