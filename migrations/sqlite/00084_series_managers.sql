-- +goose Up
-- Managers that have series of their own: where others ask for them, the key that signs the requests, and until when they measure.
CREATE TABLE series_managers (
    url      TEXT PRIMARY KEY,
    name     TEXT    NOT NULL,
    key      BLOB    NOT NULL,
    until_us INTEGER NOT NULL
);
