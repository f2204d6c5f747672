package policy

import (
	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/num"
	"fairlane/policy/fill"
)

// Where flows meet the marks of several links, and ports send to several bottlenecks with one set of
// registers, the flat weighted max-min allocation is too coarse: a flow answers the sum of all the marks it
// meets. Marks are then found like prices: each link marks as much as keeps its load at its
// capacity, or not at all.
const (
	// priceRounds bounds the search, and pricedFlows the flows for which it is worth its time.
	priceRounds = 160
	pricedFlows = 20_000
	// priceStep damps it: at one link alone the step 1 would be exact at once.
	priceStep = 0.7
	// leastPrice stands for none.
	leastPrice = 1e-9
)

// prices is the search for the marks of all links, in units of what a link marks whose flows have the
// rates that they are meant to have.
type prices struct {
	s      *roceSettings
	data   []float64 // bit/s that links carry beside acknowledgements
	caps   []float64 // of those that can fill; see feedable
	price  []float64 // by link direction; of those that mark and can queue
	priced []bool
	load   []float64
	rates  []float64
	full   []float64 // what a flow has at a price of 1
}

// predict is what the settings are expected to give. apart is by tenant how far its rate elsewhere may be, relative, where several sharings are
// at rest; nil: nowhere.
func (s *roceSettings) predict() (a *allocation, apart []float64) {
	w := shareWeights{marked: s.weights, sending: s.turns, caps: s.m.dataCaps(s.target, dcqcn.AckShare)}
	if a = s.m.shareByWeight(w); a.err != nil {
		return a, nil
	}
	if len(s.m.flows) <= pricedFlows && s.several() {
		s.price(a, w.caps)
	}
	return a, s.m.circleRange(a, w)
}

// price replaces the rates of an allocation by those at which the marks of all links agree. data are the capacities of links beside
// acknowledgements.
func (s *roceSettings) price(a *allocation, data []float64) {
	x := &prices{s: s, data: data, caps: s.m.feedable(data), price: make([]float64, len(s.m.caps)), priced: make([]bool, len(s.m.caps)),
		load: make([]float64, len(s.m.caps)), rates: make([]float64, len(s.m.flows)), full: make([]float64, len(s.m.flows))}
	for i := range x.full {
		x.full[i] = float64(s.weights[i] * s.crowd(int32(i)))
		for _, d := range s.m.flows[i].links {
			x.priced[d] = s.m.marks(d) && x.caps[d] < fill.Boundless
		}
	}
	for d := range x.price {
		if x.priced[d] {
			x.price[d] = 1
		}
	}
	for range priceRounds {
		x.send()
		x.mark()
	}
	x.send()
	x.squeeze()
	copy(a.rates, x.rates)
}

// several reports whether a flow meets the marks of several links, or a port's flows want different rates.
func (s *roceSettings) several() bool {
	for _, k := range s.marks {
		if k > 1 {
			return true
		}
	}
	for i := range s.ports {
		if s.ports[i].spread > sharedSpread {
			return true
		}
	}
	return false
}

// send gives every flow the rate that its marks, its demand and its NIC port allow.
func (x *prices) send() {
	m := x.s.m
	for i := range m.flows {
		f := &m.flows[i]
		sum := 0.0
		for _, d := range f.links {
			sum += x.price[d]
		}
		r := float64(x.full[i] * num.Exp(-float64(x.s.ports[x.s.ofFlow[i]].decline*num.Ln(max(sum, leastPrice)))))
		if f.demand > 0 {
			r = min(r, f.demand)
		}
		x.rates[i] = r
	}
	for i := range x.s.ports {
		x.takeTurns(&x.s.ports[i])
	}
	clear(x.load)
	for i := range m.flows {
		for _, d := range m.flows[i].links {
			x.load[d] += x.rates[i]
		}
	}
}

// takeTurns bounds the flows of a port to its line rate: those that want more than their turn divide what the others leave
// by what they count for.
func (x *prices) takeTurns(p *nicPort) {
	turns := x.s.turns
	level, before := 0.0, -1.0
	for level > before {
		left, all := x.data[p.out], 0.0
		for _, f := range p.flows {
			if before >= 0 && x.rates[f] <= float64(level*turns[f]) {
				left -= x.rates[f]
			} else {
				all += turns[f]
			}
		}
		if all == 0 {
			return
		}
		before = max(level, 0)
		level = left / all
	}
	for _, f := range p.flows {
		x.rates[f] = min(x.rates[f], float64(level*turns[f]))
	}
}

// mark lets every link mark more where its load is above its capacity and less where it is below.
func (x *prices) mark() {
	step := priceStep / x.s.profile.Lever.Decline
	for d := range x.price {
		if !x.priced[d] {
			continue
		}
		over := min(max(x.load[d]/x.caps[d], 0.25), 4)
		x.price[d] = max(float64(x.price[d]*num.Exp(float64(step*num.Ln(over)))), leastPrice)
	}
}

// squeeze takes off what the search left above a capacity.
func (x *prices) squeeze() {
	m := x.s.m
	for i := range m.flows {
		worst := 1.0
		for _, d := range m.flows[i].links {
			if x.caps[d] < fill.Boundless {
				worst = max(worst, x.load[d]/x.caps[d])
			}
		}
		x.rates[i] /= worst
	}
}
