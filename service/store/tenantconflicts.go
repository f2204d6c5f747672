package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"fairlane/service/control"
	"fairlane/subnet/ident"
)

var _ control.TenantConflictRepo = (*repos)(nil)

func (r *repos) TenantsInPartition(ctx context.Context, fabric, name string, pkey ident.PKey) ([]control.Tenant, int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, 0, err
	}
	others := r.in(ctx).Model(&tenantRow{}).Where("fabric_id = ? AND name <> ?", f.ID, name).Session(&gorm.Session{})
	var total int64
	if err := others.Count(&total).Error; err != nil {
		return nil, 0, fmt.Errorf("count tenants of %s: %w", fabric, err)
	}
	base := int(pkey.Base())
	if base == 0 || pkey == ident.DefaultPKey {
		return nil, total, nil
	}
	var rows []tenantRow
	// The membership bit does not distinguish partitions.
	if err := others.Where("pkey IN (?, ?)", base, base|0x8000).Order("name").Find(&rows).Error; err != nil {
		return nil, 0, fmt.Errorf("find tenants near %s of %s: %w", name, fabric, err)
	}
	list, err := r.complete(ctx, fabric, rows)
	return list, total, err
}
