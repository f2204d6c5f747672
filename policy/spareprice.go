package policy

import (
	"slices"

	"fairlane/policy/fill"
)

// The largest price assumed of a link that limits no flow: spareMost where nothing of its capacity is free by the rates predicted, falling to nothing
// where spareNone is. In simulations such links, with 0.85, 1.7, 3.3 and 4.9 % free, had up to 49, 31, 9 and 0 % of the price that their flows met on
// InfiniBand, and 78, 67, 43 and 27 % on RoCE (docs/compiler.md, Error bounds).
const (
	spareMost, spareNone         = 0.6, 0.05
	spareMostRoCE, spareNoneRoCE = 0.9, 0.07
)

// sparePrice is that of a link of which a part is free.
func (m *model) sparePrice(free float64) float64 {
	most, none := spareMost, spareNone
	if m.plane == PlaneRoCE {
		most, none = spareMostRoCE, spareNoneRoCE
	}
	return max(leastPrice, float64(most*(1-max(0, free)/none)))
}

// spareRange is by tenant how far its rate may be from a prediction, relative, because full links that limit no flow mark as well: flows that cross
// no such link gain what the others lose. prices prepares the search for some flows' rates. nil: nowhere.
func (m *model) spareRange(a, target *allocation, w shareWeights, marks []int32, prices func(w shareWeights, flows []int32) *prices) []float64 {
	caps, load := m.capsOf(&w), m.loads(a.rates)
	spare := m.spareLinks(a, fullOf(load, caps), w.caps)
	for d := range spare {
		spare[d] = spare[d] && !target.limiting[d]
	}
	if !slices.Contains(spare, true) || !slices.ContainsFunc(marks, func(k int32) bool { return k > 0 }) {
		return nil
	}
	x := prices(w, m.joined(m.feedable(w.caps), m.over(spare)))
	for d, on := range spare {
		if on && x.priced[d] {
			x.price[d] = leastPrice
		}
	}
	here, there := allocation{rates: slices.Clone(a.rates)}, allocation{rates: slices.Clone(a.rates)}
	x.run(here.rates)
	for d, on := range spare {
		if on && x.priced[d] {
			x.least[d] = m.sparePrice(1 - load[d]/caps[d])
		}
	}
	x.run(there.rates)
	return m.distances(&here, &there)
}

// spareLinks are, of full link directions, those that queue and mark by their capacities, nil: all that they carry, and limit no flow of an allocation.
// Their marks are in no setting, and how many they are is not known.
func (m *model) spareLinks(a *allocation, full []bool, caps []float64) []bool {
	l, feedable, out := m.lay(), m.feedable(caps), make([]bool, len(full))
	for d := range out {
		out[d] = full[d] && !a.limiting[d] && !l.sends[d] && feedable[d] < fill.Boundless
	}
	return out
}

// over reports whether a flow crosses one of the links.
func (m *model) over(links []bool) func(i int) bool {
	l := m.lay()
	return func(i int) bool {
		return slices.ContainsFunc(l.hops[l.first[i]:l.first[i+1]], func(d int32) bool { return links[d] })
	}
}
