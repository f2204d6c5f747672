package store

import (
	"context"
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

// numberedEvent is an event with the number that its tenant sees.
type numberedEvent struct {
	Row    eventRow `gorm:"embedded"`
	Number int64    `gorm:"column:number"`
}

// TenantEvents implements control.ScopedListRepo. An event's number is its minute in microseconds plus its position among the events
// about the tenants in that minute: a row number would reveal how many events of others lie between, and an exact time when they were made.
func (r *repos) TenantEvents(ctx context.Context, f control.EventFilter, names []string, p control.Page) ([]control.Event, string, error) {
	after, err := afterNumber(p)
	if err != nil {
		return nil, "", err
	}
	own := r.in(ctx).Model(&eventRow{}).Where("fabric = ? AND kind LIKE 'tenant.%' AND subject IN ?", f.Fabric, names).
		Select("events.*, at_us - at_us % 60000000 + ROW_NUMBER() OVER (PARTITION BY at_us / 60000000 ORDER BY at_us, id) AS number")
	// Limits at whole minutes leave the positions in a minute as they are.
	if !f.Since.IsZero() {
		own = own.Where("at_us >= ?", minuteOf(micros(f.Since)))
	}
	if !f.Until.IsZero() {
		own = own.Where("at_us < ?", minuteOf(micros(f.Until)-1)+microsPerMinute)
	}
	q, order := r.in(ctx), "number"
	switch {
	case f.Newest && after > 0:
		own, q, order = own.Where("at_us < ?", minuteOf(after)+microsPerMinute), q.Where("number < ?", after), "number DESC"
	case f.Newest:
		order = "number DESC"
	default:
		own, q = own.Where("at_us >= ?", minuteOf(after)), q.Where("number > ?", after)
	}
	if f.Kind != "" {
		q = q.Where("kind LIKE ?", f.Kind+"%")
	}
	if f.Subject != "" {
		q = q.Where("subject = ?", text(f.Subject))
	}
	rows, next, err := page(q.Table("(?) AS own", own).Order(order), "events", p, numbered(func(e numberedEvent) int64 { return e.Number }))
	return each(rows, numberedEvent.domain), next, err
}

func (e numberedEvent) domain() control.Event {
	out := e.Row.domain()
	out.ID, out.At = e.Number, fromMicros(minuteOf(e.Number))
	return out
}

// minuteOf returns the start of the minute of a time in microseconds.
func minuteOf(us int64) int64 { return us - us%microsPerMinute }

const microsPerMinute = int64(time.Minute / time.Microsecond)

// afterNumber parses the number of an event that TenantEvents listed; 0 for the first page. Earlier releases added a count to a time in
// their cursors, which is ignored: events of that minute are listed again.
func afterNumber(p control.Page) (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	text, rest, earlier := strings.Cut(p.After, ".")
	n, err := strconv.ParseUint(text, 10, 63)
	if err == nil && earlier {
		_, err = strconv.ParseUint(rest, 10, 31)
	}
	if err != nil {
		return 0, control.Invalid("cursor", phrase.Of("problem.cursor"))
	}
	if earlier {
		return minuteOf(int64(n)), nil
	}
	return int64(n), nil
}
