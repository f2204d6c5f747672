-- +goose Up
-- More sentences as message id and parameters, in JSON, beside their English. Rows of earlier releases have the English only.
ALTER TABLE audit ADD COLUMN said TEXT;
ALTER TABLE baselines ADD COLUMN note_said TEXT;
ALTER TABLE devices ADD COLUMN error_said TEXT;
ALTER TABLE devices ADD COLUMN quarantine_said TEXT;
ALTER TABLE rollout_devices ADD COLUMN error_said TEXT;
ALTER TABLE tasks ADD COLUMN error_said TEXT;
