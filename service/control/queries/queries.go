// Package queries has the use cases about kept time series: PromQL and label lookups, each within what its caller may see.
package queries

import (
	"context"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
)

// Queries are the use cases of this package. They are safe for concurrent use.
type Queries struct{ *control.Base }

// New returns the use cases over the shared base.
func New(b *control.Base) *Queries { return &Queries{b} }

// QueryInstant evaluates a PromQL query at one time; the zero time is now. Errors are those of series.Reader, and
// series.ErrOff.
func (q *Queries) QueryInstant(ctx context.Context, query string, at time.Time) (series.Answer, error) {
	r, s, err := q.reader(ctx)
	if err != nil {
		return series.Answer{}, err
	}
	if at.IsZero() {
		at = q.Now()
	}
	return r.Instant(ctx, s, query, at)
}

// QueryRange evaluates a PromQL query at every step from start to end, both included. Errors are as for QueryInstant.
func (q *Queries) QueryRange(ctx context.Context, query string, start, end time.Time, step time.Duration) (series.Answer, error) {
	r, s, err := q.reader(ctx)
	if err != nil {
		return series.Answer{}, err
	}
	return r.Range(ctx, s, query, start, end, step)
}

// FindLabels returns the names of labels, sorted. Errors are as for QueryInstant.
func (q *Queries) FindLabels(ctx context.Context, l series.Lookup) ([]string, error) {
	r, s, err := q.reader(ctx)
	if err != nil {
		return nil, err
	}
	return r.LabelNames(ctx, s, l)
}

// FindLabelValues returns the values of a label, sorted. Errors are as for QueryInstant.
func (q *Queries) FindLabelValues(ctx context.Context, name string, l series.Lookup) ([]string, error) {
	r, s, err := q.reader(ctx)
	if err != nil {
		return nil, err
	}
	return r.LabelValues(ctx, s, name, l)
}

// FindSeries returns the labels of series, sorted. Errors are as for QueryInstant.
func (q *Queries) FindSeries(ctx context.Context, l series.Lookup) ([]map[string]string, error) {
	r, s, err := q.reader(ctx)
	if err != nil {
		return nil, err
	}
	return r.Series(ctx, s, l)
}

// RuleGroups returns the rules of alerts with their state. The error is series.ErrOff when no series are kept.
func (q *Queries) RuleGroups(ctx context.Context) ([]series.RuleGroup, error) {
	if q.Rules == nil {
		return nil, series.ErrOff
	}
	return q.Rules.RuleGroups(scopeOf(ctx)), nil
}

// Alerts returns the pending and firing alerts. Errors are as for RuleGroups.
func (q *Queries) Alerts(ctx context.Context) ([]series.Alert, error) {
	if q.Rules == nil {
		return nil, series.ErrOff
	}
	return q.Rules.Alerts(scopeOf(ctx)), nil
}

// reader returns the series and the caller's scope.
func (q *Queries) reader(ctx context.Context) (series.Reader, series.Scope, error) {
	if q.Series == nil {
		return nil, series.Scope{}, series.ErrOff
	}
	return q.Series, scopeOf(ctx), nil
}

// scopeOf returns what the caller of a context may see. A context without a principal is the service's own and sees all.
func scopeOf(ctx context.Context) series.Scope {
	p, ok := control.PrincipalFrom(ctx)
	if !ok || p.Wide() {
		return series.Everything
	}
	var s series.Scope
	for _, fabric := range p.Fabrics() {
		if p.Runs(fabric) {
			s.Fabrics = append(s.Fabrics, fabric)
			continue
		}
		for _, name := range p.TenantsOn(fabric) {
			s.Tenants = append(s.Tenants, series.TenantRef{Fabric: fabric, Tenant: name})
		}
	}
	return s
}
