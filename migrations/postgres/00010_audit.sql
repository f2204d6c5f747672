-- +goose Up
-- The audit log. hash is SHA-256 over the row's canonical form and prev, the hash of the row before it
-- (package service/audit). No row is ever changed; retention takes rows from the old end only, and
-- says so in a row of its own.
CREATE TABLE audit (
    seq        BIGINT PRIMARY KEY CHECK (seq > 0),
    at_us      BIGINT NOT NULL,
    actor      TEXT   NOT NULL,
    actor_kind TEXT   NOT NULL,
    addr       TEXT   NOT NULL,
    request_id TEXT   NOT NULL,
    fabric     TEXT   NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    object     TEXT   NOT NULL,
    outcome    TEXT   NOT NULL,
    detail     TEXT   NOT NULL,
    before     BYTEA,
    after      BYTEA,
    prev       TEXT   NOT NULL CHECK (length(prev) = 64),
    hash       TEXT   NOT NULL UNIQUE CHECK (length(hash) = 64)
);

CREATE INDEX audit_by_actor ON audit (actor, seq);
CREATE INDEX audit_by_fabric ON audit (fabric, seq);

-- +goose StatementBegin
CREATE FUNCTION refuse_change_of_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are never changed' USING ERRCODE = 'restrict_violation';
END;
$$;
-- +goose StatementEnd

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_audit();

-- The one row of audit_tail is the end of the chain: whoever appends holds it, and an end that was cut
-- off shows.
CREATE TABLE audit_tail (
    id   INTEGER PRIMARY KEY CHECK (id = 1),
    seq  BIGINT NOT NULL,
    hash TEXT   NOT NULL CHECK (length(hash) = 64)
);

INSERT INTO audit_tail (id, seq, hash) VALUES (1, 0, '0000000000000000000000000000000000000000000000000000000000000000');
