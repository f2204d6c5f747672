-- +goose Up
-- A role of a fabric may be held on one fabric: fabric_id. It ends with the fabric, as a tenant's does with the tenant.
-- Its text differs, so that managers of an earlier release, which do not read fabric_id, do not take it for a role on everything.
ALTER TABLE memberships ADD COLUMN fabric_id BIGINT REFERENCES fabrics (id) ON DELETE CASCADE;
ALTER TABLE memberships DROP CONSTRAINT memberships_check;
ALTER TABLE memberships ADD CONSTRAINT memberships_check CHECK (tenant_id IS NULL AND fabric_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor')
                                       OR tenant_id IS NULL AND fabric_id IS NOT NULL AND role IN ('fabric-admin@fabric', 'operator@fabric', 'auditor@fabric')
                                       OR tenant_id IS NOT NULL AND fabric_id IS NULL AND role IN ('tenant-admin', 'tenant-viewer'));
DROP INDEX memberships_of_all;
CREATE UNIQUE INDEX memberships_of_all ON memberships (account_id, source) WHERE tenant_id IS NULL AND fabric_id IS NULL;
CREATE UNIQUE INDEX memberships_of_fabric ON memberships (fabric_id, account_id, source) WHERE fabric_id IS NOT NULL;
