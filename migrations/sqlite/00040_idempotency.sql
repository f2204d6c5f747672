-- +goose Up
-- Requests that must happen once: taken in the transaction of their change. status 0 has no answer.
CREATE TABLE idempotency_keys (
    actor         TEXT    NOT NULL,
    word          TEXT    NOT NULL CHECK (length(word) BETWEEN 1 AND 128),
    request       TEXT    NOT NULL CHECK (length(request) = 64),
    status        INTEGER NOT NULL,
    header        BLOB,
    body          BLOB,
    expires_at_us INTEGER NOT NULL,
    PRIMARY KEY (actor, word)
);

CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at_us);
