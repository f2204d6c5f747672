-- +goose Up
-- A change of one tenant is judged by those that it can collide with: of its nodes and of its partition.
CREATE INDEX tenant_attachments_by_node ON tenant_attachments (node_guid);
CREATE INDEX tenants_by_pkey ON tenants (fabric_id, pkey);
