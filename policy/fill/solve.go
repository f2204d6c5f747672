package fill

import (
	"math"
	"slices"
)

// Solve shares the problem's capacities. Every flow's rate is the least of its demand, its ceiling and its links' offers. A link's offer is the
// flow's share of the link while each other flow takes its rate. This is the certificate of hierarchical weighted max-min fairness. Rates are exact
// to a relative 1e-9, and to 1e-6 in rare cycles that are nearly undetermined, except for the flows that Solution.Approximate counts. Solve fails,
// wrapping ErrProblem, if the arrays of the problem do not fit together or hold values out of range.
//
// Where links weigh flows differently there can, in rare symmetric cases, be several fair allocations. Solve then always returns the same one.
func Solve(p *Problem) (*Solution, error) { return (&Solver{once: true}).Solve(p) }

func newSolution(flows int) *Solution {
	return &Solution{Rates: make([]float64, flows), Bottleneck: make([]int32, flows), Limits: make([]Limit, flows)}
}

// copy returns a solution with the same rates and limits.
func (s *Solution) copy() *Solution {
	return &Solution{Rates: slices.Clone(s.Rates), Bottleneck: slices.Clone(s.Bottleneck), Limits: slices.Clone(s.Limits)}
}

// write stores the rates of an engine, and what limits each, in the solution.
func (e *engine) write(s *Solution) {
	for i := range e.flows {
		e.writeFlow(int32(i), s)
	}
	if e.explains() {
		for i := range e.links {
			e.explain(&e.links[i], s)
		}
	}
}

func (e *engine) writeFlow(i int32, s *Solution) {
	f, w := e.flows[i], &e.flowStates[i]
	r := w.most
	for h := w.first; h < w.last; h++ {
		r = min(r, e.limits[h])
	}
	s.Rates[f] = r
	s.Bottleneck[f], s.Limits[f] = -1, LimitNone
	if w.most <= r*(1+alike) && !math.IsInf(r, 1) {
		s.Limits[f] = LimitCeiling
		if e.p.Demand != nil && e.p.Demand[f] > 0 && e.p.Demand[f] <= r*(1+alike) {
			s.Limits[f] = LimitDemand
		}
		return
	}
	for h := w.first; h < w.last; h++ {
		if e.limits[h] <= r*(1+alike) {
			s.Bottleneck[f], s.Limits[f] = e.links[e.on[h]].id, LimitLink
			return
		}
	}
}

// note stores an engine's other results in a part.
func (e *engine) note(pt *part) {
	pt.over, pt.residual, pt.approximate = nil, e.residual, e.approximate
	for i := range e.links {
		if e.links[i].over {
			pt.over = append(pt.over, e.links[i].id)
		}
	}
}
