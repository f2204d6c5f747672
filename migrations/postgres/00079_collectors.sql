-- +goose Up
-- The manager that measures a fabric all the time, until when unless it extends its lease.
CREATE TABLE collectors (
    fabric_id BIGINT PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    owner     TEXT    NOT NULL,
    until_us  BIGINT  NOT NULL
);
