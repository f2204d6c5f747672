package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/quantity"
	"fairlane/service/control"
)

var _ control.ViewRepo = (*repos)(nil)

func (r *repos) CountTenants(ctx context.Context, fabric string) (int, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return 0, err
	}
	var n int64
	if err := r.in(ctx).Model(&tenantRow{}).Where("fabric_id = ?", f.ID).Count(&n).Error; err != nil {
		return 0, fmt.Errorf("count tenants of %s: %w", fabric, err)
	}
	return int(n), nil
}

func (r *repos) LatestChange(ctx context.Context, fabric string, since time.Time) (control.Event, error) {
	q := r.in(ctx).Where("fabric = ? AND kind NOT LIKE 'device.%' AND kind NOT LIKE 'shares.%'", fabric)
	if !since.IsZero() {
		q = q.Where("at_us >= ?", micros(since))
	}
	var row eventRow
	if err := found(q.Order("id DESC").Take(&row).Error, "event of", fabric); err != nil {
		return control.Event{}, err
	}
	return row.domain(), nil
}

// wildcards are the characters that LIKE would not compare; the queries below escape them with a backslash.
var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like returns rows of a query whose name matches a text: those that begin with it, then those that contain it, each by name.
func like[T any](q func() *gorm.DB, text string, limit int) (rows []T, err error) {
	start := wildcards.Replace(text) + "%"
	if err = q().Where(`name LIKE ? ESCAPE '\'`, start).Order("name").Limit(limit).Find(&rows).Error; err != nil || len(rows) == limit {
		return rows, err
	}
	var rest []T
	err = q().Where(`name LIKE ? ESCAPE '\' AND name NOT LIKE ? ESCAPE '\'`, "%"+start, start).Order("name").Limit(limit - len(rows)).Find(&rest).Error
	return append(rows, rest...), err
}

func (r *repos) TenantsLike(ctx context.Context, fabric, text string, limit int) ([]control.NamedTenant, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	rows, err := like[tenantRow](func() *gorm.DB { return r.in(ctx).Where("fabric_id = ?", f.ID) }, text, limit)
	if err != nil {
		return nil, fmt.Errorf("search tenants of %s: %w", fabric, err)
	}
	return each(rows, func(t tenantRow) control.NamedTenant {
		return control.NamedTenant{Name: t.Name, Weight: quantity.Weight(t.WeightMilli)}
	}), nil
}

func (r *repos) PlansLike(ctx context.Context, fabric, text string, limit int) ([]control.PlanSummary, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	var rows []planRow
	err = r.in(ctx).Omit("plan", "input").Where("fabric_id = ? AND name >= ? AND name < ?", f.ID, text, text+"g").Order("name").Limit(limit).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("search plans of %s: %w", fabric, err)
	}
	return each(rows, func(row planRow) control.PlanSummary { return row.summary(fabric) }), nil
}

func (r *repos) UsersLike(ctx context.Context, text string, limit int) ([]string, error) {
	rows, err := like[accountRow](func() *gorm.DB { return r.in(ctx).Where("kind = ?", string(control.PrincipalUser)) }, text, limit)
	if err != nil {
		return nil, fmt.Errorf("search users: %w", err)
	}
	return each(rows, func(a accountRow) string { return a.Name }), nil
}

func (r *repos) RolloutHead(ctx context.Context, fabric string, id int64) (control.Rollout, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return control.Rollout{}, err
	}
	var row namedRollout
	err = r.rollouts(ctx).Where("rollouts.fabric_id = ? AND rollouts.id = ?", f.ID, id).Take(&row).Error
	if err := found(err, "rollout", strconv.FormatInt(id, 10)); err != nil {
		return control.Rollout{}, err
	}
	return row.domain()
}
