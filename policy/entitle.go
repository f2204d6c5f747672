package policy

import (
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/tenants"
)

// Target is what the weights ask for.
type Target struct {
	// Flows is in the order of Input.Flows.
	Flows []Entitlement
	// Links lists the contended link directions, by transmitting port: those that limit at least
	// one flow and carry more than one tenant. Predicted is zero here.
	Links []plan.LinkShare
	// Rough counts flows whose rates are near the fair ones only: links that wait for each other in a circle that hardly
	// anything decides, or in a very large one, were not brought to rest.
	Rough int
}

// Entitle computes the target: hierarchical weighted max-min fairness over link directions, each with
// its own capacity. On every link the tenants present share by weight; inside a tenant's part
// its classes share by class weight; inside a class's part all queue pairs share equally. What a queue
// pair cannot use, because another link or its demand limits it, goes to its class first, then
// to its tenant's other classes, then to the other tenants. When nothing but this link
// limits anyone, a flow of n queue pairs of a class counts w_tenant · (w_class/Σ w_class) · n/n_class,
// which is S1's w_t/n_t per flow.
//
// The result has this certificate: every flow not limited by its own demand crosses a link that
// is full, and on which no queue pair of its class has more, no class of its tenant has more per weight,
// and no tenant has more per weight. Rates are in bit/s of whole packets on the wire. Rates
// depend neither on the order of the input nor on the scale of the weights.
//
// It fails, wrapping ErrInput, on input that tenants.Validate refuses, ports that are not in
// the fabric, links without a rate, and missing routes.
func Entitle(in Input) (*Target, error) {
	m, err := newModel(in)
	if err != nil {
		return nil, err
	}
	a := m.entitle()
	if a.err != nil {
		return nil, a.err
	}
	return m.target(a), nil
}

// allocation is the outcome of a fill, by flow in the model's order.
type allocation struct {
	rates      []float64
	bottleneck []int32 // link direction, or -1
	limits     []fill.Limit
	// limiting marks the link directions that are the first to limit some flow.
	limiting []bool
	// overbooked are the link directions whose guarantees or floors ask for more than may be booked.
	overbooked []int32
	// rough counts flows whose rates are near the fair ones only.
	rough int
	err   error // the problem was refused: nothing else counts
}

// entitle finds the target.
func (m *model) entitle() *allocation {
	p := m.problem()
	p.Capacity = m.caps
	p.Tenant = m.lay().tenant
	_, p.Class = m.classLayout()
	p.TenantWeight = make([]float64, len(m.tenants))
	if slices.ContainsFunc(m.tenants, func(t tenants.Tenant) bool { return t.Guarantee > 0 || t.Cap > 0 }) {
		p.Guarantee, p.Cap = make([]float64, len(m.tenants)), make([]float64, len(m.tenants))
	}
	for t := range m.tenants {
		tn := &m.tenants[t]
		if p.TenantWeight[t] = float64(tn.Weight); p.Cap != nil {
			p.Guarantee[t], p.Cap[t] = float64(tn.Guarantee), float64(tn.Cap)
		}
		for _, c := range tn.Classes {
			p.ClassWeight = append(p.ClassWeight, float64(c.Weight))
		}
		if len(tn.Classes) == 0 {
			p.ClassWeight = append(p.ClassWeight, 1)
		}
	}
	a := m.share(m.targets, p)
	for i := range a.rates {
		a.rates[i] = steady(a.rates[i])
	}
	if m.plane == PlaneIB {
		m.limitAlso(a)
	}
	return a
}

// tied is the part of a link that may be free where it counts as full: the rounding of rates.
const tied = 1e-9

// limitAlso marks the links as limiting that queue and mark and are exactly full, although the flows on them are limited elsewhere first. Such ties are common:
// where three of the four links between two leaf switches and two spines are full, the fourth is. A full link queues, so it marks
// whether or not a sharing needs it, and the flows on it get its marks beside those of others.
func (m *model) limitAlso(a *allocation) {
	l := m.lay()
	load, held := make([]float64, len(m.caps)), make([]bool, len(m.caps))
	for i, r := range a.rates {
		for _, d := range l.hops[l.first[i]:l.first[i+1]] {
			load[d] += r
			held[d] = held[d] || a.bottleneck[i] >= 0
		}
	}
	for d, c := range m.feedable(nil) {
		if held[d] && !l.sends[d] && load[d] >= float64(c*(1-tied)) {
			a.limiting[d] = true
		}
	}
}

// steady rounds a rate to 39 bits. What is finer is rounding, which differs when all weights are three times as
// large: levers are chosen by comparing, and must not be tipped by it.
func steady(rate float64) float64 {
	const spare = 14
	return math.Float64frombits((math.Float64bits(rate) + 1<<(spare-1)) &^ (1<<spare - 1))
}

// problem lays out what all sharings of the model have in common.
func (m *model) problem() *fill.Problem {
	l := m.lay()
	return &fill.Problem{First: l.first, Hops: l.hops, Units: l.qps, Demand: l.demand}
}

// share solves a problem of the model. Where the solver refuses it, the allocation has the error and no flow
// a rate.
func (m *model) share(solver *fill.Solver, p *fill.Problem) *allocation {
	a := &allocation{limiting: make([]bool, len(m.caps))}
	solve := fill.Solve
	if solver != nil {
		solve = solver.Solve
	}
	s, err := solve(p)
	if a.err = err; err != nil {
		a.rates, a.bottleneck, a.limits = make([]float64, len(m.flows)), make([]int32, len(m.flows)), make([]fill.Limit, len(m.flows))
		for i := range a.bottleneck {
			a.bottleneck[i] = -1
		}
		return a
	}
	// The solver keeps its solution: of the allocation the rates alone are the caller's to change.
	a.rates, a.bottleneck, a.limits, a.overbooked, a.rough = slices.Clone(s.Rates), s.Bottleneck, s.Limits, s.Overbooked, s.Rough
	for i, b := range a.bottleneck {
		if b >= 0 && a.limits[i] != fill.LimitCap { // a link need not be full for a cap
			a.limiting[b] = true
		}
	}
	return a
}

func (m *model) target(a *allocation) *Target {
	t := &Target{Flows: make([]Entitlement, len(m.flows)), Links: m.linkShares(a, a), Rough: a.rough}
	for i := range m.flows {
		e := &t.Flows[m.flows[i].index]
		e.Flow = m.flows[i].index
		if e.Rate == 0 || e.Bottleneck.Node < 0 {
			e.Bottleneck = subnet.PortRef{Node: -1}
			if b := a.bottleneck[i]; b >= 0 {
				e.Bottleneck = m.transmitter(b)
			}
		}
		e.Rate += rate(a.rates[i])
	}
	for i := range t.Links {
		for j := range t.Links[i].Tenants {
			t.Links[i].Tenants[j].Predicted = 0
		}
	}
	return t
}

// linkShares lists the contended link directions of the target with both rates.
func (m *model) linkShares(target, predicted *allocation) []plan.LinkShare {
	l := m.parts()
	entitled, expected := make([]float64, len(l.carries)), make([]float64, len(l.carries))
	for i, e := range target.rates {
		x := predicted.rates[i]
		for _, k := range l.partOf[l.first[i]:l.first[i+1]] {
			entitled[k] += e
			expected[k] += x
		}
	}
	out := []plan.LinkShare{}
	for d, on := range target.limiting {
		a, b := l.firstPart[d], l.firstPart[d+1]
		if !on || b-a < 2 {
			continue
		}
		d := int32(d)
		s := plan.LinkShare{Port: m.fabric.PortID(m.transmitter(d)), Peer: m.fabric.PortID(m.receiver(d)), Name: m.linkName(d), Capacity: quantity.BitRate(m.caps[d]),
			Tenants: make([]plan.LinkTenant, b-a)}
		for k := a; k < b; k++ {
			p := &l.carries[k]
			s.Tenants[k-a] = plan.LinkTenant{Tenant: m.tenants[p.tenant].Name, QPs: whole(p.qps), Entitled: rate(entitled[k]), Predicted: rate(expected[k])}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b plan.LinkShare) int { return a.Port.Compare(b.Port) })
	return out
}

// linkName prints a link direction as "leaf1/P3 -> host-07/P1".
func (m *model) linkName(d int32) string {
	return m.fabric.PortName(m.transmitter(d)) + " -> " + m.fabric.PortName(m.receiver(d))
}
