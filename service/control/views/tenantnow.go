package views

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
)

// TenantNow has the current figures of one tenant: those that the tenant itself may see, for every caller. A nil figure was not measured.
type TenantNow struct {
	Fabric, Tenant      string
	At                  time.Time
	Series              SeriesState
	MeasuredAt          time.Time // zero without a current measurement
	Weight              *float64
	Entitled, Delivered *int64
	State               string // "" without a current measurement
	Objective           control.Objective
	BudgetLeft          *float64
	Hour, Period        ContendedTime
}

// ContendedTime is the contended time of a tenant in a window.
type ContendedTime struct {
	Contended, Bad *float64 // seconds
	Delivered      *float64 // average rate in contended time, in bits per second
	// Since is when the figures begin, if later than the window: with the first measurement of the present entitlement. Zero: the whole window.
	Since time.Time
}

// freshRecord is the window in which the latest sample of a rule with a period of five minutes lies.
const freshRecord = "[15m]"

// TenantNow returns the current figures of a tenant. The series are read within the tenant's own scope, so that the answer cannot depend on
// other tenants' series.
func (v *Views) TenantNow(ctx context.Context, fabric, tenant string) (*TenantNow, error) {
	r := v.read(series.Scope{Tenants: []series.TenantRef{{Fabric: fabric, Tenant: tenant}}})
	t := &TenantNow{Fabric: fabric, Tenant: tenant, At: r.at.UTC()}
	err := v.Store.View(ctx, func(r control.Repos) error {
		if _, err := r.Tenant(ctx, fabric, tenant); err != nil {
			return err
		}
		stored, err := r.Objectives(ctx, fabric)
		set := control.NewObjectiveSet(stored)
		t.Objective = set.Of(tenant)
		return err
	})
	if err != nil {
		return nil, err
	}
	own := series.LabelTenant + "=" + strconv.Quote(tenant)
	if t.MeasuredAt, err = r.measuredAt(ctx, fabric, own); err != nil {
		return nil, err
	}
	list, err := r.all(ctx, selector(fabric, []string{series.TenantWeight, series.TenantEntitled, series.TenantDelivered, series.TenantState}, own))
	if err != nil {
		return nil, err
	}
	for i := range list {
		switch x := &list[i]; x.family() {
		case series.TenantWeight:
			t.Weight = &x.v
		case series.TenantEntitled:
			t.Entitled = new(int64(x.v))
		case series.TenantDelivered:
			t.Delivered = new(int64(x.v))
		case series.TenantState:
			t.State = x.label(series.LabelState)
		}
	}
	if err := t.windows(ctx, r, own); err != nil {
		return nil, err
	}
	t.Series = r.state
	return t, nil
}

// windows adds what is known of the last hour and of the period of objectives.
func (t *TenantNow) windows(ctx context.Context, r *reader, own string) error {
	of := func(family string, more ...string) string {
		return selector(t.Fabric, []string{family}, append([]string{own}, more...)...)
	}
	latest := func(family string) string { return "max(last_over_time(" + of(family) + freshRecord + "))" }
	// The rate counts at the times at which the tenant contended.
	contending := func(window string) string {
		return fmt.Sprintf("avg(avg_over_time((%s and on (%s, %s) %s == 1)[%s]))", of(series.TenantDelivered), series.LabelFabric, series.LabelTenant,
			of(series.TenantState, series.LabelState+"="+strconv.Quote(control.ContentionContending)), window)
	}
	hour, err := t.sinceChange(ctx, r, of(series.TenantEntitled))
	if err != nil {
		return err
	}
	for _, x := range []struct {
		to    **float64
		query string
	}{
		{&t.BudgetLeft, latest(series.RecordedRemaining)},
		{&t.Hour.Contended, "sum(increase(" + of(series.TenantContended) + "[" + hour + "]))"},
		{&t.Hour.Bad, "sum(increase(" + of(series.TenantBad) + "[" + hour + "]))"},
		{&t.Hour.Delivered, contending(hour + ":")},
		{&t.Period.Contended, latest(series.RecordedContended + "28d")},
		{&t.Period.Bad, latest(series.RecordedBad + "28d")},
		{&t.Period.Delivered, contending("28d:5m")},
	} {
		var err error
		if *x.to, err = r.one(ctx, x.query); err != nil {
			return err
		}
	}
	return nil
}

// sinceChange returns the window of the last hour in PromQL, shortened to the time since the entitlement changed in it: figures from before
// the change say nothing of the present entitlement. Gaps of the measurement around the change do not hide it.
func (t *TenantNow) sinceChange(ctx context.Context, r *reader, entitled string) (string, error) {
	query := fmt.Sprintf("max(max_over_time((timestamp(%s) and %[1]s != last_over_time(%[1]s[1h] offset 15s))[1h:15s]))", entitled)
	changed, err := r.one(ctx, query)
	if err != nil || changed == nil {
		return "1h", err
	}
	t.Hour.Since = time.UnixMilli(int64(*changed * 1000)).UTC()
	return fmt.Sprintf("%ds", max(int64(t.At.Sub(t.Hour.Since).Seconds()), 1)), nil
}
