-- +goose Up
-- Feeds: the ports that an outside system, such as a Kubernetes cluster, claims for a tenant. ports is a sorted list in JSON, compressed
-- when it is long. tenant_attachments is the union of the claims of the operator and of all feeds; feed_only marks the attachments that
-- the operator does not claim.
CREATE TABLE tenant_feeds (
    id            INTEGER PRIMARY KEY,
    tenant_id     INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    ports         BLOB    NOT NULL,
    count         INTEGER NOT NULL CHECK (count BETWEEN 0 AND 65536),
    actor         TEXT    NOT NULL,
    version       INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
);

ALTER TABLE tenant_attachments ADD COLUMN feed_only INTEGER NOT NULL DEFAULT 0 CHECK (feed_only IN (0, 1));
