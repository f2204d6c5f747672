-- +goose Up
-- Whether automatic repairs and clean-ups are on hold since the database was restored, until an operator acts on the fabric.
ALTER TABLE fabrics ADD COLUMN repairs_wait INTEGER NOT NULL DEFAULT 0 CHECK (repairs_wait IN (0, 1));
