package policy

import (
	"fmt"

	"fairlane/internal/phrase"
)

// leastHeld bounds the part of a port's capacity that its fair rate holds: with less it moves little.
const leastHeld = 0.02

// wrccSettle is how long shares need near rest.
type wrccSettle struct {
	time float64 // seconds, of the slowest
	port int32   // link direction of the slowest port; -1: its domain alone counts
	part float64 // of the port's capacity that its fair rate holds
}

// settle is that of the slowest domain in use and of its full ports. Where the fair rate of a port holds a part of its load only, and other
// ports or demands the rest, it has to move by as much more, and takes as much longer.
func (s *wrccSettings) settle(predicted *allocation) wrccSettle {
	out, l := wrccSettle{port: -1}, s.m.lay()
	for i := range s.domains {
		if d := &s.domains[i]; d.used {
			out.time = max(out.time, d.settle())
		}
	}
	held := make([]float64, len(s.m.caps))
	for i, d := range predicted.bottleneck {
		if d >= 0 && !l.sends[d] {
			held[d] += predicted.rates[i]
		}
	}
	for d, h := range held {
		if h <= 0 {
			continue
		}
		part := min(max(h/s.m.caps[d], leastHeld), 1)
		if t := s.domainOf(s.m.transmitter(int32(d)).Node).settle() / part; t > out.time {
			out = wrccSettle{t, int32(d), part}
		}
	}
	return out
}

// slowFinding reports a port that needs long. Slow domains have a finding of their own (measure).
func (s *wrccSettings) slowFinding(x wrccSettle) []Finding {
	if x.port < 0 || x.time <= maxConvergence {
		return nil
	}
	name := s.m.linkName(x.port)
	return []Finding{finding(CodeSlowConvergence, nil, []string{name},
		phrase.Of("port {}: its fair rate holds {} % of what it carries, other ports and demands hold the rest: shares need about {} to settle", name, fmt.Sprintf("%.0f", float64(x.part*100)), about(x.time)),
		phrase.Of("judge shares by means over more than {}", about(x.time)))}
}
