package model

import (
	"slices"

	"fairlane/policy/fill"
	"fairlane/subnet"
)

// The largest price assumed of a link that limits no flow: maxSparePrice where the predicted rates leave nothing of its capacity free, falling to
// zero where they leave minUnmarkedSpare. In simulations such links, with 0.85, 1.7, 3.3 and 4.9 % free, had up to 49, 31, 9 and 0 % of the price
// that their flows met on InfiniBand, and 78, 67, 43 and 27 % on RoCE (docs/compiler.md, Error bounds).
const (
	maxSparePrice, minUnmarkedSpare         = 0.6, 0.05
	maxSparePriceRoCE, minUnmarkedSpareRoCE = 0.9, 0.07
)

// sparePrice returns the price of a link with a free part of its capacity.
func (m *Model) sparePrice(free float64) float64 {
	most, none := maxSparePrice, minUnmarkedSpare
	if m.Plane == subnet.PlaneRoCE {
		most, none = maxSparePriceRoCE, minUnmarkedSpareRoCE
	}
	return max(minPrice, float64(most*(1-max(0, free)/none)))
}

// SpareRange returns, by tenant, the relative distance of its rate from the prediction because full links that limit no flow mark as well:
// flows that cross no such link gain what the others lose. prices prepares the search for the rates of some flows. nil: zero everywhere.
func (m *Model) SpareRange(a, target *Allocation, w ShareWeights, marks []int32, prices func(w ShareWeights, flows []int32) *Prices) []float64 {
	caps, load := m.capsOf(&w), m.Loads(a.Rates)
	spare := m.SpareLinks(a, fullOf(load, caps), w.Caps)
	for d := range spare {
		spare[d] = spare[d] && !target.Limiting[d]
	}
	if !slices.Contains(spare, true) || !slices.ContainsFunc(marks, func(k int32) bool { return k > 0 }) {
		return nil
	}
	x := prices(w, m.ConnectedFlows(m.QueueingCaps(w.Caps), m.Crosses(spare)))
	for d, on := range spare {
		if on && x.priced[d] {
			x.price[d] = minPrice
		}
	}
	here, there := Allocation{Rates: slices.Clone(a.Rates)}, Allocation{Rates: slices.Clone(a.Rates)}
	x.Run(here.Rates)
	for d, on := range spare {
		if on && x.priced[d] {
			x.least[d] = m.sparePrice(1 - load[d]/caps[d])
		}
	}
	x.Run(there.Rates)
	return m.distances(&here, &there)
}

// SpareLinks flags, of full link directions, those that queue and mark by caps (nil: full capacities) and limit no flow of an allocation. No
// setting determines their marks, and the number of marks is unknown.
func (m *Model) SpareLinks(a *Allocation, full []bool, caps []float64) []bool {
	l, queueing, out := m.Layout(), m.QueueingCaps(caps), make([]bool, len(full))
	for d := range out {
		out[d] = full[d] && !a.Limiting[d] && !l.Sends[d] && queueing[d] < fill.Boundless
	}
	return out
}

// Crosses returns a function that reports whether a flow crosses one of the links.
func (m *Model) Crosses(links []bool) func(i int) bool {
	l := m.Layout()
	return func(i int) bool {
		return slices.ContainsFunc(l.Hops[l.First[i]:l.First[i+1]], func(d int32) bool { return links[d] })
	}
}
