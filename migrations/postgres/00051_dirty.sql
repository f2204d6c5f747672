-- +goose Up
-- The start of a rollout asks for the devices that earlier ones left in the middle of something, and for the plan whose
-- placements are in force. There are few of both among all that ever was.
CREATE INDEX rollout_devices_dirty ON rollout_devices (node_guid, port_num, rollout_id)
    WHERE touched = 1 AND state NOT IN ('pending', 'in-sync', 'rolled-back');
CREATE INDEX rollouts_placed ON rollouts (fabric_id, id)
    WHERE state IN ('succeeded', 'partial') AND stages IN ('placement', 'placement,settings');
