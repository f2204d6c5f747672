-- +goose Up
-- How drift is looked for and what is done about it, as JSON, and the plan whose devices are in the table of devices.
CREATE TABLE drift_policies (
    fabric_id     BIGINT PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    body          BYTEA NOT NULL,
    plan          TEXT   NOT NULL,
    version       BIGINT NOT NULL,
    updated_at_us BIGINT
);
