package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

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

// TenantEvents implements control.ScopedListRepo. An event's number is its minute in microseconds plus its position among the listed
// events of that minute: a row number would reveal how many events of others lie between, and an exact time when they were made.
func (r *repos) TenantEvents(ctx context.Context, fabric string, names []string, p control.Page) ([]control.Event, string, error) {
	minute, shown, err := afterNumber(p)
	if err != nil {
		return nil, "", err
	}
	var rows []eventRow
	err = r.in(ctx).Where("fabric = ? AND kind LIKE 'tenant.%' AND subject IN ? AND at_us >= ?", fabric, names, minute).
		Order("at_us, id").Offset(shown).Limit(p.Size() + 1).Find(&rows).Error
	if err != nil {
		return nil, "", fmt.Errorf("list events: %w", err)
	}
	more := len(rows) > p.Size()
	rows = rows[:min(len(rows), p.Size())]
	list := make([]control.Event, len(rows))
	at := int64(shown) // position in the minute
	for i, row := range rows {
		if m := row.AtUS - row.AtUS%microsPerMinute; m != minute {
			minute, at = m, 0
		}
		at++
		list[i] = row.domain()
		list[i].ID, list[i].At = minute+at, fromMicros(minute)
	}
	if !more {
		return list, "", nil
	}
	return list, strconv.FormatInt(minute+at, 10), nil
}

const microsPerMinute = int64(time.Minute / time.Microsecond)

// afterNumber parses the number of an event that TenantEvents listed: its minute and its position in it. Earlier releases added a count to
// a time in their cursors, which is ignored: events of that minute are listed again.
func afterNumber(p control.Page) (minute int64, shown int, err error) {
	if p.After == "" {
		return 0, 0, nil
	}
	text, rest, earlier := strings.Cut(p.After, ".")
	n, err := strconv.ParseUint(text, 10, 63)
	if err == nil && earlier {
		_, err = strconv.ParseUint(rest, 10, 31)
	}
	if err != nil {
		return 0, 0, control.Invalid("cursor", phrase.Of("problem.cursor"))
	}
	at := int64(n) % microsPerMinute
	if earlier {
		return int64(n) - at, 0, nil
	}
	return int64(n) - at, int(at), nil
}
