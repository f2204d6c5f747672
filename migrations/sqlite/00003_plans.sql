-- +goose Up
-- Plans are immutable: name is the SHA-256 of the plan's canonical JSON.
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

-- +goose StatementBegin
CREATE TRIGGER plans_are_immutable BEFORE UPDATE ON plans
BEGIN
    SELECT RAISE(ABORT, 'plans are immutable');
END;
-- +goose StatementEnd
