-- +goose Up
-- A rollout is worked in steps by whichever manager takes one up, so that everything a step needs is in
-- these rows. revision is the fence: it grows with every write, and a writer that read a lower one is refused.
ALTER TABLE rollouts ADD COLUMN revision BIGINT NOT NULL DEFAULT 1;
ALTER TABLE rollouts ADD COLUMN phase TEXT NOT NULL DEFAULT 'ended'
    CHECK (phase IN ('placing', 'pushing', 'confirming', 'undoing', 'unplacing', 'ended'));
ALTER TABLE rollouts ADD COLUMN wish TEXT NOT NULL DEFAULT 'run' CHECK (wish IN ('run', 'pause', 'cancel', 'undo'));
ALTER TABLE rollouts ADD COLUMN wish_actor TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- who does a step that takes time; '' when nobody does
ALTER TABLE rollouts ADD COLUMN options BYTEA; -- JSON
ALTER TABLE rollouts ADD COLUMN wave BIGINT NOT NULL DEFAULT -1; -- the open wave; -1 before the first
ALTER TABLE rollouts ADD COLUMN waves BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollouts ADD COLUMN prior_plan TEXT NOT NULL DEFAULT ''; -- whose placements a roll-back returns to
ALTER TABLE rollouts ADD COLUMN placed TEXT NOT NULL DEFAULT 'none' CHECK (placed IN ('none', 'unverified', 'verified', 'restored'));
ALTER TABLE rollouts ADD COLUMN gated BIGINT NOT NULL DEFAULT -1; -- the last wave that the health gates passed
ALTER TABLE rollouts ADD COLUMN confirmed BIGINT NOT NULL DEFAULT 0 CHECK (confirmed IN (0, 1));
ALTER TABLE rollouts ADD COLUMN confirm_by_us BIGINT;
ALTER TABLE rollouts ADD COLUMN reason TEXT NOT NULL DEFAULT ''; -- why it is being undone

ALTER TABLE rollout_devices ADD COLUMN wave BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollout_devices ADD COLUMN shard BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollout_devices ADD COLUMN touched BIGINT NOT NULL DEFAULT 0 CHECK (touched IN (0, 1));
ALTER TABLE rollout_devices ADD COLUMN note TEXT NOT NULL DEFAULT ''; -- what is happening to it now

CREATE INDEX rollout_devices_by_shard ON rollout_devices (rollout_id, wave, shard);

-- A shard is the devices that one worker writes together; undoing has shards of its own. beat grows with every
-- sign of life of the worker: whoever sees it stand still for the lease takes the shard over with the next epoch.
CREATE TABLE rollout_shards (
    rollout_id BIGINT NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
    undo       BIGINT NOT NULL CHECK (undo IN (0, 1)),
    wave       BIGINT NOT NULL CHECK (wave >= 0),
    shard      BIGINT NOT NULL CHECK (shard >= 0),
    state      TEXT    NOT NULL CHECK (state IN ('ready', 'queued', 'working', 'done')),
    epoch      BIGINT NOT NULL,
    beat       BIGINT NOT NULL,
    owner      TEXT    NOT NULL,
    PRIMARY KEY (rollout_id, undo, wave, shard)
);
