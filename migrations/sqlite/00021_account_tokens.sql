-- +goose Up
-- Tokens belong to accounts, expire, and may be narrowed to scopes ("tenant:read", separated by
-- spaces; '' narrows nothing). The first token belongs to no account. SQLite cannot drop the
-- uniqueness of name, so the table is made anew.
CREATE TABLE account_tokens (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER REFERENCES accounts (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    scopes        TEXT    NOT NULL,
    created_at_us INTEGER NOT NULL,
    expires_at_us INTEGER,
    used_at_us    INTEGER
);

INSERT INTO account_tokens (id, name, hash, scopes, created_at_us) SELECT id, name, hash, '', created_at_us FROM tokens;
DROP TABLE tokens;
ALTER TABLE account_tokens RENAME TO tokens;

CREATE UNIQUE INDEX tokens_of_none ON tokens (name) WHERE account_id IS NULL;
CREATE UNIQUE INDEX tokens_of_account ON tokens (account_id, name) WHERE account_id IS NOT NULL;
