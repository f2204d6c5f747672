-- +goose Up
-- The name of the token that the request came with; '' when it came with none. Entries from before have '' and keep their hash.
ALTER TABLE audit ADD COLUMN token TEXT NOT NULL DEFAULT '';
