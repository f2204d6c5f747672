package policy

import (
	"fmt"
	"math"

	"fairlane/internal/phrase"
)

// leastMoved bounds the part of a port's load that its fair rate moves: with less it moves little.
const leastMoved = 0.02

// wrccSettle is how long shares need near rest.
type wrccSettle struct {
	time float64 // seconds, of the slowest
	port int32   // link direction of the slowest port; -1: its domain alone counts
	part float64 // of the port's capacity that its fair rate moves
}

// settle is that of the slowest domain in use and of its full ports. Where the fair rate of a port moves a part of its load only, it has to move
// by as much more, and takes as much longer.
func (s *wrccSettings) settle(predicted *allocation) wrccSettle {
	out := wrccSettle{port: -1}
	for i := range s.domains {
		if d := &s.domains[i]; d.used {
			out.time = max(out.time, d.settle())
		}
	}
	for d, moved := range s.moved(predicted) {
		if moved <= 0 {
			continue
		}
		part := min(max(moved/s.m.caps[d], leastMoved), 1)
		if t := s.domainOf(s.m.transmitter(int32(d)).Node).settle() / part; t > out.time {
			out = wrccSettle{t, int32(d), part}
		}
	}
	return out
}

// moved is by link direction that marks the bit/s of its load that its fair rate moves: of the flows that it holds, less what flows that take turns with
// these at a full sending port, and cross the link as well, give up when these gain. 0: it holds no flow.
func (s *wrccSettings) moved(predicted *allocation) []float64 {
	l, m := s.m.lay(), s.m
	held, turns := make([]float64, len(m.caps)), make([]float64, len(m.caps))
	type pair struct{ port, link int32 }
	pairs := make(map[pair]float64) // bit/s that a full sending port's flows have which the link holds
	for i, d := range predicted.bottleneck {
		switch {
		case d < 0:
		case l.sends[d]:
			turns[d] += predicted.rates[i]
		default:
			held[d] += predicted.rates[i]
			if port := l.hops[l.first[i]]; predicted.limiting[port] {
				pairs[pair{port, d}] += predicted.rates[i]
			}
		}
	}
	if len(pairs) == 0 {
		return held
	}
	given := make([]float64, len(m.caps))
	for i, port := range predicted.bottleneck {
		if port < 0 || !l.sends[port] {
			continue
		}
		for _, d := range l.hops[l.first[i]+1 : l.first[i+1]] {
			if with := pairs[pair{port, d}]; with > 0 {
				given[d] += float64(with * (predicted.rates[i] / turns[port]))
			}
		}
	}
	for d, rate := range given {
		if rate > 0 {
			held[d] = max(held[d]-rate, math.SmallestNonzeroFloat64)
		}
	}
	return held
}

// slowFinding reports a port that needs long. Slow domains have a finding of their own (measure).
func (s *wrccSettings) slowFinding(x wrccSettle) []Finding {
	if x.port < 0 || x.time <= maxConvergence {
		return nil
	}
	name := s.m.linkName(x.port)
	return []Finding{finding(CodeSlowConvergence, nil, []string{name},
		phrase.Of("port {}: its fair rate moves {} % of what it carries, other ports and demands hold the rest: shares need about {} to settle", name, fmt.Sprintf("%.0f", float64(x.part*100)), about(x.time)),
		phrase.Of("judge shares by means over more than {}", about(x.time)))}
}
