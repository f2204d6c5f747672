package fill

import (
	"math"
	"slices"
)

// memory is how the sharing of a part was found, so that it is soon found again after values have changed.
type memory struct {
	e      *engine
	r      *replay
	rates  []float64 // by flow of the engine: what was found
	at     []int32   // bottlenecks
	limits []Limit
	over   []int32 // links
}

// mostKept bounds the offers that a history keeps, and patience is the part of the work of a way from nothing, in
// hundredths, after which to follow that way again is given up.
const mostKept, patience = 8_000_000, 25

// remember keeps the way an engine has gone; nil when it kept no history, or a history too long or without an end.
func remember(e *engine, sol *Solution) *memory {
	if e.history == nil || e.rough || e.history.kept > mostKept {
		return nil
	}
	e.history.index(len(e.links))
	m := &memory{e: e}
	for _, f := range e.flows {
		m.rates, m.at, m.limits = append(m.rates, sol.Rates[f]), append(m.at, sol.Bottleneck[f]), append(m.limits, sol.Limits[f])
	}
	for i := range e.links {
		if e.links[i].over {
			m.over = append(m.over, e.links[i].id)
		}
	}
	return m
}

// again solves the part for a problem with other values. It returns how many flows were computed, and whether that was worth the
// while; if not the memory is of no more use.
func (m *memory) again(p *Problem, sol *Solution, pt *part, s *Solver) (computed int, ok bool) {
	e := m.e
	flows, links := e.differences(p)
	for i, f := range e.flows {
		sol.Rates[f], sol.Bottleneck[f], sol.Limits[f] = m.rates[i], m.at[i], m.limits[i]
	}
	pt.over = m.over
	if len(flows) == 0 {
		return 0, true
	}
	if m.r == nil {
		m.r = newReplay(e)
	}
	base := e.p
	e.assume(p, flows, links)
	m.r.begin()
	most := e.work * patience / 100
	if s.eager {
		most = math.MaxInt
	}
	if ok = m.r.run(flows, links, most, s.budget(e)); ok {
		computed = len(m.r.lives)
		m.r.write(sol)
		e.note(pt)
	}
	m.r.over()
	e.assume(base, flows, links)
	return computed, ok
}

// differences lists the engine's flows that have other values in a problem of the same layout, and the links that
// have such flows.
func (e *engine) differences(p *Problem) (flows, links []int32) {
	q := e.p
	var own []bool // flows
	for _, s := range [...][2][]float64{{p.Units, q.Units}, {p.Demand, q.Demand}, {p.Ceiling, q.Ceiling}, {p.Floor, q.Floor}} {
		own = either(own, differing(s[0], s[1]))
	}
	bounds := either(differing(p.Guarantee, q.Guarantee), differing(p.Cap, q.Cap)) // tenants
	tenants, classes := differing(p.TenantWeight, q.TenantWeight), differing(p.ClassWeight, q.ClassWeight)
	seen := make([]bool, len(e.links))
	for i, f := range e.flows {
		other, weight := own != nil && own[f], false
		if !p.flat() {
			other = other || bounds != nil && bounds[p.Tenant[f]] || classes != nil && classes[p.Class[f]]
			weight = tenants != nil && tenants[p.Tenant[f]]
		}
		if !other && !weight {
			continue
		}
		flows = append(flows, int32(i))
		for _, l := range e.hops[e.first[i]:e.first[i+1]] {
			// Where a tenant is alone its weight is of no account.
			if lk := &e.links[l]; !seen[l] && (other || lk.glast-lk.gfirst > 1) {
				seen[l] = true
				links = append(links, l)
			}
		}
	}
	return flows, links
}

// differing tells where two lists differ; nil when nowhere. A list that is not set holds zeros.
func differing(a, b []float64) []bool {
	if slices.Equal(a, b) {
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

// assume takes over the values that flows and links have in a problem.
func (e *engine) assume(p *Problem, flows, links []int32) {
	e.p = p
	for _, i := range flows {
		e.most[i] = p.most(e.flows[i])
	}
	for _, l := range links {
		e.refresh(&e.links[l])
	}
}

// refresh takes over the values of a link's members and nodes.
func (e *engine) refresh(l *link) {
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
		n := e.p.group(e.p.Tenant[e.flows[e.members[member].flow]], g.first)
		g.weight, g.floor, g.ceil = n.weight, n.floor, n.ceil
	}
	if l.gfirst < l.glast {
		e.book(l)
	}
	if e.floors != nil {
		e.bookFloors(l)
	}
}

// laidOutLike reports whether a problem has the links, flows, ways, owners and queue pairs of another, so that only
// weights, demands and bounds can differ.
func (p *Problem) laidOutLike(q *Problem) bool {
	return p.flat() == q.flat() && (p.Floor == nil) == (q.Floor == nil) && (p.Sends == nil) == (q.Sends == nil) &&
		slices.Equal(p.Capacity, q.Capacity) && slices.Equal(p.First, q.First) && slices.Equal(p.Hops, q.Hops) &&
		slices.Equal(p.Tenant, q.Tenant) && slices.Equal(p.Class, q.Class) && slices.Equal(p.Sends, q.Sends) &&
		slices.Equal(p.Sending, q.Sending) && (p.flat() || slices.Equal(p.Units, q.Units))
}

// write puts what a replay found in a solution that holds what the history led to.
func (r *replay) write(s *Solution) {
	e := r.e
	for _, f := range r.lives {
		e.writeFlow(f, s)
	}
	if !e.explains() {
		return
	}
	for _, l := range r.touched {
		lk := &e.links[l]
		for k := lk.first; k < lk.last; k++ {
			if f := e.members[k].flow; !r.live[f] {
				e.bests[f] = r.end.bests[f]
			}
		}
		e.explain(lk, s)
	}
}
