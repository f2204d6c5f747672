-- +goose Up
-- Whether repairs and clean-ups that start by themselves wait since the database was restored, until somebody acts on the fabric.
ALTER TABLE fabrics ADD COLUMN repairs_wait INTEGER NOT NULL DEFAULT 0 CHECK (repairs_wait IN (0, 1));
