package fill

import (
	"math"
	"slices"
)

// memory is how the last solution of a part was found, so that the part is solved faster after values change.
type memory struct {
	e *engine
	h *history
	r *replay
}

// maxKeptOffers bounds the offers that a history keeps. A replay is abandoned after maxReplayPercent percent of the work of a solution from scratch,
// and not started when more than maxChangedPercent percent of the flows have other values.
const maxKeptOffers, maxReplayPercent, maxChangedPercent = 8_000_000, 45, 60

// remember keeps the history of an engine's run; nil when the engine recorded none, too long a one, or one without an end.
func remember(e *engine) *memory {
	r := e.recorder
	e.recorder = nil
	if r == nil || e.approximate || r.kept > maxKeptOffers {
		return nil
	}
	return &memory{e: e, h: r.history(e.links)}
}

// update solves the part for a problem with values other than the last, whose solution sol holds. The memory then keeps the history of the new
// solution, once the solver has settled. It returns how many flows were computed, and whether the replay finished; otherwise the memory is no
// longer usable.
func (m *memory) update(p *Problem, sol *Solution, pt *part, s *Solver) (computed int, ok bool) {
	e := m.e
	if m.h.kept > maxKeptOffers {
		return 0, false
	}
	flows, links := e.differences(p)
	if len(flows)+len(links) == 0 {
		e.p = p
		return 0, true
	}
	most := e.work * maxReplayPercent / 100
	if s.Eager {
		most = math.MaxInt
	} else if len(flows)*100 > len(e.flows)*maxChangedPercent {
		return 0, false
	}
	if m.r == nil {
		m.r = newReplay(e, m.h)
	}
	m.r.begin()
	e.assume(p, flows, links)
	if !m.r.run(flows, links, most, s.budget(e)) {
		return 0, false
	}
	computed = len(m.r.liveFlows)
	m.r.write(sol)
	e.note(pt)
	s.unsettled.Go(m.r.commit)
	return computed, true
}

// differences lists the engine's flows that have other values in a problem of the same layout, and the links that have such flows or another
// capacity.
func (e *engine) differences(p *Problem) (flows, links []int32) {
	q := e.p
	var own []bool // flows
	for _, s := range [...][2][]float64{{p.Units, q.Units}, {p.Demand, q.Demand}, {p.Ceiling, q.Ceiling}, {p.Floor, q.Floor}, {p.Sending, q.Sending}} {
		own = either(own, differing(s[0], s[1]))
	}
	bounds := either(differing(p.Guarantee, q.Guarantee), differing(p.Cap, q.Cap)) // tenants
	tenants, classes := differing(p.TenantWeight, q.TenantWeight), differing(p.ClassWeight, q.ClassWeight)
	hops := differing(p.LinkWeight, q.LinkWeight)
	seen := make([]bool, len(e.links))
	for i := range e.links {
		if e.links[i].capacity != p.Capacity[e.links[i].id] {
			seen[i] = true
			links = append(links, int32(i))
		}
	}
	for i, f := range e.flows {
		other, weight := own != nil && own[f], false
		if !p.flat() {
			other = other || bounds != nil && bounds[p.Tenant[f]] || classes != nil && classes[p.Class[f]]
			weight = tenants != nil && tenants[p.Tenant[f]] || hops != nil && slices.Contains(hops[p.First[f]:p.First[f+1]], true)
		}
		if !other && !weight {
			continue
		}
		flows = append(flows, int32(i))
		for _, l := range e.on[e.flowStates[i].first:e.flowStates[i].last] {
			// The weight of a tenant that is alone on a link has no effect.
			if lk := &e.links[l]; !seen[l] && (other || lk.glast-lk.gfirst > 1) {
				seen[l] = true
				links = append(links, l)
			}
		}
	}
	return flows, links
}

// differing flags where two lists differ; nil when nowhere. A nil list holds zeros.
func differing(a, b []float64) []bool {
	if equal(a, b) {
		return nil
	}
	out := make([]bool, max(len(a), len(b)))
	for i := range out {
		out[i] = entry(a, int32(i)) != entry(b, int32(i))
	}
	return out
}

func either(a, b []bool) []bool {
	if a == nil || b == nil {
		return append(a, b...)
	}
	for i := range a {
		a[i] = a[i] || b[i]
	}
	return a
}

// assume copies the values of flows and links from a problem.
func (e *engine) assume(p *Problem, flows, links []int32) {
	e.p = p
	for _, i := range flows {
		e.flowStates[i].most = p.most(e.flows[i])
	}
	for _, l := range links {
		e.refresh(&e.links[l])
	}
}

// refresh copies the values of a link's members and nodes.
func (e *engine) refresh(l *link) {
	l.capacity = e.p.Capacity[l.id]
	for k := l.first; k < l.last; k++ {
		m := &e.members[k]
		m.weight = e.p.weight(e.flows[m.flow], l.id)
	}
	for i := l.gfirst; i < l.glast; i++ {
		g := &e.groups[i]
		member := g.first
		if !g.leaf {
			for j := g.first; j < g.last; j++ {
				c := &e.classes[j]
				c.weight = e.p.ClassWeight[e.p.Class[e.flows[e.members[c.first].flow]]]
			}
			member = e.classes[g.first].first
		}
		f := e.flows[e.members[member].flow]
		n := e.p.group(e.p.Tenant[f], e.p.tenantWeight(f, l.id), g.first)
		g.weight, g.floor, g.ceil = n.weight, n.floor, n.ceil
	}
	if l.gfirst < l.glast {
		e.book(l)
	}
	if e.floors != nil {
		e.bookFloors(l)
	}
}

// sameLayout reports whether a problem has the links, flows, paths, owners and queue pairs of another and ranks links alike. Then only
// weights, demands and bounds can differ, and capacities if other values rank the links.
func (p *Problem) sameLayout(q *Problem) bool {
	return p.flat() == q.flat() && p.Precision == q.Precision && (p.Floor == nil) == (q.Floor == nil) && (p.Sends == nil) == (q.Sends == nil) && (p.LinkWeight == nil) == (q.LinkWeight == nil) &&
		len(p.Capacity) == len(q.Capacity) && equal(p.nominal(), q.nominal()) && (p.Nominal == nil) == (q.Nominal == nil) &&
		equal(p.First, q.First) && equal(p.Hops, q.Hops) && equal(p.Tenant, q.Tenant) && equal(p.Class, q.Class) &&
		equal(p.Sends, q.Sends) && equal(p.count(), q.count())
}

// equal reports whether two lists are equal, in constant time if they share memory.
func equal[T comparable](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || slices.Equal(a, b))
}

// write stores the result of a replay in a solution that holds the result of the history.
func (r *replay) write(s *Solution) {
	e := r.e
	for _, f := range r.liveFlows {
		e.writeFlow(f, s)
	}
	if !e.explains() {
		return
	}
	for _, l := range r.touched {
		lk := &e.links[l]
		for k := lk.first; k < lk.last; k++ {
			if f := e.members[k].flow; e.flowStates[f].watched == inactive {
				e.flowStates[f] = r.end.flowStates[f]
			}
		}
		e.explain(lk, s)
	}
}
