package roce

import (
	"slices"

	"fairlane/ccconfig/dcqcn"
	"fairlane/policy/model"
)

// predict returns the predicted effect of the settings.
func (s *Settings) predict() (f model.Forecast) {
	if s.classes != nil {
		f.Allocation = s.predictByQueue()
		return f
	}
	w := model.ShareWeights{Marked: s.weights, Sending: s.turns, Caps: s.m.DataCaps(s.target, dcqcn.AckShare)}
	if f.Allocation = s.m.ShareByWeight(w); f.Err != nil {
		return f
	}
	priced := len(s.m.Flows) <= model.PricedFlows
	if priced && s.needsPrices() {
		s.prices(w, model.Indices(len(s.m.Flows))).Run(f.Rates)
	}
	f.Cycles = s.m.CycleRange(f.Allocation, w)
	if priced {
		f.Spare = s.m.SpareRange(f.Allocation, s.target, w, s.marks, s.prices)
	}
	return f
}

// predictByQueue is predict where queues divide links. Within a queue, the settings of DCQCN do.
func (s *Settings) predictByQueue() *model.Allocation {
	of := make([]int32, len(s.m.Flows))
	for i := range of {
		of[i] = s.classes.of[s.m.Flows[i].Tenant]
	}
	return s.m.ShareByQueue(model.QueueWeights{
		Classes: s.queues(), Class: of, Weight: s.classes.weight, Marked: s.weights, Sending: s.turns, Caps: s.m.DataCaps(s.target, dcqcn.AckShare),
	})
}

// prices prepares the search for the marks that flows meet.
func (s *Settings) prices(w model.ShareWeights, flows []int32) *model.Prices {
	x := s.m.NewPrices(w, s.profile.Lever.Decline, nil, flows)
	x.Decline = make([]float64, len(x.Full))
	for _, i := range flows {
		x.Full[i] = float64(s.weights[i] * s.markCompensation(i))
		x.Decline[i] = s.ports[s.ofFlow[i]].decline
	}
	return x
}

// needsPrices reports whether marks must be found like prices: a flow meets those of several links, or flows of a port, which has one set of
// registers, want different rates.
func (s *Settings) needsPrices() bool {
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
