package model

import (
	"math"
	"slices"
)

// boundHash is the error of a prediction due to path hashing, in standard deviations of the load of one path. A tenant's rate spans several
// paths and varies less. The factor puts 95 of 100 tenants within their bounds of the prediction made with the paths known
// (TestBoundsCoverHashes of sim/lab/evaluate).
const boundHash = 0.7

// HashErrors returns, by tenant, the error contribution of unknown path hashing: of its own queue pairs and of those of the tenants that it
// meets. When n queue pairs spread over w paths, a path carries n/w ± sqrt(n/w·(1-1/w)), relative sqrt((w-1)/n). Aggregates are independent
// and weighted by their rates.
func (m *Model) HashErrors(target *Allocation) []float64 {
	out := make([]float64, len(m.Tenants))
	if !slices.ContainsFunc(m.Flows, func(f Flow) bool { return f.choices > 1 }) {
		return out
	}
	l := m.Parts()
	rates, byInput := make([]float64, len(m.Tenants)), make([]float64, len(m.Input.Flows))
	has, variance := make([]float64, len(l.carries)), make([]float64, len(l.carries)) // of a tenant's rate on a link
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

// addMet adds to the tenants' variances those of the tenants that they meet on a full link. A tenant with the part s of the capacity loses s·d
// there when the others exceed their mean by d.
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

// aggregateEnd returns the end of the run of flows that share tenant, class and ports with flow i.
func (m *Model) aggregateEnd(i int) int {
	last := i + 1
	for last < len(m.Flows) && m.Flows[i].sameAggregate(&m.Flows[last]) {
		last++
	}
	return last
}

// spreadOf returns the relative variance of the number of queue pairs that a flow's aggregate has on one of its paths; 0 where the path is
// known.
func (m *Model) spreadOf(i int) float64 {
	f := &m.Flows[i]
	return float64(f.choices-1) / float64(m.Input.Flows[f.Index].QPs)
}

// varianceOf returns the variance of the total rate of flows first to last, which share tenant, class and both ports. scale is the factor
// that keeps it within the square of the total: with few queue pairs on many paths, no more than the total can vary. byInput holds a zero for
// each aggregate, before and after the call.
func (m *Model) varianceOf(first, last int, target *Allocation, byInput []float64) (scale, variance float64) {
	all := 0.0 // rate of the flows whose paths are unknown
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
