package policy_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy"
	"fairlane/policy/plantest"
	"fairlane/subnet"
	"fairlane/tenants"
)

// slack is the permitted error of rounding and relaxation, in bit/s: a fiftieth of a millionth of 100 Gbit/s.
const slack = 2000

// world is an input in the form that the naive judge works on.
type world struct {
	flows []tenants.Flow
	ts    map[string]tenants.Tenant
	paths []policy.FlowPath
	users map[subnet.PortRef][]int // flows by transmitting port
	caps  map[subnet.PortRef]float64
	order []subnet.PortRef
}

func newWorld(t testing.TB, in policy.Input) *world {
	paths, err := policy.Paths(in.Fabric, in.Flows)
	if err != nil {
		t.Fatalf("paths: %v", err)
	}
	w := &world{flows: in.Flows, ts: map[string]tenants.Tenant{}, paths: paths, users: map[subnet.PortRef][]int{}, caps: map[subnet.PortRef]float64{}}
	for _, tn := range in.Tenants {
		w.ts[tn.Name] = tn
	}
	for i, p := range paths {
		for _, ref := range p {
			if w.users[ref] == nil {
				w.order = append(w.order, ref)
			}
			w.users[ref] = append(w.users[ref], i)
			l, _ := in.Fabric.Link(ref)
			w.caps[ref] = float64(l.Rate)
		}
	}
	return w
}

func (w *world) class(f int) tenants.Class {
	tn := w.ts[w.flows[f].Tenant]
	c, _ := tn.ClassNamed(w.flows[f].Class)
	return c
}

// item is one party of a weighted max-min division.
type item struct{ weight, demand float64 }

// divide is textbook weighted max-min with demands.
func divide(total float64, items []item) []float64 {
	out := make([]float64, len(items))
	open := make([]int, len(items))
	for i := range items {
		open[i] = i
	}
	for len(open) > 0 {
		weight := 0.0
		for _, i := range open {
			weight += items[i].weight
		}
		level := max(0, total) / weight
		next := open[:0:0]
		for _, i := range open {
			if items[i].demand <= level*items[i].weight {
				out[i] = items[i].demand
				total -= out[i]
			} else {
				next = append(next, i)
			}
		}
		if len(next) == len(open) {
			for _, i := range open {
				out[i] = level * items[i].weight
			}
			break
		}
		open = next
	}
	return out
}

// offer returns a link's offer to flow f when every other flow requests ask and f the whole link.
func (w *world) offer(ref subnet.PortRef, f int, ask []float64) float64 {
	demand := func(g int) float64 {
		if g == f {
			return math.Inf(1)
		}
		return ask[g]
	}
	type key struct{ tenant, class string }
	byTenant, byClass := map[string][]string{}, map[key][]int{}
	var names []string
	for _, g := range w.users[ref] {
		k := key{w.flows[g].Tenant, w.class(g).Name}
		if byTenant[k.tenant] == nil {
			names = append(names, k.tenant)
		}
		if byClass[k] == nil {
			byTenant[k.tenant] = append(byTenant[k.tenant], k.class)
		}
		byClass[k] = append(byClass[k], g)
	}
	sum := func(gs []int) float64 {
		s := 0.0
		for _, g := range gs {
			s += demand(g)
		}
		return s
	}
	var top []item
	for _, n := range names {
		d := 0.0
		for _, c := range byTenant[n] {
			d += sum(byClass[key{n, c}])
		}
		top = append(top, item{w.ts[n].Weight.Float(), d})
	}
	mine := w.flows[f].Tenant
	part := divide(w.caps[ref], top)[slices.Index(names, mine)]
	var mid []item
	for _, c := range byTenant[mine] {
		gs := byClass[key{mine, c}]
		mid = append(mid, item{w.class(gs[0]).Weight.Float(), sum(gs)})
	}
	cls := w.class(f).Name
	part = divide(part, mid)[slices.Index(byTenant[mine], cls)]
	gs := byClass[key{mine, cls}]
	var leaf []item
	for _, g := range gs {
		leaf = append(leaf, item{float64(w.flows[g].QPs), demand(g)})
	}
	return divide(part, leaf)[slices.Index(gs, f)]
}

// bestResponse is the defining property of the target, computed naively: while every other flow keeps its rate, flow f's links and demand
// allow it exactly its own rate.
func (w *world) bestResponse(rates []float64, f int) float64 {
	best := math.Inf(1)
	if d := w.flows[f].Demand; d > 0 {
		best = float64(d)
	}
	for _, ref := range w.paths[f] {
		best = min(best, w.offer(ref, f, rates))
	}
	return best
}

func rates(es []policy.Entitlement) []float64 {
	out := make([]float64, len(es))
	for i, e := range es {
		out[i] = float64(e.Rate)
	}
	return out
}

func TestEveryRateEqualsTheOfferOfItsLinksWithOthersFixed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		target, err := policy.Entitle(in)
		if err != nil {
			rt.Fatalf("entitle: %v", err)
		}
		w := newWorld(t, in)
		got := rates(target.Flows)
		for f := range in.Flows {
			want := w.bestResponse(got, f)
			near := float64(slack)
			if target.Approximate > 0 {
				near = want / 1000
			}
			if math.Abs(got[f]-want) > near {
				rt.Fatalf("flow %d %+v has %.0f bit/s, its links offer %.0f", f, in.Flows[f], got[f], want)
			}
		}
	})
}

func TestNoLinkCarriesMoreThanItsCapacityAndEachBottleneckIsFull(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		in := plantest.Input(rt)
		target, err := policy.Entitle(in)
		if err != nil {
			rt.Fatalf("entitle: %v", err)
		}
		w := newWorld(t, in)
		load := map[subnet.PortRef]float64{}
		for f, e := range target.Flows {
			for _, ref := range w.paths[f] {
				load[ref] += float64(e.Rate)
			}
		}
		for ref, l := range load {
			if l > w.caps[ref]+slack {
				rt.Fatalf("%s carries %.0f of %.0f bit/s", in.Fabric.PortName(ref), l, w.caps[ref])
			}
		}
		for f, e := range target.Flows {
			switch {
			case e.Bottleneck.Node < 0:
				if d := float64(in.Flows[f].Demand - e.Rate); d > slack || d < 0 {
					rt.Fatalf("flow %d has no bottleneck and %s of a demand of %s", f, e.Rate, in.Flows[f].Demand)
				}
			case load[e.Bottleneck] < w.caps[e.Bottleneck]-slack:
				rt.Fatalf("flow %d: bottleneck %s carries %.0f of %.0f", f, in.Fabric.PortName(e.Bottleneck), load[e.Bottleneck], w.caps[e.Bottleneck])
			}
		}
	})
}
