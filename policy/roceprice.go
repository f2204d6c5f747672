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
	if len(s.m.flows) <= pricedFlows && s.several() {
		x := s.m.newPrices(w, s.profile.Lever.Decline, nil, numbered(len(s.m.flows)))
		x.decline = make([]float64, len(x.full))
		for i := range x.full {
			x.full[i] = float64(s.weights[i] * s.crowd(int32(i)))
			x.decline[i] = s.ports[s.ofFlow[i]].decline
		}
		x.run(f.rates)
	}
	f.circles = s.m.circleRange(f.allocation, w)
	return f
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
