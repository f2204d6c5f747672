package model

import (
	"math"
	"slices"
)

// boundHash is what a prediction is less sure of where a hash chooses paths, in standard deviations of what meets on one path; a
// tenant's rate, over several, varies less than that. It was chosen so that 95 of 100 tenants are within their bounds of what is
// predicted once the paths are told (TestBoundsCoverHashes of sim/lab/evaluate).
const boundHash = 0.7

// HashErrors is, by tenant, how much of a prediction is chance because a hash that nobody told chooses the paths of
// queue pairs, its own and those of the tenants that it meets. Of n queue pairs that spread over w paths, a path has
// n/w ± sqrt(n/w·(1-1/w)), relative sqrt((w-1)/n). Aggregates are independent, and count by their rates.
func (m *Model) HashErrors(target *Allocation) []float64 {
	out := make([]float64, len(m.Tenants))
	if !slices.ContainsFunc(m.Flows, func(f Flow) bool { return f.choices > 1 }) {
		return out
	}
	l := m.Parts()
	rates, byInput := make([]float64, len(m.Tenants)), make([]float64, len(m.Input.Flows))
	has, variance := make([]float64, len(l.carries)), make([]float64, len(l.carries)) // of what a tenant has on a link
	for first := 0; first < len(m.Flows); {
		last := m.aggregateEnd(first)
		t := m.Flows[first].Tenant
		scale, own := m.varianceOf(first, last, target, byInput)
		out[t] += own
		for i := first; i < last; i++ {
			x, spread := target.Rates[i], float64(scale*m.spreadOf(i))
			rates[t] += x
			for _, k := range l.partOf[l.First[i]:l.First[i+1]] {
				has[k] += x
				variance[k] += float64(x * x * spread)
			}
		}
		first = last
	}
	for d, limiting := range target.Limiting {
		if limiting {
			first, last := l.FirstPart[d], l.FirstPart[d+1]
			addMet(out, l.carries[first:last], has[first:last], variance[first:last], m.Caps[d])
		}
	}
	for t := range out {
		if rates[t] > 0 {
			out[t] = float64(boundHash*math.Sqrt(out[t])) / rates[t]
		}
	}
	return out
}

// addMet adds to the tenants' variances what those that they meet on a full link do: a tenant with the part s of its capacity loses s·d
// there when the others have d more than is to be expected.
func addMet(variances []float64, on []Carried, has, variance []float64, capacity float64) {
	all := 0.0
	for _, v := range variance {
		all += v
	}
	for k := range on {
		part := has[k] / capacity
		variances[on[k].tenant] += float64(part * part * (all - variance[k]))
	}
}

// aggregateEnd is the end of the flows that have tenant, class and ports in common with flow i.
func (m *Model) aggregateEnd(i int) int {
	last := i + 1
	for last < len(m.Flows) && m.Flows[i].sameAggregate(&m.Flows[last]) {
		last++
	}
	return last
}

// spreadOf is the relative variance of how many queue pairs of a flow's aggregate are on one of its paths; 0 where the path is known.
func (m *Model) spreadOf(i int) float64 {
	f := &m.Flows[i]
	return float64(f.choices-1) / float64(m.Input.Flows[f.Index].QPs)
}

// varianceOf is the variance of what the flows first to last have together, which are of one tenant, class and pair of ports, and
// by what their spreads are too large: of a few queue pairs on many paths not more varies than there is. byInput has a zero for
// each aggregate, and has it again after.
func (m *Model) varianceOf(first, last int, target *Allocation, byInput []float64) (scale, variance float64) {
	all := 0.0 // whose paths are not known
	for i := first; i < last; i++ {
		if f := &m.Flows[i]; f.choices > 1 {
			byInput[f.Index] += target.Rates[i]
			all += target.Rates[i]
		}
	}
	for i := first; i < last; i++ {
		r := &byInput[m.Flows[i].Index]
		variance += float64(*r * *r * m.spreadOf(i))
		*r = 0
	}
	if most := float64(all * all); variance > most {
		return most / variance, most
	}
	return 1, variance
}
