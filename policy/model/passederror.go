package model

import "math"

// PassedOnErrors returns, by flow, the relative error that other flows pass on to it: a flow that only one link limits gets the rest of that
// link. off returns the error of a flow itself in two parts: alike, which adds up because all such flows get less than predicted, and apart,
// which is independent of other flows. limited reports whether a flow has a bottleneck that counts; a flow with a bottleneck and no error of
// its own gets the rest there.
func (m *Model) PassedOnErrors(target *Allocation, off func(f int32) (alike, spread float64), limited func(f int32) bool) []float64 {
	links := len(m.Caps)
	sum, squares, rest := make([]float64, links), make([]float64, links), make([]float64, links)
	l, takes := m.Layout(), make([]bool, len(target.Rates))
	for i, r := range target.Rates {
		alike, spread := off(int32(i))
		if alike+spread == 0 {
			if takes[i] = limited(int32(i)); takes[i] {
				rest[target.Bottleneck[i]] += r
			}
			continue
		}
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			sum[d] += float64(alike * r)
			squares[d] += float64(float64(spread*r) * float64(spread*r))
		}
	}
	out := make([]float64, len(takes))
	for i, ok := range takes {
		if ok {
			d := target.Bottleneck[i]
			out[i] = (sum[d] + math.Sqrt(squares[d])) / max(rest[d], 1)
		}
	}
	return out
}

// MeanByTenant returns the mean by tenant of a value of flows, weighted by the rates of an allocation.
func (m *Model) MeanByTenant(a *Allocation, ofFlow []float64) []float64 {
	rates, out := m.byTenant(a), make([]float64, len(m.Tenants))
	for i, t := range m.Layout().Tenant {
		out[t] += float64(a.Rates[i] * ofFlow[i])
	}
	for t := range out {
		out[t] /= max(rates[t], 1)
	}
	return out
}
