-- +goose Up
-- Weights are thousandths: 1500 is 1.5.
CREATE TABLE tenants (
    id            INTEGER PRIMARY KEY,
    fabric_id     INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    weight_milli  INTEGER NOT NULL CHECK (weight_milli BETWEEN 1 AND 1000000000),
    pkey          INTEGER NOT NULL CHECK (pkey BETWEEN 0 AND 65535),
    version       INTEGER NOT NULL,
    created_at_us INTEGER NOT NULL,
    updated_at_us INTEGER NOT NULL,
    UNIQUE (fabric_id, name)
);

CREATE TABLE tenant_classes (
    tenant_id    INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 63),
    weight_milli INTEGER NOT NULL CHECK (weight_milli BETWEEN 1 AND 1000000000),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, name)
);

CREATE TABLE tenant_attachments (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    node_guid TEXT    NOT NULL CHECK (length(node_guid) = 18),
    port_num  INTEGER NOT NULL CHECK (port_num BETWEEN 0 AND 254),
    sl        INTEGER CHECK (sl BETWEEN 0 AND 15),
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, node_guid, port_num)
);

-- Declared flows are replaced as a whole; fabrics.flows_version counts the replacements.
CREATE TABLE flows (
    fabric_id  INTEGER NOT NULL REFERENCES fabrics (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id),
    class      TEXT    NOT NULL,
    src_guid   TEXT    NOT NULL CHECK (length(src_guid) = 18),
    src_port   INTEGER NOT NULL CHECK (src_port BETWEEN 0 AND 254),
    dst_guid   TEXT    NOT NULL CHECK (length(dst_guid) = 18),
    dst_port   INTEGER NOT NULL CHECK (dst_port BETWEEN 0 AND 254),
    qps        INTEGER NOT NULL CHECK (qps BETWEEN 1 AND 65536),
    demand_bps INTEGER NOT NULL CHECK (demand_bps >= 0),
    PRIMARY KEY (fabric_id, position)
);

CREATE INDEX flows_by_tenant ON flows (tenant_id);
