package fill

import "math"

// Solve shares the problem's capacities. Every flow's rate is the least of its demand, its ceiling and what
// its links offer it, where a link's offer is the flow's share of it when each other flow takes
// its rate: the certificate of hierarchical weighted max-min fairness. Rates are exact to a
// relative 1e-9, in rare circles that hardly anything decides to 1e-6, but for the flows that
// Solution.Rough counts. It fails, wrapping ErrProblem, when the arrays of the
// problem do not fit together or hold values out of range.
//
// Where links weigh flows differently there can, in rare symmetric cases, be more than one fair sharing. Solve then
// finds always the same one.
func Solve(p *Problem) (*Solution, error) {
	var s Solver
	return s.Solve(p)
}

func newSolution(flows int) *Solution {
	return &Solution{Rates: make([]float64, flows), Bottleneck: make([]int32, flows), Limits: make([]Limit, flows)}
}

// write puts the rates that an engine found, and what limits each, in the solution, and the rest in pt.
func (e *engine) write(s *Solution, pt *part) {
	for i, f := range e.flows {
		r := e.most[i]
		for h := e.first[i]; h < e.first[i+1]; h++ {
			r = min(r, e.limits[h])
		}
		s.Rates[f] = r
		s.Bottleneck[f], s.Limits[f] = -1, LimitNone
		if e.most[i] <= r*(1+alike) && !math.IsInf(r, 1) {
			s.Limits[f] = LimitCeiling
			if e.p.Demand != nil && e.p.Demand[f] > 0 && e.p.Demand[f] <= r*(1+alike) {
				s.Limits[f] = LimitDemand
			}
			continue
		}
		for h := e.first[i]; h < e.first[i+1]; h++ {
			if e.limits[h] <= r*(1+alike) {
				s.Bottleneck[f], s.Limits[f] = e.links[e.hops[h]].id, LimitLink
				break
			}
		}
	}
	for i := range e.links {
		e.explain(&e.links[i], s)
		if e.links[i].over {
			pt.over = append(pt.over, e.links[i].id)
		}
	}
	pt.residual, pt.rough = e.residual, e.rough
}

// explain names the caps, guarantees and floors among the limits of a link's flows.
func (e *engine) explain(lk *link, s *Solution) {
	set := func(k int32, l Limit) {
		f := e.flows[e.members[k].flow]
		if s.Bottleneck[f] == lk.id && l != LimitLink {
			s.Limits[f] = l
		}
	}
	for i := lk.gfirst; i < lk.glast; i++ {
		if g := &e.groups[i]; g.bound != LimitLink {
			first, last := g.first, g.last
			if !g.leaf {
				first, last = e.classes[first].first, e.classes[last-1].last
			}
			for k := first; k < last; k++ {
				set(k, g.bound)
			}
		}
	}
	if e.floors == nil {
		return
	}
	ms := e.members[lk.first:lk.last]
	u, out, bounds := e.u[:len(ms)], e.out[:len(ms)], make([]Limit, len(ms))
	for i := range ms {
		u[i] = min(lk.capacity, e.elsewhere(&ms[i]))
	}
	divideFloors(ms, e.floors[lk.first:lk.last], u, out, lk.capacity, bounds)
	for i, b := range bounds {
		set(lk.first+int32(i), b)
	}
}
