-- +goose Up
-- What becomes of a wrong prerequisite of congestion control: 'report' or 'repair'. Earlier releases did not check them.
ALTER TABLE fabrics ADD COLUMN prerequisites TEXT NOT NULL DEFAULT 'report' CHECK (prerequisites IN ('report', 'repair'));
