package policy

import (
	"slices"

	"fairlane/policy/fill"
)

// spareMarks is the largest price assumed of a nearly full link that limits no flow. In a simulation such a link, at 98 % of its capacity by
// entitlements, marked 0.4 of what a limiting link marks in the mean (docs/compiler.md, Error bounds).
const spareMarks = 0.4

// spareRange is by tenant how far its rate may be from a prediction, relative, because full links that limit no flow mark as well: flows that cross
// no such link gain what the others lose. nil: nowhere.
func (s *settings) spareRange(a *allocation, w shareWeights) []float64 {
	spare := s.m.spareLinks(a, s.m.fullLinks(a))
	for d := range spare {
		spare[d] = spare[d] && !s.target.limiting[d]
	}
	if !slices.Contains(spare, true) || !slices.ContainsFunc(s.marks, func(k int32) bool { return k > 0 }) {
		return nil
	}
	x := s.prices(w, s.m.joined(s.m.feedable(nil), s.m.over(spare)))
	for d, on := range spare {
		if on {
			x.least[d] = spareMarks
		}
	}
	there := allocation{rates: slices.Clone(a.rates)}
	x.run(there.rates)
	return s.m.distances(a, &there)
}

// spareLinks are the full link directions that queue and mark and limit no flow of an allocation. Their marks are in no setting, and how many they are
// is not known.
func (m *model) spareLinks(a *allocation, full []bool) []bool {
	l, caps, out := m.lay(), m.feedable(nil), make([]bool, len(full))
	for d := range out {
		out[d] = full[d] && !a.limiting[d] && !l.sends[d] && caps[d] < fill.Boundless
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
