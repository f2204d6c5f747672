-- +goose Up
-- What a tenant may have before weights divide the rest, and the most it may have; 0 is none. Rates are in bit/s.
ALTER TABLE tenants ADD COLUMN guarantee_bps BIGINT NOT NULL DEFAULT 0 CHECK (guarantee_bps BETWEEN 0 AND 100000000000000);
ALTER TABLE tenants ADD COLUMN cap_bps BIGINT NOT NULL DEFAULT 0 CHECK (cap_bps BETWEEN 0 AND 100000000000000);
