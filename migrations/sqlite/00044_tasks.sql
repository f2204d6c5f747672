-- +goose Up
-- Simulations and calibrations. They name fabrics and plans, and outlive them.
CREATE TABLE tasks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    kind           TEXT    NOT NULL CHECK (kind IN ('simulation', 'calibration')),
    request        BLOB    NOT NULL,
    state          TEXT    NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'canceled')),
    progress       REAL    NOT NULL,
    result         BLOB,
    error          TEXT    NOT NULL,
    actor          TEXT    NOT NULL,
    attempt        INTEGER NOT NULL,
    cancel         INTEGER NOT NULL,
    beat_at_us     INTEGER NOT NULL,
    created_at_us  INTEGER NOT NULL,
    started_at_us  INTEGER,
    finished_at_us INTEGER
);

CREATE INDEX tasks_by_kind ON tasks (kind, id);
CREATE INDEX tasks_open ON tasks (state, beat_at_us) WHERE finished_at_us IS NULL;
