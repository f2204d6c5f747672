-- +goose Up
-- 1: whoever acted had a role in the tenant that the event is about, and none on everything, when it was written. Only then does the
-- tenant see the name. Of events from before that counts for users who had been given their role in the tenant by then, and have none
-- on everything now.
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
