package policy

import (
	"math"

	"fairlane/internal/disjoint"
	"fairlane/internal/num"
	"fairlane/policy/fill"
)

const (
	// turnRounds bounds the search for paces and rounds that agree, and turnRest is the movement at which they do.
	turnRounds = 300
	turnRest   = 1e-6
	// turnStep damps it: at one link alone the step 1 would be exact at once.
	turnStep = 0.7
	// turnFlows bounds the flows for which it is worth its time.
	turnFlows = 3000
	// turnHalvings is how finely the round of a port is found.
	turnHalvings = 40
)

// turnSearch finds what queue pairs get that links pace and that wait for their turns at a full sending port as well. Weighted max-min
// gives such a queue pair the lower of the two rates, and it gets less than either. The links that pace it then have room for others, and
// so has its sending port. The search finds the levels of links and the turns of ports at which all of them are full.
type turnSearch struct {
	m *model
	w *shareWeights
	// rate is what a queue pair of a flow gets, in bit/s, whose links let a pace (bit/s) through, where a queue pair that takes all its
	// turns has turn (bit/s).
	rate func(f int32, pace, turn float64) float64

	caps  []float64
	flows []int32           // of the parts that full sending ports belong to
	ports map[int32][]int32 // flows by sending link direction
	level map[int32]float64 // by link direction that marks and may fill: what it lets through for each unit of weight
	load  map[int32]float64
	pace  map[int32]float64 // by flow: of a queue pair
	rates map[int32]float64 // by flow: bit/s
}

// run replaces the rates of the parts of an allocation that ports belong to. It reports whether levels and rounds agree; parts of
// more than turnFlows flows are left as they are.
func (x *turnSearch) run(a *allocation, ports []int32) bool {
	if len(ports) == 0 {
		return true
	}
	x.caps = x.m.feedableCaps()
	if x.w.caps != nil {
		x.caps = x.m.feedable(x.w.caps)
	}
	x.ports, x.level, x.load = make(map[int32][]int32), make(map[int32]float64), make(map[int32]float64)
	x.pace, x.rates = make(map[int32]float64), make(map[int32]float64)
	if x.gather(a, ports); len(x.flows) > turnFlows {
		return false
	}
	rest := false
	for range turnRounds {
		if rest = x.send() < turnRest && x.fits(); rest {
			break
		}
		x.raise()
	}
	x.squeeze()
	for f, r := range x.rates {
		a.rates[f] = r
	}
	return rest
}

// gather lists the flows that links join with the ports, and begins with the levels of the allocation.
func (x *turnSearch) gather(a *allocation, ports []int32) {
	l := x.m.lay()
	sets := disjoint.New(len(x.m.caps))
	for i := range x.m.flows {
		hops := l.hops[l.first[i]:l.first[i+1]]
		for _, d := range hops[1:] {
			if x.caps[d] < fill.Boundless {
				sets.Join(hops[0], d)
			}
		}
	}
	part := make(map[int32]bool)
	for _, d := range ports {
		part[sets.Find(d)] = true
	}
	loose := make(map[int32]float64)
	for i := range x.m.flows {
		hops := l.hops[l.first[i]:l.first[i+1]]
		if !part[sets.Find(hops[0])] {
			continue
		}
		f := int32(i)
		x.flows = append(x.flows, f)
		x.ports[hops[0]] = append(x.ports[hops[0]], f)
		if x.w.marked[f] <= 0 {
			continue
		}
		level := a.rates[i] / x.w.marked[f]
		for _, d := range hops {
			if !l.sends[d] && x.caps[d] < fill.Boundless {
				loose[d] = max(loose[d], float64(2*level))
			}
		}
		if d := a.bottleneck[i]; d >= 0 && !l.sends[d] {
			x.level[d] = level
		}
	}
	for d, v := range loose { // links that limit no flow let all of them through twice
		if _, ok := x.level[d]; !ok {
			x.level[d] = v
		}
	}
}

// send gives each flow what levels and turns allow, and returns by how much the rates moved, relative.
func (x *turnSearch) send() (moved float64) {
	l := x.m.lay()
	clear(x.load)
	for _, f := range x.flows {
		level := math.Inf(1)
		for _, d := range l.hops[l.first[f]:l.first[f+1]] {
			if v, ok := x.level[d]; ok {
				level = min(level, v)
			}
		}
		pace := float64(x.w.marked[f] * level)
		if x.w.floors != nil {
			pace = max(pace, x.w.floors[f])
		}
		if l.demand[f] > 0 {
			pace = min(pace, l.demand[f])
		}
		if x.w.ceilings != nil && x.w.ceilings[f] > 0 {
			pace = min(pace, x.w.ceilings[f])
		}
		x.pace[f] = max(pace/l.qps[f], 1)
	}
	for _, f := range x.flows {
		d := l.hops[l.first[f]]
		if flows := x.ports[d]; flows[0] == f {
			moved = max(moved, x.takeTurns(d, flows))
		}
	}
	for _, f := range x.flows {
		for _, d := range l.hops[l.first[f]:l.first[f+1]] {
			x.load[d] += x.rates[f]
		}
	}
	return moved
}

// takeTurns finds the turn of a port by bisection: the largest at which it carries what its flows get.
func (x *turnSearch) takeTurns(d int32, flows []int32) (moved float64) {
	l := x.m.lay()
	sum := func(turn float64) (rate float64) {
		for _, f := range flows {
			rate += float64(l.qps[f] * x.rate(f, x.pace[f], turn))
		}
		return rate
	}
	line := x.m.caps[d]
	turn := line
	if limit := min(x.caps[d], line); sum(line) > limit {
		qps := 0.0
		for _, f := range flows {
			qps += l.qps[f]
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
		r := float64(l.qps[f] * x.rate(f, x.pace[f], turn))
		moved = max(moved, math.Abs(r-x.rates[f])/max(r, 1))
		x.rates[f] = r
	}
	return moved
}

// raise has links that are not full let more through, and others less.
func (x *turnSearch) raise() {
	for d, v := range x.level {
		over := min(max(x.caps[d]/max(x.load[d], 1), 0.25), 4)
		x.level[d] = float64(v * num.Exp(float64(turnStep*num.Ln(over))))
	}
}

// fits reports whether no link carries more than it can.
func (x *turnSearch) fits() bool {
	for d := range x.level {
		if x.load[d] > x.caps[d]*(1+1e-4) {
			return false
		}
	}
	return true
}

// squeeze takes off what the search left above a capacity.
func (x *turnSearch) squeeze() {
	l := x.m.lay()
	for _, f := range x.flows {
		worst := 1.0
		for _, d := range l.hops[l.first[f]:l.first[f+1]] {
			if x.caps[d] < fill.Boundless {
				worst = max(worst, x.load[d]/x.caps[d])
			}
		}
		x.rates[f] /= worst
	}
}

// fullSenders are the sending link directions that an allocation fills and of which accept takes the rate, in bit/s, of a queue pair that
// takes all its turns.
func (m *model) fullSenders(a *allocation, accept func(turn float64) bool) []int32 {
	l := m.lay()
	var out []int32
	turn, load := make([]float64, len(m.caps)), make([]float64, len(m.caps))
	for i, r := range a.rates {
		d := l.hops[l.first[i]]
		load[d] += r
		turn[d] = max(turn[d], r/l.qps[i])
	}
	for d := range m.caps {
		if load[d] > 0 && load[d] >= float64(fullSending*m.caps[d]) && accept(turn[d]) {
			out = append(out, int32(d))
		}
	}
	return out
}

// fullSending is the part of its capacity from which on a sending port has queue pairs wait.
const fullSending = 0.98
