-- +goose Up
-- Announced maintenance. name is random, so that it tells a tenant nothing of other announcements. tenants and places are lists of names in
-- JSON, as the operator gave them; whole is 1 when both are empty. maintenance_tenants has the tenants that it touches otherwise.
CREATE TABLE maintenance (
    id              INTEGER PRIMARY KEY,
    fabric_id       INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    name            TEXT NOT NULL UNIQUE CHECK (length(name) = 14),
    starts_at_us    INTEGER NOT NULL,
    ends_at_us      INTEGER NOT NULL,
    text_en         TEXT NOT NULL,
    text_zh         TEXT NOT NULL,
    tenants         BLOB NOT NULL,
    places          BLOB NOT NULL,
    whole           INTEGER NOT NULL CHECK (whole IN (0, 1)),
    author          TEXT NOT NULL,
    version         INTEGER NOT NULL,
    created_at_us   INTEGER NOT NULL,
    updated_at_us   INTEGER NOT NULL,
    canceled_at_us INTEGER
);

CREATE INDEX maintenance_by_end ON maintenance (fabric_id, ends_at_us);

CREATE TABLE maintenance_tenants (
    maintenance_id INTEGER NOT NULL REFERENCES maintenance (id) ON DELETE CASCADE,
    tenant_id      INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    PRIMARY KEY (maintenance_id, tenant_id)
);

CREATE INDEX maintenance_of_tenant ON maintenance_tenants (tenant_id);
