package policy

import (
	"slices"

	"fairlane/ccconfig/dcqcn"
)

// predict is what the settings are expected to give.
func (s *roceSettings) predict() (f forecast) {
	w := shareWeights{marked: s.weights, sending: s.turns, caps: s.m.dataCaps(s.target, dcqcn.AckShare)}
	if f.allocation = s.m.shareByWeight(w); f.err != nil {
		return f
	}
	priced := len(s.m.flows) <= pricedFlows
	if priced && s.several() {
		s.prices(w, numbered(len(s.m.flows))).run(f.rates)
	}
	f.circles = s.m.circleRange(f.allocation, w)
	if priced {
		f.spare = s.m.spareRange(f.allocation, s.target, w, s.marks, s.prices)
	}
	return f
}

// prices prepares the search for the marks that flows meet.
func (s *roceSettings) prices(w shareWeights, flows []int32) *prices {
	x := s.m.newPrices(w, s.profile.Lever.Decline, nil, flows)
	x.decline = make([]float64, len(x.full))
	for _, i := range flows {
		x.full[i] = float64(s.weights[i] * s.crowd(i))
		x.decline[i] = s.ports[s.ofFlow[i]].decline
	}
	return x
}

// several reports whether marks must be found like prices: a flow meets those of several links, or a port's flows, with one set of registers, want different rates.
func (s *roceSettings) several() bool {
	if slices.ContainsFunc(s.marks, func(k int32) bool { return k > 1 }) {
		return true
	}
	for i := range s.ports {
		if s.ports[i].spread > sharedSpread {
			return true
		}
	}
	return false
}
