-- +goose Up
-- Sentences as message id and parameters, in JSON, beside their English. Rows of earlier releases have the English only.
ALTER TABLE events ADD COLUMN said TEXT;
ALTER TABLE policies ADD COLUMN said TEXT;
ALTER TABLE rollouts ADD COLUMN result_said TEXT;
ALTER TABLE rollouts ADD COLUMN reason_said TEXT;
ALTER TABLE rollout_devices ADD COLUMN note_said TEXT;
