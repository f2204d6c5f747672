-- +goose Up
-- Whether measurements may clear the fabric's port counters: 'clear' or 'keep'. Earlier releases always cleared them.
ALTER TABLE fabrics ADD COLUMN counters TEXT NOT NULL DEFAULT 'clear' CHECK (counters IN ('clear', 'keep'));
