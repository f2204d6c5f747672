-- +goose Up
-- 1: the actor had, when the event was written, a role in the tenant that the event is about, and no role on the whole service. Only
-- then does the tenant see the name. Events of earlier releases get 1 when the actor is a user who had a role in the tenant by then and
-- has none on the whole service now.
ALTER TABLE events ADD COLUMN by_tenant BIGINT NOT NULL DEFAULT 0 CHECK (by_tenant IN (0, 1));
UPDATE events SET by_tenant = 1
WHERE kind LIKE 'tenant.%'
    AND EXISTS (SELECT 1 FROM accounts a
        JOIN memberships m ON m.account_id = a.id
        JOIN tenants t ON t.id = m.tenant_id
        JOIN fabrics f ON f.id = t.fabric_id
        WHERE a.kind = 'user' AND a.name = events.actor AND a.created_at_us <= events.at_us AND m.created_at_us <= events.at_us
            AND t.name = events.subject AND f.name = events.fabric
            AND NOT EXISTS (SELECT 1 FROM memberships w WHERE w.account_id = a.id AND w.tenant_id IS NULL));
