-- +goose Up
-- Revisions of what an operator wants of a fabric. A revision is a row here and the parts that hold at its
-- number: since <= number and until, when there is one, above it. So a change costs what it changes.
CREATE TABLE policies (
    fabric_id     BIGINT  NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    number        BIGINT  NOT NULL CHECK (number > 0),
    label         TEXT    NOT NULL,
    message       TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    restores      BIGINT  NOT NULL,
    tenants       INTEGER NOT NULL,
    flows         INTEGER NOT NULL,
    created_at_us BIGINT  NOT NULL,
    PRIMARY KEY (fabric_id, number)
);

CREATE TABLE policy_parts (
    fabric_id BIGINT           NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    kind      TEXT             NOT NULL CHECK (kind IN ('tenant', 'flows', 'options')),
    name      TEXT COLLATE "C" NOT NULL,
    since     BIGINT           NOT NULL,
    until     BIGINT,
    body      BYTEA            NOT NULL,
    PRIMARY KEY (fabric_id, kind, name, since)
);

CREATE UNIQUE INDEX policy_parts_in_force ON policy_parts (fabric_id, kind, name) WHERE until IS NULL;
