package views

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
)

// Verdict answers whether every tenant of a fabric receives its share right now.
type Verdict string

// Verdicts.
const (
	Served        Verdict = "served"         // every contending tenant receives its share
	BelowShare    Verdict = "below-share"    // at least one does not
	Quiet         Verdict = "quiet"          // no tenant contends
	NotMeasured   Verdict = "not-measured"   // there is no current measurement, or not of every tenant
	NoPlan        Verdict = "no-plan"        // no plan is in force
	NoTenants     Verdict = "no-tenants"     // no tenant is declared
	NotDiscovered Verdict = "not-discovered" // the fabric was never discovered
)

// Bounds of an overview.
const (
	maxBelow     = 50
	maxContended = 20
	maxAlerts    = 20
)

// Parts says which parts of an overview its caller may see, beside the shares.
type Parts struct{ Devices, Rollouts, Events bool }

// Overview answers Verdict, with the figures behind it. A nil figure was not measured.
type Overview struct {
	Fabric        string
	Verdict       Verdict
	At            time.Time
	Series        SeriesState
	MeasuredAt    time.Time   // zero without a current measurement
	Plan          *InForce    // nil without one
	Tenants       int         // declared
	States        []Count     // of tenants, by state
	BelowCount    int         // tenants below their share,
	Below         []Below     // and at most maxBelow of them, the lowest receipt first
	ContendedSize int         // contended link directions,
	Contended     []Contended // and at most maxContended of them, the highest use first
	Devices       []Count     // by state
	Rollout       *control.Rollout
	Latest        *control.Event // the latest change; nil without one
	AlertsFiring  int
	Alerts        []series.Alert // at most maxAlerts
}

// InForce is the plan in force.
type InForce struct {
	Name      string
	Policy    int64
	CreatedAt time.Time
}

// Count is a number of objects in a state.
type Count struct {
	State string
	N     int
}

// Below is a tenant below its share.
type Below struct {
	Tenant                           string
	Weight                           *float64
	Entitled, EntitledNow, Delivered *int64
	Received, Bound                  float64
	State, Link                      string
}

// Contended is a contended link direction.
type Contended struct {
	Name                string
	Port                string // "" when the plan in force does not name it
	Capacity, Delivered *int64
	Use                 *float64
}

// Overview returns the overview of a fabric.
func (v *Views) Overview(ctx context.Context, fabric string, parts Parts) (*Overview, error) {
	r := v.read(series.Scope{Fabrics: []string{fabric}})
	o := &Overview{Fabric: fabric, At: r.at.UTC()}
	f, plan, of, err := v.stored(ctx, o, parts)
	if err != nil {
		return nil, err
	}
	c, err := contentionOf(ctx, r, fabric, of)
	if err != nil {
		return nil, err
	}
	o.MeasuredAt, o.States = c.at, counted(maps.Values(c.states))
	o.BelowCount, o.ContendedSize = len(c.below), len(c.contended)
	o.Verdict = verdict(f, plan, o, c)
	if err := o.tenantsBelow(ctx, r, c, of); err != nil {
		return nil, err
	}
	if err := o.links(ctx, r, c, plan); err != nil {
		return nil, err
	}
	if parts.Devices {
		switch list, err := v.drift.DeviceStates(ctx, fabric); {
		case errors.Is(err, control.ErrConflict): // no plan in force
		case err != nil:
			return nil, err
		default:
			states := make([]string, len(list))
			for i := range list {
				states[i] = list[i].State
			}
			o.Devices = counted(slices.Values(states))
		}
	}
	v.alerts(o)
	o.Series = r.state
	return o, nil
}

// stored adds what the store has.
func (v *Views) stored(ctx context.Context, o *Overview, parts Parts) (f control.Fabric, plan *planDigest, of *control.ObjectiveSet, err error) {
	err = v.Store.View(ctx, func(r control.Repos) error {
		if f, err = r.Fabric(ctx, o.Fabric); err != nil {
			return err
		}
		if plan, err = v.inForce(ctx, r, o.Fabric); err != nil {
			return err
		}
		objectives, err := r.Objectives(ctx, o.Fabric)
		if err != nil {
			return err
		}
		of = new(control.NewObjectiveSet(objectives))
		if o.Tenants, err = r.CountTenants(ctx, o.Fabric); err != nil {
			return err
		}
		if parts.Rollouts {
			switch ro, err := r.LatestRollout(ctx, o.Fabric, control.RolloutRunning); {
			case err == nil:
				o.Rollout = &ro
			case !errors.Is(err, control.ErrNotFound):
				return err
			}
		}
		if parts.Events {
			switch e, err := r.LatestChange(ctx, o.Fabric, control.VisibleSince(ctx, f)); {
			case err == nil:
				o.Latest = &e
			case !errors.Is(err, control.ErrNotFound):
				return err
			}
		}
		return nil
	})
	if plan != nil {
		o.Plan = &InForce{plan.name, plan.policy, plan.created}
	}
	return f, plan, of, err
}

func verdict(f control.Fabric, plan *planDigest, o *Overview, c *contention) Verdict {
	contending, unmeasured := 0, 0
	for name, state := range c.states {
		_, known := c.received[name]
		switch {
		case state == control.ContentionContending && known:
			contending++
		case state == control.ContentionContending, state == control.ContentionUnmeasured:
			unmeasured++
		}
	}
	switch {
	case f.Snapshot == nil:
		return NotDiscovered
	case o.Tenants == 0:
		return NoTenants
	case plan == nil:
		return NoPlan
	case len(c.below) > 0:
		return BelowShare
	case len(c.states) == 0 || unmeasured > 0:
		return NotMeasured
	case contending == 0:
		return Quiet
	}
	return Served
}

// tenantsBelow adds the figures of the tenants that are furthest below their share.
func (o *Overview) tenantsBelow(ctx context.Context, r *reader, c *contention, of *control.ObjectiveSet) error {
	names := c.below[:min(len(c.below), maxBelow)]
	figures := map[string]map[string]float64{}
	err := named(series.LabelTenant, names, func(m string) error {
		list, err := r.all(ctx, selector(o.Fabric, []string{series.TenantDelivered, series.TenantEntitled, series.TenantWeight}, m))
		for i := range list {
			x := &list[i]
			if figures[x.family()] == nil {
				figures[x.family()] = map[string]float64{}
			}
			figures[x.family()][x.label(series.LabelTenant)] = x.v
		}
		return err
	})
	if err != nil {
		return err
	}
	links := make([]string, 0, len(names))
	for _, name := range names {
		links = append(links, c.received[name].link)
	}
	slices.Sort(links)
	there, err := onLinks(ctx, r, o.Fabric, slices.Compact(links))
	if err != nil {
		return err
	}
	for _, name := range names {
		got := c.received[name]
		b := Below{
			Tenant: name, State: c.states[name], Received: got.ratio, Bound: of.Of(name).Bound, Link: got.link,
			Entitled: rate(figures[series.TenantEntitled], name), Delivered: rate(figures[series.TenantDelivered], name),
		}
		if w, ok := figures[series.TenantWeight][name]; ok {
			b.Weight = &w
		}
		if d, ok := there[meeting{got.link, name}]; ok && got.ratio > 0 { // received is delivered over entitled now, on this link
			b.EntitledNow = new(int64(d / got.ratio))
		}
		o.Below = append(o.Below, b)
	}
	return nil
}

// links adds the busiest contended links.
func (o *Overview) links(ctx context.Context, r *reader, c *contention, plan *planDigest) error {
	names := c.busiest()
	names = names[:min(len(names), maxContended)]
	capacity, err := byLink(ctx, r, o.Fabric, series.LinkCapacity, names)
	if err != nil {
		return err
	}
	delivered, err := byLink(ctx, r, o.Fabric, series.LinkDelivered, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		l := Contended{Name: name, Use: c.contended[name], Capacity: rate(capacity, name), Delivered: rate(delivered, name)}
		if plan != nil && plan.links[name] != nil {
			l.Port = plan.links[name].port.String()
		}
		o.Contended = append(o.Contended, l)
	}
	return nil
}

// alerts adds the firing alerts about the fabric and its tenants.
func (v *Views) alerts(o *Overview) {
	if v.Rules == nil {
		return
	}
	for _, a := range v.Rules.Alerts(series.Scope{Fabrics: []string{o.Fabric}}) {
		if a.State == series.AlertFiring && a.Label(series.LabelFabric) == o.Fabric {
			o.Alerts = append(o.Alerts, a)
		}
	}
	o.AlertsFiring = len(o.Alerts)
	urgent := func(a *series.Alert) int {
		if a.Label("severity") == "page" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(o.Alerts, func(a, b series.Alert) int { return cmp.Or(urgent(&a)-urgent(&b), a.ActiveAt.Compare(b.ActiveAt)) })
	o.Alerts = o.Alerts[:min(len(o.Alerts), maxAlerts)]
}

// counted counts states, the most frequent first.
func counted(states func(func(string) bool)) []Count {
	n := map[string]int{}
	for s := range states {
		n[s]++
	}
	out := make([]Count, 0, len(n))
	for s, k := range n {
		out = append(out, Count{s, k})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(b.N-a.N, cmp.Compare(a.State, b.State)) })
	return out
}
