-- +goose Up
-- What devices held before Fairlane's first write to them, one row a device, never replaced. origin 'unknown' is a state that
-- may be one of Fairlane's own; note says why. held says that settings of Fairlane may be on the device.
CREATE TABLE baselines (
    fabric_id      BIGINT           NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    node_guid      TEXT COLLATE "C" NOT NULL CHECK (length(node_guid) = 18),
    port_num       BIGINT           NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    device         BYTEA            NOT NULL, -- JSON
    settings       BYTEA            NOT NULL, -- JSON
    origin         TEXT             NOT NULL CHECK (origin IN ('before', 'unknown')),
    note           TEXT             NOT NULL,
    held           BIGINT           NOT NULL CHECK (held IN (0, 1)),
    rollout_id     BIGINT           NOT NULL, -- which wrote it first
    recorded_at_us BIGINT           NOT NULL,
    PRIMARY KEY (fabric_id, node_guid, port_num)
);

-- Devices that earlier releases wrote: the earliest state that is still recorded. Rows of rollouts may have been pruned, so
-- only those of a fabric's first rollout are surely from before it.
INSERT INTO baselines (fabric_id, node_guid, port_num, device, settings, origin, note, held, rollout_id, recorded_at_us)
SELECT g.fabric_id, d.node_guid, d.port_num, d.device, d.before,
    CASE WHEN g.rollout_id = f.rollout_id THEN 'before' ELSE 'unknown' END,
    CASE WHEN g.rollout_id = f.rollout_id THEN '' ELSE 'recorded by a release that kept no baseline: an earlier rollout may have written the device' END,
    1, d.rollout_id, d.updated_at_us
FROM (SELECT o.fabric_id, x.node_guid, x.port_num, MIN(x.rollout_id) AS rollout_id
        FROM rollout_devices x JOIN rollouts o ON o.id = x.rollout_id
        WHERE x.before IS NOT NULL GROUP BY o.fabric_id, x.node_guid, x.port_num) g
    JOIN rollout_devices d ON d.rollout_id = g.rollout_id AND d.node_guid = g.node_guid AND d.port_num = g.port_num
    JOIN (SELECT fabric_id, MIN(id) AS rollout_id FROM rollouts GROUP BY fabric_id) f ON f.fabric_id = g.fabric_id;

-- Whether Fairlane manages a fabric, and since when it is so; NULL is since it was created.
ALTER TABLE fabrics ADD COLUMN management TEXT NOT NULL DEFAULT 'managed' CHECK (management IN ('managed', 'releasing', 'released'));
ALTER TABLE fabrics ADD COLUMN management_at_us BIGINT;
-- When the database was last restored from a backup, after which devices may hold what it does not know of; NULL is never.
ALTER TABLE fabrics ADD COLUMN restored_at_us BIGINT;
