-- +goose Up
-- Accounts of people (tenant_id is null) and of programs (those of one tenant carry it and go
-- with it). A password is kept as argon2id in PHC text; '' is none. issuer and subject name the
-- account at an OpenID provider; '' is none.
CREATE TABLE accounts (
    id              INTEGER PRIMARY KEY,
    kind            TEXT    NOT NULL CHECK (kind IN ('user', 'service-account')),
    name            TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    tenant_id       INTEGER REFERENCES tenants (id) ON DELETE CASCADE CHECK (tenant_id IS NULL OR kind = 'service-account'),
    display_name    TEXT    NOT NULL CHECK (length(display_name) <= 200),
    password        TEXT    NOT NULL CHECK (length(password) <= 300),
    issuer          TEXT    NOT NULL CHECK (length(issuer) <= 1000),
    subject         TEXT    NOT NULL CHECK (length(subject) <= 255),
    disabled        INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    version         INTEGER NOT NULL,
    created_at_us   INTEGER NOT NULL,
    updated_at_us   INTEGER NOT NULL,
    signed_in_at_us INTEGER
);

CREATE UNIQUE INDEX accounts_of_all ON accounts (kind, name) WHERE tenant_id IS NULL;
CREATE UNIQUE INDEX accounts_of_tenant ON accounts (tenant_id, name) WHERE tenant_id IS NOT NULL;
CREATE UNIQUE INDEX accounts_by_subject ON accounts (issuer, subject) WHERE subject <> '';

-- Who has which role where; tenant_id is null for roles that act on everything. An OpenID
-- provider's memberships are replaced at each sign-in and leave those given here alone.
CREATE TABLE memberships (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    role          TEXT    NOT NULL CHECK (tenant_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor')
                                       OR tenant_id IS NOT NULL AND role IN ('tenant-admin', 'tenant-viewer')),
    source        TEXT    NOT NULL CHECK (source IN ('local', 'oidc')),
    created_at_us INTEGER NOT NULL
);

CREATE UNIQUE INDEX memberships_of_all ON memberships (account_id, source) WHERE tenant_id IS NULL;
CREATE UNIQUE INDEX memberships_of_tenant ON memberships (tenant_id, account_id, source) WHERE tenant_id IS NOT NULL;
CREATE INDEX memberships_by_account ON memberships (account_id);

-- Browser sessions. Only the SHA-256 of the cookie's 256 random bits is kept.
CREATE TABLE sessions (
    id            INTEGER PRIMARY KEY,
    hash          TEXT    NOT NULL UNIQUE CHECK (length(hash) = 64),
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    method        TEXT    NOT NULL CHECK (method IN ('password', 'oidc')),
    created_at_us INTEGER NOT NULL,
    seen_at_us    INTEGER NOT NULL,
    expires_at_us INTEGER NOT NULL
);

CREATE INDEX sessions_by_account ON sessions (account_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at_us);

-- Failed sign-ins by the SHA-256 of the name that was tried, whether such an account exists or
-- not: an unknown name must be locked as a known one is.
CREATE TABLE signin_failures (
    name_sha256     TEXT    NOT NULL PRIMARY KEY CHECK (length(name_sha256) = 64),
    failures        INTEGER NOT NULL CHECK (failures >= 0),
    last_at_us      INTEGER NOT NULL,
    locked_until_us INTEGER NOT NULL
);

CREATE INDEX signin_failures_by_time ON signin_failures (last_at_us);
