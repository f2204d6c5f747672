-- +goose Up
-- The role feeder, on one fabric or on all: for programs that report attachments.
-- SQLite cannot change a check, so the table is made anew.
CREATE TABLE checked_memberships (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    fabric_id     INTEGER REFERENCES fabrics (id) ON DELETE CASCADE,
    role          TEXT    NOT NULL CHECK (tenant_id IS NULL AND fabric_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor', 'feeder')
                                       OR tenant_id IS NULL AND fabric_id IS NOT NULL AND role IN ('fabric-admin@fabric', 'operator@fabric', 'auditor@fabric', 'feeder@fabric')
                                       OR tenant_id IS NOT NULL AND fabric_id IS NULL AND role IN ('tenant-admin', 'tenant-viewer')),
    source        TEXT    NOT NULL CHECK (source IN ('local', 'oidc')),
    created_at_us INTEGER NOT NULL
);

INSERT INTO checked_memberships (id, account_id, tenant_id, fabric_id, role, source, created_at_us)
SELECT id, account_id, tenant_id, fabric_id, role, source, created_at_us FROM memberships;
DROP TABLE memberships;
ALTER TABLE checked_memberships RENAME TO memberships;

CREATE UNIQUE INDEX memberships_of_all ON memberships (account_id, source) WHERE tenant_id IS NULL AND fabric_id IS NULL;
CREATE UNIQUE INDEX memberships_of_fabric ON memberships (fabric_id, account_id, source) WHERE fabric_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_of_tenant ON memberships (tenant_id, account_id, source) WHERE tenant_id IS NOT NULL;
CREATE INDEX memberships_by_account ON memberships (account_id);
