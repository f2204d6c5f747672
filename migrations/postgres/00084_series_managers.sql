-- +goose Up
-- Managers that have series of their own: where others ask for them, the key that signs the requests, and until when they measure.
CREATE TABLE series_managers (
    url      TEXT PRIMARY KEY COLLATE "C",
    name     TEXT   NOT NULL,
    key      BYTEA  NOT NULL,
    until_us BIGINT NOT NULL
);
