-- +goose Up
-- The events of one device or tenant are listed without a scan of all events of its fabric.
CREATE INDEX events_by_subject ON events (fabric, subject, id);
