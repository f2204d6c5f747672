-- +goose Up
-- 1: the rollout, which is stored as rolled-back, was refused: it ended before anything was written.
ALTER TABLE rollouts ADD COLUMN refused BIGINT NOT NULL DEFAULT 0 CHECK (refused IN (0, 1));
