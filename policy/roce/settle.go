package roce

import (
	"slices"

	"fairlane/ccconfig/profile"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// settleTime is the time until marks hold queue pairs at the predicted rates.
type settleTime struct {
	time    float64     // seconds, of the slowest; 0 where no link marks
	slow    missedPorts // ports that need more than MaxConvergence, by their times
	rate    float64     // bit/s, predicted rate of a queue pair of the slowest
	tenants []int32     // of slow
}

// settle computes the time of the queue pairs that marks limit; others start at their rates.
func (s *Settings) settle(predicted *model.Allocation) settleTime {
	var out settleTime
	qps := s.m.Layout().QPs
	for i := range s.ports {
		p := &s.ports[i]
		if p.kind != model.Contended {
			continue
		}
		fastest := 0.0
		for _, f := range p.flows {
			if s.marks[f] > 0 {
				fastest = max(fastest, predicted.Rates[f]/qps[f])
			}
		}
		t := profile.Settle(fastest, &p.set)
		if t > out.time {
			out.time, out.rate = t, fastest
		}
		if t > model.MaxConvergence {
			s.add(&out.slow, p, t)
			out.tenants = append(out.tenants, p.tenants...)
		}
	}
	return out
}

// slowFindings reports the ports that settle slowly, in one finding.
func (s *Settings) slowFindings(x *settleTime) []plan.Finding {
	p := x.slow.worst
	if p == nil {
		return nil
	}
	slices.Sort(x.tenants)
	var tenants []string
	for _, t := range plan.Bounded(slices.Compact(x.tenants)) {
		tenants = append(tenants, s.m.Tenants[t].Name)
	}
	return []plan.Finding{plan.NewFinding(plan.CodeSlowConvergence, tenants, s.links(&x.slow),
		phrase.Of("plan.dcqcn-slow",
			"port", s.portName(p), "others", others(x.slow.ports), "step", p.set.AIRate, "period", p.set.TimeReset, "settle", model.RoundTime(x.time), "held", model.Rate(x.rate)),
		phrase.Of("plan.fewer-qps.fix"))}
}
