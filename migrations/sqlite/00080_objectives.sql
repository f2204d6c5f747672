-- +goose Up
-- What a tenant is to receive of its entitlement, and how often; without a tenant it is the default of its fabric.
CREATE TABLE objectives (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    tenant_id     INTEGER REFERENCES tenants (id) ON DELETE CASCADE,
    bound         REAL NOT NULL,
    target        REAL NOT NULL,
    updated_at_us INTEGER NOT NULL
);
CREATE UNIQUE INDEX objectives_tenant ON objectives (tenant_id);
CREATE UNIQUE INDEX objectives_default ON objectives (fabric_id) WHERE tenant_id IS NULL;
