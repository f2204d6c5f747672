package views

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairlane/service/control"
	"fairlane/service/series"
)

// fullUse is the part of a link's capacity from which it is full (docs/shares.md).
const fullUse = 0.85

// contention is the measured state of a fabric: its tenants, and which link directions are contended.
type contention struct {
	at       time.Time // of the latest measurement; zero without a current one
	states   map[string]string
	received map[string]receipt // of contending tenants
	below    []string           // tenants below their share, the lowest receipt first
	// contended are link directions that are full or limit a contending tenant, with their use; the use is nil where it is not measured.
	contended map[string]*float64
}

// receipt is what a contending tenant received of what it may have, on the link that limits it.
type receipt struct {
	ratio float64
	link  string
}

// contentionOf reads the measured state of a fabric.
func contentionOf(ctx context.Context, r *reader, fabric string, of *control.ObjectiveSet) (*contention, error) {
	c := &contention{states: map[string]string{}, received: map[string]receipt{}, contended: map[string]*float64{}}
	var err error
	if c.at, err = r.measuredAt(ctx, fabric); err != nil || c.at.IsZero() {
		return c, err
	}
	list, err := r.all(ctx, selector(fabric, []string{series.TenantState, series.TenantReceived}))
	if err != nil {
		return nil, err
	}
	for i := range list {
		switch x := &list[i]; x.family() {
		case series.TenantState:
			c.states[x.label(series.LabelTenant)] = x.label(series.LabelState)
		case series.TenantReceived:
			c.received[x.label(series.LabelTenant)] = receipt{x.v, x.label(series.LabelLink)}
		}
	}
	for name, got := range c.received {
		if c.states[name] != control.ContentionContending {
			delete(c.received, name)
			continue
		}
		if got.link != "" {
			c.contended[got.link] = nil
		}
		if got.ratio < of.Of(name).Bound { // the rule by which service/collect counts bad seconds
			c.below = append(c.below, name)
		}
	}
	slices.SortFunc(c.below, func(a, b string) int {
		return cmp.Or(cmp.Compare(c.received[a].ratio, c.received[b].ratio), cmp.Compare(a, b))
	})
	return c, c.uses(ctx, r, fabric)
}

// uses reads the use of contended links.
func (c *contention) uses(ctx context.Context, r *reader, fabric string) error {
	add := func(query string) error {
		list, err := r.all(ctx, query)
		for i := range list {
			c.contended[list[i].label(series.LabelLink)] = &list[i].v
		}
		return err
	}
	limiting := slices.Sorted(maps.Keys(c.contended))
	if err := add(selector(fabric, []string{series.LinkUse}) + " >= " + strconv.FormatFloat(fullUse, 'f', -1, 64)); err != nil {
		return err
	}
	rest := slices.DeleteFunc(limiting, func(name string) bool { return c.contended[name] != nil })
	return named(series.LabelLink, rest, func(m string) error { return add(selector(fabric, []string{series.LinkUse}, m)) })
}

// busiest returns the names of the contended links, the highest use first.
func (c *contention) busiest() []string {
	return slices.SortedFunc(maps.Keys(c.contended), func(a, b string) int {
		return cmp.Or(cmp.Compare(orNone(c.contended[b]), orNone(c.contended[a])), cmp.Compare(a, b))
	})
}

// orNone returns a measured value, and a number below all of them for one that was not measured.
func orNone(v *float64) float64 {
	if v == nil {
		return -1
	}
	return *v
}

// byLink reads families of links by the link's name.
func byLink(ctx context.Context, r *reader, fabric, family string, links []string) (map[string]float64, error) {
	out := map[string]float64{}
	err := named(series.LabelLink, links, func(m string) error {
		list, err := r.all(ctx, selector(fabric, []string{family}, m))
		for i := range list {
			out[list[i].label(series.LabelLink)] = list[i].v
		}
		return err
	})
	return out, err
}

// meeting are a tenant and a link.
type meeting struct{ link, tenant string }

// onLinks reads the rates of tenants on links.
func onLinks(ctx context.Context, r *reader, fabric string, links []string) (map[meeting]float64, error) {
	out := map[meeting]float64{}
	err := named(series.LabelLink, links, func(m string) error {
		list, err := r.all(ctx, selector(fabric, []string{series.LinkTenant}, m))
		for i := range list {
			out[meeting{list[i].label(series.LabelLink), list[i].label(series.LabelTenant)}] = list[i].v
		}
		return err
	})
	return out, err
}

// rate returns a measured rate in whole bits per second.
func rate(m map[string]float64, key string) *int64 {
	if v, ok := m[key]; ok {
		return new(int64(v))
	}
	return nil
}
