package wrcc

import (
	"math"

	"fairlane/internal/num"
	"fairlane/policy/fill"
	"fairlane/policy/model"
)

const (
	// turnRounds bounds the search for consistent paces and rounds, and turnRest is the movement at which it ends.
	turnRounds = 300
	turnRest   = 1e-6
	// turnStep damps it: at one link alone the step 1 would be exact at once.
	turnStep = 0.7
	// turnFlows is the number of flows up to which the search is run.
	turnFlows = 3000
	// turnHalvings is the number of bisection steps for the round of a port.
	turnHalvings = 40
)

// turnSearch finds the rates of queue pairs that links pace and that also wait for their turns at a full sending port. Weighted max-min gives
// such a queue pair the lower of the two rates, but it gets less than either. The links that pace it then have room for others, and so has its
// sending port. The search finds the levels of links and the turns of ports at which all of them are full.
type turnSearch struct {
	m *model.Model
	w *model.ShareWeights
	// rate returns the rate of a queue pair of a flow, in bit/s, when its links allow pace (bit/s) and a queue pair that takes all its turns has
	// turn (bit/s).
	rate func(f int32, pace, turn float64) float64

	caps  []float64
	flows []int32           // of the parts that full sending ports belong to
	ports map[int32][]int32 // flows by sending link direction
	links []int32           // links that mark and may fill
	level []float64         // by link direction: rate allowed per unit of weight; 0: unlimited
	load  []float64         // by link direction
	pace  []float64         // by flow: of a queue pair
	rates []float64         // by flow: bit/s
}

// run replaces the rates of the parts of an allocation that contain ports. It reports whether levels and rounds agree; parts of more than
// turnFlows flows remain unchanged.
func (x *turnSearch) run(a *model.Allocation, ports []int32) bool {
	if len(ports) == 0 {
		return true
	}
	l, at := x.m.Layout(), make([]bool, len(x.m.Caps))
	for _, d := range ports {
		at[d] = true
	}
	x.caps = x.m.QueueingCaps(x.w.Caps)
	x.flows = x.m.ConnectedFlows(x.caps, func(i int) bool { return at[l.Hops[l.First[i]]] })
	if len(x.flows) > turnFlows {
		return false
	}
	x.begin(a)
	rest := false
	for range turnRounds {
		if rest = x.send() < turnRest && x.fits(); rest {
			break
		}
		x.raise()
	}
	x.m.ScaleToCapacity(x.flows, x.caps, x.load, x.rates)
	for _, f := range x.flows {
		a.Rates[f] = x.rates[f]
	}
	return rest
}

// begin starts with the levels of an allocation. Links that limit no flow start at twice what their flows need.
func (x *turnSearch) begin(a *model.Allocation) {
	l, links, flows := x.m.Layout(), len(x.m.Caps), len(x.m.Flows)
	x.ports, x.level, x.load = make(map[int32][]int32), make([]float64, links), make([]float64, links)
	x.pace, x.rates = make([]float64, flows), make([]float64, flows)
	limits := make([]bool, links)
	for _, f := range x.flows {
		hops := l.Hops[l.First[f]:l.First[f+1]]
		x.ports[hops[0]] = append(x.ports[hops[0]], f)
		if x.w.Marked[f] <= 0 {
			continue
		}
		level := a.Rates[f] / x.w.Marked[f]
		for _, d := range hops {
			if l.Sends[d] || x.caps[d] >= fill.Boundless {
				continue
			}
			if x.level[d] == 0 {
				x.links = append(x.links, d)
			}
			switch {
			case a.Bottleneck[f] == d:
				x.level[d], limits[d] = level, true
			case !limits[d]:
				x.level[d] = max(x.level[d], float64(2*level))
			}
		}
	}
}

// send sets each flow's rate to what levels and turns allow, and returns the largest relative movement.
func (x *turnSearch) send() (moved float64) {
	l := x.m.Layout()
	for _, f := range x.flows {
		level := math.Inf(1)
		for _, d := range l.Hops[l.First[f]:l.First[f+1]] {
			if x.load[d] = 0; x.level[d] > 0 {
				level = min(level, x.level[d])
			}
		}
		pace := float64(x.w.Marked[f] * level)
		if x.w.Floors != nil {
			pace = max(pace, x.w.Floors[f])
		}
		if l.Demand[f] > 0 {
			pace = min(pace, l.Demand[f])
		}
		if x.w.Ceilings != nil && x.w.Ceilings[f] > 0 {
			pace = min(pace, x.w.Ceilings[f])
		}
		x.pace[f] = max(pace/l.QPs[f], 1)
	}
	for _, f := range x.flows {
		d := l.Hops[l.First[f]]
		if flows := x.ports[d]; flows[0] == f {
			moved = max(moved, x.takeTurns(d, flows))
		}
	}
	for _, f := range x.flows {
		for _, d := range l.Hops[l.First[f]:l.First[f+1]] {
			x.load[d] += x.rates[f]
		}
	}
	return moved
}

// takeTurns finds the turn of a port by bisection: the largest at which the port carries the rates of its flows.
func (x *turnSearch) takeTurns(d int32, flows []int32) (moved float64) {
	l := x.m.Layout()
	sum := func(turn float64) (rate float64) {
		for _, f := range flows {
			rate += float64(l.QPs[f] * x.rate(f, x.pace[f], turn))
		}
		return rate
	}
	line := x.m.Caps[d]
	turn := line
	if limit := min(x.caps[d], line); sum(line) > limit {
		qps := 0.0
		for _, f := range flows {
			qps += l.QPs[f]
		}
		low, high := num.Ln(limit/max(qps, 1)), num.Ln(line)
		for range turnHalvings {
			if mid := (low + high) / 2; sum(num.Exp(mid)) > limit {
				high = mid
			} else {
				low = mid
			}
		}
		turn = num.Exp(low)
	}
	for _, f := range flows {
		r := float64(l.QPs[f] * x.rate(f, x.pace[f], turn))
		moved = max(moved, math.Abs(r-x.rates[f])/max(r, 1))
		x.rates[f] = r
	}
	return moved
}

// raise raises the levels of links that are not full, and lowers the others.
func (x *turnSearch) raise() {
	for _, d := range x.links {
		over := min(max(x.caps[d]/max(x.load[d], 1), 0.25), 4)
		x.level[d] = float64(x.level[d] * num.Exp(float64(turnStep*num.Ln(over))))
	}
}

// fits reports whether no link exceeds its capacity.
func (x *turnSearch) fits() bool {
	for _, d := range x.links {
		if x.load[d] > x.caps[d]*(1+1e-4) {
			return false
		}
	}
	return true
}
