-- +goose Up
-- Only the SHA-256 of a token is kept; the token has 256 random bits, so it needs no salt.
CREATE TABLE tokens (
    id            INTEGER PRIMARY KEY,
    name          TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 63),
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    created_at_us INTEGER NOT NULL
);
