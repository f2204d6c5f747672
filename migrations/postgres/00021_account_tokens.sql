-- +goose Up
-- Tokens belong to accounts, expire, and may be narrowed to scopes ("tenant:read", separated by
-- spaces; '' narrows nothing). The first token belongs to no account.
ALTER TABLE tokens DROP CONSTRAINT tokens_name_key;
ALTER TABLE tokens ADD COLUMN account_id BIGINT REFERENCES accounts (id) ON DELETE CASCADE;
ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ALTER COLUMN scopes DROP DEFAULT;
ALTER TABLE tokens ADD COLUMN expires_at_us BIGINT;
ALTER TABLE tokens ADD COLUMN used_at_us BIGINT;

CREATE UNIQUE INDEX tokens_of_none ON tokens (name) WHERE account_id IS NULL;
CREATE UNIQUE INDEX tokens_of_account ON tokens (account_id, name) WHERE account_id IS NOT NULL;
