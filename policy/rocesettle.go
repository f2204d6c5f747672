package policy

import (
	"slices"

	"fairlane/ccconfig/profile"
	"fairlane/internal/phrase"
)

// roceSettle is how long queue pairs need until marks hold them at what is predicted.
type roceSettle struct {
	slowest *nicPort // nil where nothing is marked
	time    float64  // seconds that a queue pair of it needs
	rate    float64  // bit/s that it is predicted to have
	ports   []int32  // that need more than maxConvergence
}

// settle looks at the queue pairs that marks limit; others start at their rates.
func (s *roceSettings) settle(predicted *allocation) roceSettle {
	var out roceSettle
	qps := s.m.lay().qps
	for i := range s.ports {
		p := &s.ports[i]
		if p.kind != settingContended {
			continue
		}
		fastest := 0.0
		for _, f := range p.flows {
			if s.marks[f] > 0 {
				fastest = max(fastest, predicted.rates[f]/qps[f])
			}
		}
		t := profile.Settle(fastest, &p.set)
		if t > maxConvergence {
			out.ports = append(out.ports, int32(i))
		}
		if t > out.time {
			out.slowest, out.time, out.rate = p, t, fastest
		}
	}
	return out
}

// slowFindings tells of the ports that need long, in one finding.
func (s *roceSettings) slowFindings(x *roceSettle) []Finding {
	if len(x.ports) == 0 {
		return nil
	}
	var of []int32
	var names []string
	for _, i := range x.ports {
		of = append(of, s.ports[i].tenants...)
		if len(names) < maxNames {
			names = append(names, s.m.fabric.PortName(s.ports[i].ref))
		}
	}
	slices.Sort(of)
	var tenants []string
	for _, t := range slices.Compact(of) {
		tenants = append(tenants, s.m.tenants[t].Name)
	}
	p := x.slowest
	return []Finding{finding(CodeSlowConvergence, bounded(tenants), names,
		phrase.Of("port {}{}: a queue pair gains {} Mbit/s each {} us and needs about {} until marks hold it at the {} that it is predicted to get",
			s.m.fabric.PortName(p.ref), others(len(x.ports)), p.set.AIRate, p.set.TimeReset, about(x.time), rate(x.rate)),
		phrase.Of("let the tenants use fewer queue pairs, or bring the weights nearer together"))}
}
