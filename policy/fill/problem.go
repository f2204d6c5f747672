// Package fill shares the capacities of links among flows by weighted max-min fairness, in a tree (tenants by weight, classes by weight, queue
// pairs equally) or flat (each flow by a weight). It is the engine of the compiler's target and of its predictions. It handles numbers, not
// fabrics, and its results are the same bits on every machine.
package fill

import (
	"errors"
	"fmt"
	"math"
)

// ErrProblem marks a problem whose arrays do not fit together, for errors.Is.
var ErrProblem = errors.New("no problem of sharing")

// Boundless is the capacity, in bit/s, from which a link limits no flow and is left out.
const Boundless = 1e18

// Problem defines links and the flows that share them. Solving does not change it. Optional slices are nil when unset.
//
// With Tenant set every link holds a tree: the tenants present share the link by TenantWeight or LinkWeight, a tenant's classes its part by
// ClassWeight, and a class's flows the class's part by their own weights. Without Tenant, each flow counts by its own weight only. This is Units,
// or Sending on links with Sends set.
type Problem struct {
	Capacity []float64 // by link, bit/s, not negative
	First    []int32   // by flow, and one more: flow f crosses Hops[First[f]:First[f+1]] in order
	Hops     []int32   // links; no link twice in one flow
	Units    []float64 // by flow, above 0: queue pairs, or the flow's weight

	// Nominal are capacities that rank links, and Count the weights of flows in that ranking. They do not change the fair rates. If they stay the
	// same, the solver is faster after changes of Capacity, Units or Sending. With Nominal, no link is left out because of its Capacity. Both are optional:
	// without them, links rank by Capacity, and flows count by Units, flat by Sending, or equally.
	Nominal []float64 // by link, above 0
	Count   []float64 // by flow, above 0

	// Precision is the relative movement up to which a rate counts as at rest, at most 1e-4. 0 is the finest, 1e-12.
	Precision float64

	Demand  []float64 // by flow, bit/s; 0 is greedy; optional
	Ceiling []float64 // by flow: upper bound in bit/s; 0 is none; optional

	Tenant       []int32   // by flow, into TenantWeight; ascending; nil shares flat
	Class        []int32   // by flow, into ClassWeight; ascending inside a tenant; each class belongs to one tenant
	TenantWeight []float64 // by tenant, above 0
	ClassWeight  []float64 // by class, above 0
	// LinkWeight is the weight of the flow's tenant on the link, by hop, in place of TenantWeight. Flows of a tenant have equal ones on a link.
	LinkWeight []float64 // above 0; trees only; optional
	Guarantee  []float64 // by tenant: bit/s on every link before weights divide the rest; 0 is none; optional
	Cap        []float64 // by tenant: upper bound in bit/s on every link; 0 is none; optional

	Sends   []bool    // by link; optional
	Sending []float64 // by flow, above 0: its weight where Sends is set
	Floor   []float64 // by flow: bit/s below which links do not push it; flat only; optional
}

// Limit states what holds a flow at its rate.
type Limit uint8

// Limits of a flow. If several limits are equal, its demand precedes its ceiling, and its ceiling the first link on its path.
const (
	LimitLink      Limit = iota // a full link, on which no flow has more by weight at its cost
	LimitDemand                 // its own demand
	LimitCeiling                // its ceiling
	LimitCap                    // its tenant's cap on a link
	LimitGuarantee              // a full link, on which its tenant has only its guarantee
	LimitFloor                  // a full link, on which it has only its floor
	LimitNone                   // nothing: it is greedy, and no link on its path bounds it
)

// Solution is the result of a problem.
type Solution struct {
	Rates      []float64 // by flow, bit/s; infinite for LimitNone
	Bottleneck []int32   // by flow: the link that limits it, or -1
	Limits     []Limit   // by flow
	// Overbooked lists the links, ascending, on which the guarantees of the tenants present, or the floors of the flows, exceed 99 % of the
	// capacity in sum. There they are scaled down to that in proportion.
	Overbooked []int32
	// Approximate counts the flows in parts of the problem whose cycles of waiting links are too large to converge with bounded work. Their rates
	// exceed no link and approximate the fair ones. Residual is the largest relative reduction of a link's offers that was needed to fit its
	// capacity.
	Approximate int
	Residual    float64
}

func (p *Problem) flows() int { return max(0, len(p.First)-1) }

func (p *Problem) flat() bool { return p.Tenant == nil }

// check reports arrays that do not fit together or values out of range. known states that the layout is that of a problem already checked.
func (p *Problem) check(known bool) error {
	n := p.flows()
	if len(p.First) > 0 && (p.First[0] != 0 || int(p.First[n]) != len(p.Hops)) || len(p.First) == 0 && len(p.Hops) > 0 {
		return fmt.Errorf("%w: First has to run from 0 to the %d hops", ErrProblem, len(p.Hops))
	}
	for _, s := range []struct {
		name string
		have int
		want int
		must bool
	}{
		{"Units", len(p.Units), n, true}, {"Demand", len(p.Demand), n, false}, {"Ceiling", len(p.Ceiling), n, false},
		{"Tenant", len(p.Tenant), n, !p.flat()}, {"Class", len(p.Class), n, !p.flat()},
		{"Guarantee", len(p.Guarantee), len(p.TenantWeight), false}, {"Cap", len(p.Cap), len(p.TenantWeight), false},
		{"Sends", len(p.Sends), len(p.Capacity), false}, {"Sending", len(p.Sending), n, p.Sends != nil}, {"Floor", len(p.Floor), n, false},
		{"Nominal", len(p.Nominal), len(p.Capacity), false}, {"Count", len(p.Count), n, false},
		{"LinkWeight", len(p.LinkWeight), len(p.Hops), false},
	} {
		if s.have != s.want && (s.must || s.have != 0) {
			return fmt.Errorf("%w: %s has %d entries, want %d", ErrProblem, s.name, s.have, s.want)
		}
	}
	if !(p.Precision >= 0 && p.Precision <= settled) {
		return fmt.Errorf("%w: Precision is %g, want 0 to %g", ErrProblem, p.Precision, settled)
	}
	if known {
		return p.checkValues()
	}
	for f := range n {
		if p.First[f] > p.First[f+1] {
			return fmt.Errorf("%w: First falls at flow %d", ErrProblem, f)
		}
	}
	return errors.Join(p.checkHops(), p.checkOwners(), p.checkValues())
}

func (p *Problem) checkHops() error {
	last := make([]int32, len(p.Capacity)) // last flow that crossed the link, from 1 on
	for f := range int32(p.flows()) {
		for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
			if l < 0 || int(l) >= len(p.Capacity) {
				return fmt.Errorf("%w: flow %d crosses link %d, want 0 to %d", ErrProblem, f, l, len(p.Capacity)-1)
			}
			if last[l] == f+1 {
				return fmt.Errorf("%w: flow %d crosses link %d twice", ErrProblem, f, l)
			}
			last[l] = f + 1
		}
	}
	return nil
}

func (p *Problem) checkOwners() error {
	for f := range p.Tenant {
		t, c := p.Tenant[f], p.Class[f]
		if t < 0 || int(t) >= len(p.TenantWeight) || c < 0 || int(c) >= len(p.ClassWeight) {
			return fmt.Errorf("%w: flow %d is of tenant %d and class %d, want below %d and %d", ErrProblem, f, t, c, len(p.TenantWeight), len(p.ClassWeight))
		}
		if f > 0 && (t < p.Tenant[f-1] || t == p.Tenant[f-1] && c < p.Class[f-1]) {
			return fmt.Errorf("%w: flow %d is of an earlier tenant or class than the one before", ErrProblem, f)
		}
	}
	return nil
}

func (p *Problem) checkValues() error {
	for _, s := range []struct {
		name     string
		values   []float64
		positive bool
	}{
		{"Capacity", p.Capacity, false}, {"Units", p.Units, true}, {"Demand", p.Demand, false}, {"Ceiling", p.Ceiling, false},
		{"TenantWeight", p.TenantWeight, true}, {"ClassWeight", p.ClassWeight, true},
		{"Guarantee", p.Guarantee, false}, {"Cap", p.Cap, false}, {"Sending", p.Sending, true}, {"Floor", p.Floor, false},
		{"Nominal", p.Nominal, true}, {"Count", p.Count, true}, {"LinkWeight", p.LinkWeight, true},
	} {
		for i, v := range s.values {
			if !(v >= 0) || s.positive && (v == 0 || math.IsInf(v, 1)) {
				return fmt.Errorf("%w: %s[%d] is %g", ErrProblem, s.name, i, v)
			}
		}
	}
	return nil
}

// nominal returns the capacities that rank links.
func (p *Problem) nominal() []float64 {
	if p.Nominal != nil {
		return p.Nominal
	}
	return p.Capacity
}

// count returns the weights of flows in the ranking; nil where all count alike.
func (p *Problem) count() []float64 {
	switch {
	case p.Count != nil:
		return p.Count
	case p.flat():
		return p.Sending
	}
	return p.Units
}

// most returns the lower of a flow's demand and ceiling, infinite when it has neither.
func (p *Problem) most(f int32) float64 {
	m := math.Inf(1)
	if p.Demand != nil && p.Demand[f] > 0 {
		m = p.Demand[f]
	}
	if p.Ceiling != nil && p.Ceiling[f] > 0 {
		m = min(m, p.Ceiling[f])
	}
	return m
}

// tenantWeight returns the weight of a flow's tenant on a link.
func (p *Problem) tenantWeight(f, link int32) float64 {
	if p.LinkWeight == nil {
		return p.TenantWeight[p.Tenant[f]]
	}
	h := p.First[f]
	for p.Hops[h] != link {
		h++
	}
	return p.LinkWeight[h]
}

// weight returns the weight of a flow on a link: among the flows of its class, or flat among all.
func (p *Problem) weight(f, link int32) float64 {
	if p.Sends != nil && p.Sends[link] {
		return p.Sending[f]
	}
	return p.Units[f]
}
