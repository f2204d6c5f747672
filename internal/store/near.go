package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"fairlane/internal/control"
	"fairlane/subnet/ident"
)

// Near implements control.NearRepo.
func (r *repos) Near(ctx context.Context, fabric, name string, pkey ident.PKey, nodes []ident.GUID) ([]control.Tenant, int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, 0, err
	}
	var total int64
	if err := r.in(ctx).Model(&tenantRow{}).Where("fabric_id = ? AND name <> ?", f.ID, name).Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count tenants of %s: %w", fabric, err)
	}
	ids := map[int64]bool{}
	collect := func(query string, args ...any) error {
		var found []int64
		if err := r.in(ctx).Raw(query, args...).Scan(&found).Error; err != nil {
			return fmt.Errorf("find tenants near %s of %s: %w", name, fabric, err)
		}
		for _, id := range found {
			ids[id] = true
		}
		return nil
	}
	if base := int(pkey.Base()); base != 0 && pkey != ident.DefaultPKey {
		// The membership bit does not tell partitions apart.
		if err := collect("SELECT id FROM tenants WHERE fabric_id = ? AND pkey IN (?, ?)", f.ID, base, base|0x8000); err != nil {
			return nil, 0, err
		}
	}
	for part := range slices.Chunk(nodes, batchNames) {
		guids := each(part, ident.GUID.String)
		// CROSS JOIN keeps SQLite from beginning with all tenants of the fabric.
		err := collect(`SELECT DISTINCT a.tenant_id FROM tenant_attachments a CROSS JOIN tenants t
			WHERE a.node_guid IN ? AND t.id = a.tenant_id AND t.fabric_id = ?`, guids, f.ID)
		if err == nil {
			err = collect(`SELECT DISTINCT w.tenant_id FROM flows w WHERE w.fabric_id = ? AND (w.src_guid IN ? OR w.dst_guid IN ?)
				AND NOT EXISTS (SELECT 1 FROM tenant_attachments a WHERE a.tenant_id = w.tenant_id)`, f.ID, guids, guids)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	list, err := r.tenantsByID(ctx, fabric, name, ids)
	return list, total, err
}

// tenantsByID reads tenants with their parts, by name and without the one called name.
func (r *repos) tenantsByID(ctx context.Context, fabric, name string, ids map[int64]bool) ([]control.Tenant, error) {
	var rows []tenantRow
	for part := range slices.Chunk(slices.Collect(maps.Keys(ids)), batchNames) {
		var found []tenantRow
		if err := r.in(ctx).Where("id IN ? AND name <> ?", part, name).Find(&found).Error; err != nil {
			return nil, fmt.Errorf("read tenants of %s: %w", fabric, err)
		}
		rows = append(rows, found...)
	}
	slices.SortFunc(rows, func(a, b tenantRow) int { return cmp.Compare(a.Name, b.Name) })
	return r.complete(ctx, fabric, rows)
}
