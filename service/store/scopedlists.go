package store

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

var _ control.ScopedListRepo = (*repos)(nil)

func (r *repos) TenantsNamed(ctx context.Context, fabric string, names []string, p control.Page) ([]control.Tenant, string, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, "", err
	}
	return r.listTenants(ctx, fabric, r.in(ctx).Where("fabric_id = ? AND name IN ?", f.ID, names), p)
}

// FabricsNamed implements control.ScopedListRepo. It reads no snapshots: callers limited to some fabrics do not see their
// topologies.
func (r *repos) FabricsNamed(ctx context.Context, names []string, p control.Page) ([]control.Fabric, string, error) {
	rows, next, err := byName(r.in(ctx).Where("name IN ?", names), "name", "fabrics", p, fabricRow.name)
	return each(rows, fabricRow.domain), next, err
}

func (r *repos) FlowsOf(ctx context.Context, fabric string, names []string) ([]tenants.Flow, error) {
	f, err := r.fabric(ctx, fabric)
	if err != nil {
		return nil, err
	}
	return readFlows(r.in(ctx).Where("flows.fabric_id = ? AND tenants.name IN ?", f.ID, names), fabric)
}

// TenantEvents implements control.ScopedListRepo. The cursor consists of times, which the events show anyway: a row number
// would reveal how many events of others lie between.
func (r *repos) TenantEvents(ctx context.Context, fabric string, names []string, p control.Page) ([]control.Event, string, error) {
	at, shown, err := afterTime(p)
	if err != nil {
		return nil, "", err
	}
	var rows []eventRow
	err = r.in(ctx).Where("fabric = ? AND kind LIKE 'tenant.%' AND subject IN ? AND at_us >= ?", fabric, names, at).
		Order("at_us, id").Offset(shown).Limit(p.Size() + 1).Find(&rows).Error
	if err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	more := len(rows) > p.Size()
	rows = rows[:min(len(rows), p.Size())]
	list := make([]control.Event, len(rows))
	for i, row := range rows {
		list[i] = row.domain()
		list[i].ID = row.AtUS
	}
	if !more {
		return list, "", nil
	}
	return list, timeCursor(rows, at, shown), nil
}

// timeCursor identifies the last row by its time and its position among those of that time.
func timeCursor(rows []eventRow, at int64, shown int) string {
	last := rows[len(rows)-1].AtUS
	same := 0
	for _, row := range rows {
		if row.AtUS == last {
			same++
		}
	}
	if last == at {
		same += shown
	}
	return strconv.FormatInt(last, 10) + "." + strconv.Itoa(same)
}

// afterTime parses a cursor of timeCursor. A time alone, which is the id of an event here, means after all events of that
// time.
func afterTime(p control.Page) (at int64, shown int, err error) {
	if p.After == "" {
		return 0, 0, nil
	}
	text, rest, precise := strings.Cut(p.After, ".")
	at, err = strconv.ParseInt(text, 10, 64)
	if err == nil && at < 0 {
		err = strconv.ErrRange
	}
	switch {
	case err == nil && precise:
		shown, err = strconv.Atoi(rest)
	case err == nil && at < math.MaxInt64:
		at++
	}
	if err != nil || at < 0 || shown < 0 {
		return 0, 0, control.Invalid("cursor", phrase.Of("problem.cursor"))
	}
	return at, shown, nil
}
