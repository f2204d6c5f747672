package model

import (
	"math"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/tenants"
)

// Target is the allocation that the weights require.
type Target struct {
	// Flows follows the order of Input.Flows.
	Flows []Entitlement
	// Links lists the contended link directions, by transmitting port: those that limit at least one flow and carry more than one tenant.
	// Predicted is zero here.
	Links []plan.LinkShare
	// Approximate counts the flows whose rates only approximate the fair ones. Their links wait for each other in a cycle that is very large or nearly
	// undetermined, and did not converge.
	Approximate int
}

// Entitle computes the target: hierarchical weighted max-min fairness over link directions, each with its own capacity.
// On every link the tenants present share by weight; inside a tenant's part its classes share by class weight; inside a class's part all queue
// pairs share equally. A queue pair that another link or its demand limits leaves the rest to its class first, then to its tenant's other
// classes, then to the other tenants. Where only this link limits flows, a flow of n queue pairs of a class counts w_tenant · (w_class/Σ
// w_class) · n/n_class, which is S1's w_t/n_t per flow.
//
// The result has this certificate: every flow not limited by its own demand crosses a full link on which no queue pair of its class has more,
// no class of its tenant has more per weight, and no tenant has more per weight. Rates are in bit/s of whole packets on the wire. They depend
// neither on the order of the input nor on the scale of the weights.
//
// Entitle fails, wrapping ErrInput, on input that tenants.Validate rejects, ports that are not in the fabric, links without a rate, and
// missing routes.
func Entitle(in Input) (*Target, error) {
	m, err := New(in)
	if err != nil {
		return nil, err
	}
	a := m.Entitle()
	if a.Err != nil {
		return nil, a.Err
	}
	return m.target(a), nil
}

// Allocation is the result of a fill, by flow in the model's order.
type Allocation struct {
	Rates      []float64
	Bottleneck []int32 // link direction, or -1
	Limits     []fill.Limit
	// Limiting marks the link directions that are the first to limit some flow.
	Limiting []bool
	// Overbooked lists the link directions whose guarantees or floors exceed the bookable part.
	Overbooked []int32
	// Approximate counts the flows whose rates only approximate the fair ones.
	Approximate int
	Err         error // the solver rejected the problem; the other fields are invalid
}

// Entitle computes the target.
func (m *Model) Entitle() *Allocation {
	p := m.problem()
	p.Capacity = m.Caps
	p.Tenant = m.Layout().Tenant
	_, p.Class = m.classLayout()
	p.TenantWeight = make([]float64, len(m.Tenants))
	if slices.ContainsFunc(m.Tenants, func(t tenants.Tenant) bool { return t.Guarantee > 0 || t.Cap > 0 }) {
		p.Guarantee, p.Cap = make([]float64, len(m.Tenants)), make([]float64, len(m.Tenants))
	}
	for t := range m.Tenants {
		tn := &m.Tenants[t]
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
	a := m.share(m.Targets, p)
	for i := range a.Rates {
		a.Rates[i] = roundRate(a.Rates[i])
	}
	if m.Plane == subnet.PlaneIB {
		m.markTied(a)
	}
	return a
}

// tied is the largest free part of a link that counts as full: rates are rounded.
const tied = 1e-9

// markTied adds links to the limiting ones: those that queue, mark and are exactly full, although other links limit their flows first. Such
// ties are common: where three of the four links between two leaf switches and two spines are full, the fourth is too. A full link queues and
// therefore marks, whether or not the allocation needs it, and its flows receive its marks in addition to others.
func (m *Model) markTied(a *Allocation) {
	l := m.Layout()
	load, held := make([]float64, len(m.Caps)), make([]bool, len(m.Caps))
	for i, r := range a.Rates {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			load[d] += r
			held[d] = held[d] || a.Bottleneck[i] >= 0
		}
	}
	for d, c := range m.QueueingCaps(nil) {
		if held[d] && !l.Sends[d] && load[d] >= float64(c*(1-tied)) {
			a.Limiting[d] = true
		}
	}
}

// roundRate rounds a rate to 39 bits. Finer digits are rounding errors, which change when all weights are tripled; levers are chosen by
// comparison and must not depend on them.
func roundRate(rate float64) float64 {
	const spare = 14
	return math.Float64frombits((math.Float64bits(rate) + 1<<(spare-1)) &^ (1<<spare - 1))
}

// problem builds the part that all problems of the model have in common.
func (m *Model) problem() *fill.Problem {
	l := m.Layout()
	return &fill.Problem{First: l.First, Hops: l.Hops, Units: l.QPs, Demand: l.Demand}
}

// share solves a problem of the model. If the solver rejects the problem, the allocation holds the error and all rates are zero.
func (m *Model) share(solver *fill.Solver, p *fill.Problem) *Allocation {
	a := &Allocation{Limiting: make([]bool, len(m.Caps))}
	solve := fill.Solve
	if solver != nil {
		solve = solver.Solve
	}
	s, err := solve(p)
	if a.Err = err; err != nil {
		a.Rates, a.Bottleneck, a.Limits = make([]float64, len(m.Flows)), make([]int32, len(m.Flows)), make([]fill.Limit, len(m.Flows))
		for i := range a.Bottleneck {
			a.Bottleneck[i] = -1
		}
		return a
	}
	// The solver keeps its solution: callers may change only the rates of the allocation.
	a.Rates, a.Bottleneck, a.Limits, a.Overbooked, a.Approximate = slices.Clone(s.Rates), s.Bottleneck, s.Limits, s.Overbooked, s.Approximate
	for i, b := range a.Bottleneck {
		if b >= 0 && a.Limits[i] != fill.LimitCap { // a cap can limit a flow on a link that is not full
			a.Limiting[b] = true
		}
	}
	return a
}

func (m *Model) target(a *Allocation) *Target {
	t := &Target{Flows: make([]Entitlement, len(m.Flows)), Links: m.LinkShares(a, a), Approximate: a.Approximate}
	for i := range m.Flows {
		e := &t.Flows[m.Flows[i].Index]
		e.Flow = m.Flows[i].Index
		if e.Rate == 0 || e.Bottleneck.Node < 0 {
			e.Bottleneck = subnet.PortRef{Node: -1}
			if b := a.Bottleneck[i]; b >= 0 {
				e.Bottleneck = m.Transmitter(b)
			}
		}
		e.Rate += Rate(a.Rates[i])
	}
	for i := range t.Links {
		for j := range t.Links[i].Tenants {
			t.Links[i].Tenants[j].Predicted = 0
		}
	}
	return t
}

// LinkShares lists the contended link directions of the target with both rates.
func (m *Model) LinkShares(target, predicted *Allocation) []plan.LinkShare {
	l := m.Parts()
	entitled, expected := make([]float64, len(l.carries)), make([]float64, len(l.carries))
	for i, e := range target.Rates {
		x := predicted.Rates[i]
		for _, k := range l.partOf[l.First[i]:l.First[i+1]] {
			entitled[k] += e
			expected[k] += x
		}
	}
	out := []plan.LinkShare{}
	for d, on := range target.Limiting {
		a, b := l.FirstPart[d], l.FirstPart[d+1]
		if !on || b-a < 2 {
			continue
		}
		d := int32(d)
		s := plan.LinkShare{Port: m.Fabric.PortID(m.Transmitter(d)), Peer: m.Fabric.PortID(m.Receiver(d)), Name: m.LinkName(d), Capacity: quantity.BitRate(m.Caps[d]),
			Tenants: make([]plan.LinkTenant, b-a)}
		for k := a; k < b; k++ {
			p := &l.carries[k]
			s.Tenants[k-a] = plan.LinkTenant{Tenant: m.Tenants[p.tenant].Name, QPs: RoundQPs(p.qps), Entitled: Rate(entitled[k]), Predicted: Rate(expected[k])}
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b plan.LinkShare) int { return a.Port.Compare(b.Port) })
	return out
}

// LinkName prints a link direction as "leaf1/P3 -> host-07/P1".
func (m *Model) LinkName(d int32) string {
	return m.Fabric.PortName(m.Transmitter(d)) + " -> " + m.Fabric.PortName(m.Receiver(d))
}
