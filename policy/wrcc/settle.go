package wrcc

import (
	"math"

	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// minMoved is the smallest part of a port's capacity that its fair rate is assumed to move: with less, shares move little.
const minMoved = 0.02

// settleTime is the time that shares need near rest.
type settleTime struct {
	time float64 // seconds, of the slowest
	port int32   // link direction of the slowest port; -1: only its domain counts
	part float64 // of the port's capacity, moved by its fair rate; at least minMoved
}

// settle returns the time of the slowest domain in use and of its full ports. Where the fair rate of a port moves only part of its load, it
// must move further in proportion, and takes longer in proportion.
func (s *Settings) settle(predicted *model.Allocation) settleTime {
	out := settleTime{port: -1}
	for i := range s.domains {
		if d := &s.domains[i]; d.used {
			out.time = max(out.time, d.settle())
		}
	}
	for d, moved := range s.moved(predicted) {
		if moved <= 0 {
			continue
		}
		part := min(max(moved/s.m.Caps[d], minMoved), 1)
		if t := s.domainOf(s.m.Transmitter(int32(d)).Node).settle() / part; t > out.time {
			out = settleTime{t, int32(d), part}
		}
	}
	return out
}

// moved returns, by link direction, the part of its load (bit/s) that follows its fair rate: the rates of the flows that it limits, less the
// losses of flows that take turns with these at a full sending port and also cross the link. 0: it limits no flow.
func (s *Settings) moved(predicted *model.Allocation) []float64 {
	l, m := s.m.Layout(), s.m
	held, lost := make([]float64, len(m.Caps)), make([]float64, len(m.Caps))
	for i, d := range predicted.Bottleneck {
		if d >= 0 && !l.Sends[d] {
			held[d] += predicted.Rates[i]
		}
	}
	turns := make([]float64, len(m.Caps)) // of the current port: bit/s, by link direction, of the flows that take turns there
	for flows := m.BySender(); len(flows) > 0; {
		port, n := l.Hops[l.First[flows[0]]], 1
		for n < len(flows) && l.Hops[l.First[flows[n]]] == port {
			n++
		}
		if predicted.Limiting[port] {
			s.addLost(predicted, flows[:n], turns, lost)
		}
		flows = flows[n:]
	}
	for d, rate := range lost {
		if rate > 0 {
			held[d] = max(held[d]-rate, math.SmallestNonzeroFloat64)
		}
	}
	return held
}

// addLost adds to lost for the flows of one full sending port. Flows that take turns at the port lose what flows that a link limits gain:
// lost[d] is the part of the rates limited by link d that is lost on d itself. turns is all 0, before and after.
func (s *Settings) addLost(predicted *model.Allocation, flows []int32, turns, lost []float64) {
	l, all := s.m.Layout(), 0.0
	taking := func(i int32) bool { return predicted.Bottleneck[i] == l.Hops[l.First[i]] }
	for _, i := range flows {
		if taking(i) {
			all += predicted.Rates[i]
			for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
				turns[d] += predicted.Rates[i]
			}
		}
	}
	if all == 0 {
		return
	}
	for _, i := range flows {
		if d := predicted.Bottleneck[i]; d >= 0 && !taking(i) {
			lost[d] += float64(predicted.Rates[i] * (turns[d] / all))
		}
	}
	for _, i := range flows {
		for _, d := range l.Hops[l.First[i]:l.First[i+1]] {
			turns[d] = 0
		}
	}
}

// slowFinding reports a port that settles slowly. Slow domains have a finding of their own (measure).
func (s *Settings) slowFinding(x settleTime) []plan.Finding {
	if x.port < 0 || x.time <= model.MaxConvergence {
		return nil
	}
	name := s.m.LinkName(x.port)
	return []plan.Finding{plan.NewFinding(plan.CodeSlowConvergence, nil, []string{name},
		phrase.Of("plan.wrcc-settle", "port", name, "part", phrase.PercentOf(math.Ceil(float64(x.part*100))/100, 0), "settle", model.RoundTime(x.time)),
		phrase.Of("plan.judge-by-means", "settle", model.RoundTime(x.time)))}
}
