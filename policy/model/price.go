package model

import (
	"math"
	"slices"

	"fairlane/internal/num"
	"fairlane/policy/fill"
)

// Where flows meet the marks of several links, the flat weighted max-min allocation is too coarse: a flow reacts to the sum of all marks that
// it meets, and a link that is not full does not mark. Marks are then found like prices: each link marks as much as keeps its load at its
// capacity, or not at all.
const (
	// priceRounds bounds the search. priceRest is the movement at which it ends, relative to the sums that flows meet. PricedFlows is the number
	// of flows up to which the search is run.
	priceRounds = 120
	priceRest   = 1e-6
	PricedFlows = 20_000
	// priceStep damps the search: at one link alone the step 1 would be exact at once. A link's price moves in proportion to itself, or to
	// minPart of the sum that its flows meet if that is more: otherwise the price of a link that hardly marks would hardly move.
	priceStep = 0.7
	minPart   = 0.25
	// minPrice counts as no price.
	minPrice = 1e-9
)

// Prices searches for the marks of all links, in units of the marks of a link whose flows have their intended rates.
type Prices struct {
	m       *Model
	w       ShareWeights
	Flows   []int32   // whose rates are searched
	data    []float64 // bit/s of each link without acknowledgements
	caps    []float64 // of the links that can fill, see QueueingCaps
	price   []float64 // by link direction, for links that mark and can queue
	priced  []bool
	links   []int32   // links with a price
	least   []float64 // least price by link direction
	load    []float64
	yields  []float64 // by link direction: decrease of its load with the sum of prices, in bit/s
	rates   []float64 // by flow
	sums    []float64 // by flow: sum of the prices that it meets
	Full    []float64 // bit/s of a flow at a price of 1
	Decline []float64 // by flow: its rate is proportional to price^-decline; nil: price^-1
	step    float64
	turns   []float64
	senders []sender
}

// sender is a link direction that an adapter port drives, with the flows that it sends.
type sender struct {
	out   int32
	flows []int32
}

// NewPrices prepares a search for the rates of flows. Prices start at 1 on limiting links, or on all links if limiting is nil. Rates are
// proportional to about price^-decline; the caller sets Full.
func (m *Model) NewPrices(w ShareWeights, decline float64, limiting []bool, flows []int32) *Prices {
	l, links := m.Layout(), len(m.Caps)
	x := &Prices{m: m, w: w, Flows: flows, data: m.capsOf(&w), turns: w.Sending, step: priceStep / decline,
		price: make([]float64, links), priced: make([]bool, links), least: slices.Repeat([]float64{minPrice}, links), load: make([]float64, links), yields: make([]float64, links),
		rates: make([]float64, len(m.Flows)), sums: make([]float64, len(m.Flows)), Full: make([]float64, len(m.Flows))}
	if x.turns == nil {
		x.turns = l.QPs
	}
	x.caps = m.QueueingCaps(w.Caps)
	at := make([]int32, links) // sender, from 1
	for _, i := range flows {
		hops := l.Hops[l.First[i]:l.First[i+1]]
		if at[hops[0]] == 0 {
			x.senders = append(x.senders, sender{out: hops[0]})
			at[hops[0]] = int32(len(x.senders))
		}
		s := &x.senders[at[hops[0]]-1]
		s.flows = append(s.flows, i)
		for _, d := range hops {
			if !l.Sends[d] && x.caps[d] < fill.Boundless && !x.priced[d] {
				x.priced[d], x.price[d] = true, minPrice
				if limiting == nil || limiting[d] {
					x.price[d] = 1
				}
				x.links = append(x.links, d)
			}
		}
	}
	return x
}

// Run replaces the rates of flows by those at which the marks of all links agree.
func (x *Prices) Run(rates []float64) {
	for range priceRounds {
		x.send()
		if x.mark() < priceRest {
			break
		}
	}
	x.send()
	x.m.ScaleToCapacity(x.Flows, x.caps, x.load, x.rates)
	for _, i := range x.Flows {
		rates[i] = x.rates[i]
	}
}

// send sets every flow's rate to what its marks, its demand and its NIC port allow.
func (x *Prices) send() {
	l := x.m.Layout()
	for _, i := range x.Flows {
		sum := 0.0
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			sum += x.price[d]
		}
		sum = max(sum, minPrice)
		r := x.Full[i] / sum
		if x.Decline != nil {
			r = float64(x.Full[i] * num.Exp(-float64(x.Decline[i]*num.Ln(sum))))
		}
		if x.w.Floors != nil {
			r = max(r, x.w.Floors[i])
		}
		if l.Demand[i] > 0 {
			r = min(r, l.Demand[i])
		}
		if x.w.Ceilings != nil && x.w.Ceilings[i] > 0 {
			r = min(r, x.w.Ceilings[i])
		}
		x.rates[i], x.sums[i] = r, sum
	}
	for i := range x.senders {
		x.takeTurns(&x.senders[i])
	}
	clear(x.load)
	clear(x.yields)
	for _, i := range x.Flows {
		r := x.rates[i]
		yields := r / max(x.sums[i], x.Full[i]/max(r, 1)) // a flow that waits for turns yields once marks would hold it at the same rate
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			x.load[d] += r
			x.yields[d] += yields
		}
	}
}

// takeTurns bounds the flows of a port to its line rate: flows that want more than their turn divide what the others leave, by their sending
// weights.
func (x *Prices) takeTurns(s *sender) {
	level, before := 0.0, -1.0
	for level > before {
		left, all := x.data[s.out], 0.0
		for _, f := range s.flows {
			if before >= 0 && x.rates[f] <= float64(level*x.turns[f]) {
				left -= x.rates[f]
			} else {
				all += x.turns[f]
			}
		}
		if all == 0 {
			return
		}
		before = max(level, 0)
		level = left / all
	}
	for _, f := range s.flows {
		x.rates[f] = min(x.rates[f], float64(level*x.turns[f]))
	}
}

// mark raises the price of every link whose load exceeds its capacity and lowers the others. It returns the largest movement, relative to the
// sums that flows meet there.
func (x *Prices) mark() (moved float64) {
	for _, d := range x.links {
		was, meeting := x.price[d], x.load[d]/max(x.yields[d], math.SmallestNonzeroFloat64)
		over := min(max(x.load[d]/x.caps[d], 0.25), 4)
		// The step's part of ln(over), and exp(log)-1, both to the third order.
		log := float64(2*x.step*(over-1)) / (over + 1)
		more := log / (1 - log/2)
		x.price[d] = max(was+float64(max(was, float64(minPart*meeting))*more), x.least[d])
		moved = max(moved, math.Abs(x.price[d]-was)/max(meeting, minPrice))
	}
	return moved
}
