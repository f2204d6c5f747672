-- +goose Up
-- What feeds say of the ports that they claim. claimed has the rates promised to workloads, in bits per second, in the order of ports; it is
-- a list in JSON, compressed when it is long, and NULL when there are none. functions_by_node is 1 where the port's host chooses the virtual
-- functions of workloads. tenant_attachments has the sum over all feeds, and 1 where any feed says so.
ALTER TABLE tenant_feeds ADD COLUMN claimed BYTEA;
ALTER TABLE tenant_feeds ADD COLUMN functions_by_node INTEGER NOT NULL DEFAULT 0 CHECK (functions_by_node IN (0, 1));
ALTER TABLE tenant_attachments ADD COLUMN claimed_bps BIGINT NOT NULL DEFAULT 0 CHECK (claimed_bps >= 0);
ALTER TABLE tenant_attachments ADD COLUMN functions_by_node INTEGER NOT NULL DEFAULT 0 CHECK (functions_by_node IN (0, 1));
