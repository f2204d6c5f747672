-- +goose Up
-- Measurements that were kept, as JSON, and when the next one of a fabric is due.
CREATE TABLE share_samples (
    fabric_id      BIGINT NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    measured_at_us BIGINT NOT NULL,
    body           BYTEA  NOT NULL,
    PRIMARY KEY (fabric_id, measured_at_us)
);

CREATE TABLE share_turns (
    fabric_id BIGINT PRIMARY KEY REFERENCES fabrics (id) ON DELETE CASCADE,
    due_at_us BIGINT NOT NULL
);
