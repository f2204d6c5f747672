-- +goose Up
-- Silences of alerts. Matchers are a list of texts in JSON. An expired silence stays for a while, for people.
CREATE TABLE silences (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    matchers      BLOB    NOT NULL,
    starts_at_us  INTEGER NOT NULL,
    ends_at_us    INTEGER NOT NULL,
    author        TEXT    NOT NULL,
    comment       TEXT    NOT NULL,
    created_at_us INTEGER NOT NULL
);

CREATE INDEX silences_by_end ON silences (ends_at_us);
