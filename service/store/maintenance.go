package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

type maintenanceRow struct {
	ID           int64  `gorm:"column:id;primaryKey"`
	FabricID     int64  `gorm:"column:fabric_id"`
	Name         string `gorm:"column:name"`
	StartsAtUS   int64  `gorm:"column:starts_at_us"`
	EndsAtUS     int64  `gorm:"column:ends_at_us"`
	TextEN       string `gorm:"column:text_en"`
	TextZH       string `gorm:"column:text_zh"`
	Tenants      []byte `gorm:"column:tenants"`
	Places       []byte `gorm:"column:places"`
	Whole        int64  `gorm:"column:whole"`
	Author       string `gorm:"column:author"`
	Version      int64  `gorm:"column:version"`
	CreatedAtUS  int64  `gorm:"column:created_at_us"`
	UpdatedAtUS  int64  `gorm:"column:updated_at_us"`
	CanceledAtUS *int64 `gorm:"column:canceled_at_us"`
}

func (maintenanceRow) TableName() string { return "maintenance" }

type maintenanceTenantRow struct {
	MaintenanceID int64 `gorm:"column:maintenance_id;primaryKey;autoIncrement:false"`
	TenantID      int64 `gorm:"column:tenant_id;primaryKey;autoIncrement:false"`
}

func (maintenanceTenantRow) TableName() string { return "maintenance_tenants" }

var _ control.MaintenanceRepo = (*repos)(nil)

func (r *repos) CreateMaintenance(ctx context.Context, m control.Maintenance) (control.Maintenance, error) {
	f, err := r.fabric(ctx, m.Fabric)
	if err != nil {
		return m, err
	}
	m.Version = 1
	row, err := newMaintenanceRow(f.ID, &m)
	if err != nil {
		return m, err
	}
	if err := r.in(ctx).Create(&row).Error; err != nil {
		return m, fmt.Errorf("insert a maintenance of %s: %w", m.Fabric, err)
	}
	return m, r.touch(ctx, f.ID, row.ID, &m)
}

func (r *repos) Maintenance(ctx context.Context, fabric, id string) (control.Maintenance, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Maintenance{}, err
	}
	row, err := r.maintenance(ctx, f.ID, id)
	if err != nil {
		return control.Maintenance{}, err
	}
	list, err := r.touched(ctx, fabric, f.ID, []maintenanceRow{row})
	if err != nil {
		return control.Maintenance{}, err
	}
	return list[0], nil
}

func (r *repos) maintenance(ctx context.Context, fabric int64, id string) (row maintenanceRow, err error) {
	return row, found(r.in(ctx).Where("fabric_id = ? AND name = ?", fabric, id).Take(&row).Error, "maintenance", id)
}

func (r *repos) UpdateMaintenance(ctx context.Context, m control.Maintenance) (control.Maintenance, error) {
	f, err := r.fabric(ctx, m.Fabric)
	if err != nil {
		return m, err
	}
	had, err := r.maintenance(ctx, f.ID, m.ID)
	if err != nil {
		return m, err
	}
	if m.Version != 0 && m.Version != had.Version {
		return m, &control.PreconditionError{Kind: "maintenance", Name: m.ID, Want: m.Version, Have: had.Version}
	}
	m.Version = had.Version + 1
	row, err := newMaintenanceRow(f.ID, &m)
	if err != nil {
		return m, err
	}
	row.ID = had.ID
	if err := r.in(ctx).Save(&row).Error; err != nil {
		return m, fmt.Errorf("update maintenance %s: %w", m.ID, err)
	}
	if err := r.in(ctx).Where("maintenance_id = ?", row.ID).Delete(&maintenanceTenantRow{}).Error; err != nil {
		return m, fmt.Errorf("delete the tenants of maintenance %s: %w", m.ID, err)
	}
	return m, r.touch(ctx, f.ID, row.ID, &m)
}

// touch stores the tenants that a maintenance touches.
func (r *repos) touch(ctx context.Context, fabric, id int64, m *control.Maintenance) error {
	if m.Scope.Whole() {
		return nil
	}
	for part := range slices.Chunk(m.Touches, batchNames) {
		var tenants []int64
		if err := r.in(ctx).Model(&tenantRow{}).Where("fabric_id = ? AND name IN ?", fabric, part).Order("id").Pluck("id", &tenants).Error; err != nil {
			return fmt.Errorf("find the tenants of maintenance %s: %w", m.ID, err)
		}
		rows := each(tenants, func(t int64) maintenanceTenantRow { return maintenanceTenantRow{id, t} })
		if err := insertAll(r.in(ctx), rows); err != nil {
			return fmt.Errorf("insert the tenants of maintenance %s: %w", m.ID, err)
		}
	}
	return nil
}

func (r *repos) CountMaintenance(ctx context.Context, fabric string, endAfter time.Time) (int, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return 0, err
	}
	var n int64
	if err := r.openMaintenance(ctx, f.ID, endAfter).Model(&maintenanceRow{}).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count the maintenance of %s: %w", fabric, err)
	}
	return int(n), nil
}

// openMaintenance selects what ends after an instant and is not canceled; all for the zero time.
func (r *repos) openMaintenance(ctx context.Context, fabric int64, endAfter time.Time) *gorm.DB {
	q := r.in(ctx).Where("fabric_id = ?", fabric)
	if !endAfter.IsZero() {
		q = q.Where("ends_at_us > ? AND canceled_at_us IS NULL", micros(endAfter))
	}
	return q
}

func (r *repos) ListMaintenance(ctx context.Context, fabric string, endAfter time.Time, p control.Page) ([]control.Maintenance, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := latestMaintenance(r.openMaintenance(ctx, f.ID, endAfter), p)
	if err != nil {
		return nil, "", err
	}
	list, err := r.touched(ctx, fabric, f.ID, rows)
	return list, next, err
}

func (r *repos) MaintenanceOf(ctx context.Context, fabric, tenant string, p control.Page) ([]control.Maintenance, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	t, err := r.tenant(ctx, f.ID, tenant)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := latestMaintenance(r.in(ctx).Where("fabric_id = ? AND ends_at_us > ? AND (whole = 1 OR id IN (?))", f.ID, t.CreatedAtUS,
		r.in(ctx).Model(&maintenanceTenantRow{}).Select("maintenance_id").Where("tenant_id = ?", t.ID)), p)
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, func(row maintenanceRow) (control.Maintenance, error) {
		m, err := row.domain(fabric)
		m.Scope = control.MaintenanceScope{}
		return m, err
	})
	return list, next, err
}

// latestMaintenance reads a page of a query's rows, the one that begins last first. Its cursor has the begin and the name of the last row and
// not its number, which would tell a tenant how many announcements others have.
func latestMaintenance(q *gorm.DB, p control.Page) (rows []maintenanceRow, next string, err error) {
	if p.After != "" {
		starts, name, _ := strings.Cut(p.After, ".")
		us, err := strconv.ParseInt(starts, 10, 64)
		if err != nil {
			return nil, "", control.Invalid("cursor", phrase.Of("problem.cursor"))
		}
		q = q.Where("(starts_at_us < ? OR starts_at_us = ? AND name < ?)", us, us, text(name))
	}
	return page(q.Order("starts_at_us DESC, name DESC"), "maintenance", p, func(row maintenanceRow) string { return fmt.Sprintf("%d.%s", row.StartsAtUS, row.Name) })
}

// touched returns maintenance with the tenants that each touches.
func (r *repos) touched(ctx context.Context, fabric string, id int64, rows []maintenanceRow) ([]control.Maintenance, error) {
	ids := each(rows, func(row maintenanceRow) int64 { return row.ID })
	var found []struct {
		MaintenanceID int64  `gorm:"column:maintenance_id"`
		Name          string `gorm:"column:name"`
	}
	err := r.in(ctx).Model(&maintenanceTenantRow{}).Select("maintenance_id, tenants.name AS name").Joins("JOIN tenants ON tenants.id = tenant_id").
		Where("maintenance_id IN ?", ids).Order("tenants.name").Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read the tenants of maintenance: %w", err)
	}
	names := map[int64][]string{}
	for _, x := range found {
		names[x.MaintenanceID] = append(names[x.MaintenanceID], x.Name)
	}
	var all []string
	list := make([]control.Maintenance, len(rows))
	for i := range rows {
		if list[i], err = rows[i].domain(fabric); err != nil {
			return nil, err
		}
		list[i].Touches = names[rows[i].ID]
		if rows[i].Whole == 0 {
			continue
		}
		if all == nil {
			if err := r.in(ctx).Model(&tenantRow{}).Where("fabric_id = ?", id).Order("name").Pluck("name", &all).Error; err != nil {
				return nil, fmt.Errorf("read the tenants of %s: %w", fabric, err)
			}
		}
		list[i].Touches = all
	}
	return list, nil
}

func newMaintenanceRow(fabric int64, m *control.Maintenance) (maintenanceRow, error) {
	tenants, err := json.Marshal(m.Scope.Tenants)
	places, err2 := json.Marshal(m.Scope.Places)
	if err := errors.Join(err, err2); err != nil {
		return maintenanceRow{}, fmt.Errorf("encode the scope of maintenance %s: %w", m.ID, err)
	}
	return maintenanceRow{
		FabricID: fabric, Name: m.ID, StartsAtUS: micros(m.StartsAt), EndsAtUS: micros(m.EndsAt), TextEN: text(m.Text.EN), TextZH: text(m.Text.ZH),
		Tenants: tenants, Places: places, Whole: int64(flag(m.Scope.Whole())), Author: text(m.Author), Version: m.Version,
		CreatedAtUS: micros(m.CreatedAt), UpdatedAtUS: micros(m.UpdatedAt), CanceledAtUS: optionalMicros(m.CanceledAt),
	}, nil
}

func (row maintenanceRow) domain(fabric string) (control.Maintenance, error) {
	m := control.Maintenance{
		ID: row.Name, Fabric: fabric, StartsAt: fromMicros(row.StartsAtUS), EndsAt: fromMicros(row.EndsAtUS), Text: control.MaintenanceText{EN: row.TextEN, ZH: row.TextZH},
		Author: row.Author, Version: row.Version, CreatedAt: fromMicros(row.CreatedAtUS), UpdatedAt: fromMicros(row.UpdatedAtUS), CanceledAt: optionalTime(row.CanceledAtUS),
	}
	if err := errors.Join(json.Unmarshal(row.Tenants, &m.Scope.Tenants), json.Unmarshal(row.Places, &m.Scope.Places)); err != nil {
		return m, fmt.Errorf("decode the scope of maintenance %s: %w", row.Name, err)
	}
	return m, nil
}
