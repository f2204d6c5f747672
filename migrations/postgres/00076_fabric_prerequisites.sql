-- +goose Up
-- What becomes of a wrong prerequisite of congestion control: 'report' or 'repair'. Fabrics from before had theirs neither told nor set.
ALTER TABLE fabrics ADD COLUMN prerequisites TEXT NOT NULL DEFAULT 'report' CHECK (prerequisites IN ('report', 'repair'));
