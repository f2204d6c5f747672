-- +goose Up
-- A role of a fabric may be held on one fabric: fabric_id. It ends with the fabric, as a tenant's does with the tenant.
-- Its text differs, so that managers of an earlier release, which do not read fabric_id, do not take it for a role on everything.
-- SQLite cannot change a check, so the table is made anew. The column is added to the old one first: that fails where this migration
-- was applied already, and no role on one fabric is copied without its fabric.
ALTER TABLE memberships ADD COLUMN fabric_id INTEGER REFERENCES fabrics (id) ON DELETE CASCADE;

CREATE TABLE placed_memberships (
    id            INTEGER PRIMARY KEY,
    account_id    INTEGER NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    fabric_id     INTEGER REFERENCES fabrics (id) ON DELETE CASCADE,
    role          TEXT    NOT NULL CHECK (tenant_id IS NULL AND fabric_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor')
                                       OR tenant_id IS NULL AND fabric_id IS NOT NULL AND role IN ('fabric-admin@fabric', 'operator@fabric', 'auditor@fabric')
                                       OR tenant_id IS NOT NULL AND fabric_id IS NULL AND role IN ('tenant-admin', 'tenant-viewer')),
    source        TEXT    NOT NULL CHECK (source IN ('local', 'oidc')),
    created_at_us INTEGER NOT NULL
);

INSERT INTO placed_memberships (id, account_id, tenant_id, fabric_id, role, source, created_at_us)
SELECT id, account_id, tenant_id, fabric_id, role, source, created_at_us FROM memberships;
DROP TABLE memberships;
ALTER TABLE placed_memberships RENAME TO memberships;

CREATE UNIQUE INDEX memberships_of_all ON memberships (account_id, source) WHERE tenant_id IS NULL AND fabric_id IS NULL;
CREATE UNIQUE INDEX memberships_of_fabric ON memberships (fabric_id, account_id, source) WHERE fabric_id IS NOT NULL;
CREATE UNIQUE INDEX memberships_of_tenant ON memberships (tenant_id, account_id, source) WHERE tenant_id IS NOT NULL;
CREATE INDEX memberships_by_account ON memberships (account_id);
