package store

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"fairlane/service/control"
)

type objectiveRow struct {
	ID          int64   `gorm:"column:id;primaryKey"`
	FabricID    int64   `gorm:"column:fabric_id"`
	TenantID    *int64  `gorm:"column:tenant_id"` // nil for the default of the fabric
	Bound       float64 `gorm:"column:bound"`
	Target      float64 `gorm:"column:target"`
	UpdatedAtUS int64   `gorm:"column:updated_at_us"`
}

func (objectiveRow) TableName() string { return "objectives" }

var _ control.ObjectiveRepo = (*repos)(nil)

func (r *repos) Objectives(ctx context.Context, fabric string) ([]control.Objective, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		Row    objectiveRow `gorm:"embedded"`
		Tenant string       `gorm:"column:tenant"`
	}
	err = r.in(ctx).Model(&objectiveRow{}).Select("objectives.*, COALESCE(tenants.name, '') AS tenant").
		Joins("LEFT JOIN tenants ON tenants.id = objectives.tenant_id").Where("objectives.fabric_id = ?", f.ID).Order("tenant").Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the objectives of %s: %w", fabric, err)
	}
	var out []control.Objective
	for _, x := range rows {
		out = append(out, control.Objective{Tenant: x.Tenant, Bound: x.Row.Bound, Target: x.Row.Target, UpdatedAt: fromMicros(x.Row.UpdatedAtUS)})
	}
	return out, nil
}

func (r *repos) PutObjective(ctx context.Context, fabric string, o control.Objective) error {
	fabricID, tenantID, err := r.placeOfObjective(ctx, fabric, o.Tenant)
	if err != nil {
		return err
	}
	if err := r.objectiveOf(ctx, fabricID, tenantID).Delete(&objectiveRow{}).Error; err != nil {
		return fmt.Errorf("replace the objective of %q on %s: %w", o.Tenant, fabric, err)
	}
	row := objectiveRow{FabricID: fabricID, TenantID: tenantID, Bound: o.Bound, Target: o.Target, UpdatedAtUS: micros(o.UpdatedAt)}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return fmt.Errorf("insert the objective of %q on %s: %w", o.Tenant, fabric, err)
	}
	return nil
}

func (r *repos) DeleteObjective(ctx context.Context, fabric, tenant string) (bool, error) {
	fabricID, tenantID, err := r.placeOfObjective(ctx, fabric, tenant)
	if err != nil {
		return false, err
	}
	res := r.objectiveOf(ctx, fabricID, tenantID).Delete(&objectiveRow{})
	if res.Error != nil {
		return false, fmt.Errorf("delete the objective of %q on %s: %w", tenant, fabric, res.Error)
	}
	return res.RowsAffected > 0, nil
}

// placeOfObjective returns the rows of a fabric and of a tenant; none for "".
func (r *repos) placeOfObjective(ctx context.Context, fabric, tenant string) (int64, *int64, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil || tenant == "" {
		return f.ID, nil, err
	}
	t, err := r.tenant(ctx, f.ID, tenant)
	return f.ID, &t.ID, err
}

func (r *repos) objectiveOf(ctx context.Context, fabric int64, tenant *int64) *gorm.DB {
	q := r.in(ctx).Where("fabric_id = ?", fabric)
	if tenant == nil {
		return q.Where("tenant_id IS NULL")
	}
	return q.Where("tenant_id = ?", *tenant)
}
