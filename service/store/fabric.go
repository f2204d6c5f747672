package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
)

var _ control.FabricRepo = (*repos)(nil)

func (r *repos) CreateFabric(ctx context.Context, f control.Fabric) (control.Fabric, error) {
	row := fabricRow{
		Name: f.Name, Plane: string(f.Plane), Source: f.Source, TimeScale: f.TimeScale, Version: 1,
		Counters: counters(f.Counters), Prerequisites: prerequisites(f.Prerequisites), Management: string(control.Managed),
		CreatedAtUS: micros(f.CreatedAt), UpdatedAtUS: micros(f.CreatedAt),
	}
	switch err := r.in(ctx).Create(&row).Error; {
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return control.Fabric{}, exists("fabric", f.Name)
	case err != nil:
		return control.Fabric{}, fmt.Errorf("insert fabric %s: %w", f.Name, err)
	}
	return row.domain(), nil
}

func exists(kind, name string) error {
	return &control.ConflictError{Code: "already-exists", Said: phrase.Of("problem.exists", "kind", kind, "name", name)}
}

func (r *repos) Fabric(ctx context.Context, name string) (control.Fabric, error) {
	row, err := r.fabric(ctx, name)
	if err != nil {
		return control.Fabric{}, err
	}
	return r.withSnapshot(ctx, row)
}

func (r *repos) fabric(ctx context.Context, name string) (fabricRow, error) {
	var row fabricRow
	err := r.in(ctx).Where("name = ?", name).Take(&row).Error
	return row, found(err, "fabric", name)
}

// found converts gorm's "record not found" into a *NotFoundError and wraps other errors.
func found(err error, kind, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gorm.ErrRecordNotFound):
		return &control.NotFoundError{Kind: kind, Name: name}
	default:
		return fmt.Errorf("read %s %s: %w", kind, name, err)
	}
}

func (r *repos) withSnapshot(ctx context.Context, row fabricRow) (control.Fabric, error) {
	f := row.domain()
	var s snapshotRow
	err := r.in(ctx).Omit("topology").Where("fabric_id = ?", row.ID).Order("seen_seq DESC").Take(&s).Error
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return f, nil
	case err != nil:
		return f, fmt.Errorf("read latest snapshot of %s: %w", row.Name, err)
	}
	latest := s.domain(row.Name)
	f.Snapshot = &latest
	return f, nil
}

// ListFabrics implements control.FabricRepo, by name.
func (r *repos) ListFabrics(ctx context.Context, p control.Page) ([]control.Fabric, string, error) {
	rows, next, err := byName(r.in(ctx), "name", "fabrics", p, fabricRow.name)
	if err != nil {
		return nil, "", err
	}
	list, err := tryEach(rows, func(row fabricRow) (control.Fabric, error) { return r.withSnapshot(ctx, row) })
	return list, next, err
}

func (r *repos) UpdateFabric(ctx context.Context, f control.Fabric) (control.Fabric, error) {
	row, err := r.fabric(ctx, f.Name)
	if err != nil {
		return control.Fabric{}, err
	}
	if err := checkVersion("fabric", f.Name, f.Version, row.Version); err != nil {
		return control.Fabric{}, err
	}
	res := r.in(ctx).Model(&fabricRow{}).Where("id = ? AND version = ?", row.ID, row.Version).Updates(map[string]any{
		"source": f.Source, "time_scale": f.TimeScale, "counters": counters(f.Counters), "prerequisites": prerequisites(f.Prerequisites),
		"version": row.Version + 1, "updated_at_us": micros(f.UpdatedAt),
	})
	if err := changed(res, stale("fabric", f.Name, row.Version), "update fabric %s", f.Name); err != nil {
		return control.Fabric{}, err
	}
	return r.Fabric(ctx, f.Name)
}

func (r *repos) SetManagement(ctx context.Context, name string, m control.Management, at time.Time) error {
	res := r.in(ctx).Model(&fabricRow{}).Where("name = ?", name).Updates(map[string]any{
		"management": string(m), "management_at_us": micros(at), "version": gorm.Expr("version + 1"), "updated_at_us": micros(at),
	})
	return changed(res, &control.NotFoundError{Kind: "fabric", Name: name}, "change the management of fabric %s", name)
}

func (r *repos) LetRepairs(ctx context.Context, name string) error {
	res := r.in(ctx).Model(&fabricRow{}).Where("name = ?", name).Update("repairs_wait", 0)
	return changed(res, &control.NotFoundError{Kind: "fabric", Name: name}, "end the hold of repairs on fabric %s", name)
}

func (r *repos) DeleteFabric(ctx context.Context, name string, version int64) error {
	row, err := r.fabric(ctx, name)
	if err != nil {
		return err
	}
	if err := checkVersion("fabric", name, version, row.Version); err != nil {
		return err
	}
	if err := r.deleteAccountsOn(ctx, row.ID); err != nil {
		return fmt.Errorf("delete the service accounts of fabric %s: %w", name, err)
	}
	if err := r.in(ctx).Delete(&row).Error; err != nil {
		return fmt.Errorf("delete fabric %s: %w", name, err)
	}
	r.gone = true // its tenants were deleted with it
	return nil
}

// checkVersion compares the version that a change is based on with the stored one; 0 matches any.
func checkVersion(kind, name string, want, have int64) error {
	if want != 0 && want != have {
		return &control.PreconditionError{Kind: kind, Name: name, Want: want, Have: have}
	}
	return nil
}

// stale returns the error of a change that is based on an old version.
func stale(kind, name string, version int64) error {
	return &control.PreconditionError{Kind: kind, Name: name, Want: version, Have: version + 1}
}

// counters returns the value of the column counters.
func counters(c control.Counters) string { return string(cmp.Or(c, control.CountersClear)) }

// prerequisites returns the value of the column prerequisites.
func prerequisites(p control.Prerequisites) string {
	return string(cmp.Or(p, control.PrerequisitesReport))
}

func (row fabricRow) name() string { return row.Name }

func (row fabricRow) domain() control.Fabric {
	return control.Fabric{
		Name: row.Name, Plane: subnet.Plane(row.Plane), Source: row.Source, TimeScale: row.TimeScale,
		Counters: control.Counters(row.Counters), Prerequisites: control.Prerequisites(row.Prerequisites),
		Version: row.Version, FlowsVersion: row.FlowsVersion,
		Management: control.Management(row.Management), ManagementAt: optionalTime(row.ManagementAtUS), RestoredAt: optionalTime(row.RestoredAtUS), RepairsWait: row.RepairsWait != 0,
		CreatedAt: fromMicros(row.CreatedAtUS), UpdatedAt: fromMicros(row.UpdatedAtUS),
	}
}
