-- +goose Up
-- How drift is looked for and what is done about it, as JSON, and the plan whose devices are in the table of devices.
CREATE TABLE drift_policies (
    fabric_id     INTEGER PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    body          BLOB NOT NULL,
    plan          TEXT   NOT NULL,
    version       INTEGER NOT NULL,
    updated_at_us INTEGER
);
