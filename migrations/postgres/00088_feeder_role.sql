-- +goose Up
-- The role feeder, on one fabric or on all: for programs that report attachments.
ALTER TABLE memberships DROP CONSTRAINT memberships_check;
ALTER TABLE memberships ADD CONSTRAINT memberships_check CHECK (tenant_id IS NULL AND fabric_id IS NULL AND role IN ('fabric-admin', 'operator', 'auditor', 'feeder')
                                       OR tenant_id IS NULL AND fabric_id IS NOT NULL AND role IN ('fabric-admin@fabric', 'operator@fabric', 'auditor@fabric', 'feeder@fabric')
                                       OR tenant_id IS NOT NULL AND fabric_id IS NULL AND role IN ('tenant-admin', 'tenant-viewer'));
