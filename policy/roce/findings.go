package roce

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/num"
	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// sharedSpread is the |ln| of rates on one set of registers from which a finding reports them: 5 %.
const sharedSpread = 0.05

// findings lists what the plane cannot honour.
func (s *Settings) findings(predicted *model.Allocation) []plan.Finding {
	if s.classes != nil {
		return append(s.classFindings(s.classes), s.caps(predicted)...)
	}
	var out []plan.Finding
	far, unreached := make(map[string]*missedPorts), make(map[string]*missedPorts)
	for i := range s.ports {
		p := &s.ports[i]
		switch {
		case p.spread > sharedSpread && len(s.senders(p)) > 1:
			out = append(out, s.sharedPort(p, predicted))
		case p.spread > sharedSpread:
			s.note(far, p, p.spread)
		}
		if p.clamped && p.kind == model.Contended {
			s.note(unreached, p, s.groups[p.group].top/p.wanted)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(far)) {
		out = append(out, s.sharedFlows(far[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(unreached)) {
		out = append(out, s.unreachable(unreached[name]))
	}
	out = append(out, s.speeds()...)
	return append(out, s.caps(predicted)...)
}

// missedPorts are ports that miss their wanted rates, with the worst.
type missedPorts struct {
	ports int
	names []string // of the first ports, up to the number that a finding names
	worst *nicPort
	by    float64
}

// note records a port under its tenants.
func (s *Settings) note(off map[string]*missedPorts, p *nicPort, by float64) {
	key := strings.Join(s.names(s.senders(p)), "\x00")
	if off[key] == nil {
		off[key] = &missedPorts{}
	}
	s.add(off[key], p, by)
}

// add records a port.
func (s *Settings) add(o *missedPorts, p *nicPort, by float64) {
	if o.worst == nil || by > o.by {
		o.worst, o.by = p, by
	}
	if o.ports++; o.ports <= plan.MaxNames {
		o.names = append(o.names, s.portName(p))
	}
}

// links names the ports, including the worst.
func (s *Settings) links(o *missedPorts) []string {
	worst := s.portName(o.worst)
	if slices.Contains(o.names, worst) {
		return o.names
	}
	return append([]string{worst}, o.names[:len(o.names)-1]...)
}

func (s *Settings) portName(p *nicPort) string { return s.m.Fabric.PortName(p.ref) }

// others states how many ports a finding concerns besides the worst.
func others(ports int) phrase.Text {
	if ports > 1 {
		return phrase.Of("plan.worst-of", "ports", ports)
	}
	return phrase.Text{}
}

// senders lists the tenants with flows from a port, each once; others on it only receive.
func (s *Settings) senders(p *nicPort) []int32 {
	var out []int32
	for _, f := range p.flows { // ordered by tenant
		if t := s.m.Flows[f].Tenant; len(out) == 0 || out[len(out)-1] != t {
			out = append(out, t)
		}
	}
	return out
}

// names returns the names of tenants.
func (s *Settings) names(tenants []int32) []string {
	out := make([]string, len(tenants))
	for i, t := range tenants {
		out[i] = s.m.Tenants[t].Name
	}
	return out
}

func (s *Settings) sharedPort(p *nicPort, predicted *model.Allocation) plan.Finding {
	senders := s.senders(p)
	parts := make([]phrase.Text, len(senders))
	for i, t := range senders {
		entitled, got := 0.0, 0.0
		for _, f := range p.flows {
			if s.m.Flows[f].Tenant == t {
				entitled += s.target.Rates[f]
				got += predicted.Rates[f]
			}
		}
		parts[i] = phrase.Of("plan.part", "tenant", s.m.Tenants[t].Name, "predicted", model.Rate(got), "entitled", model.Rate(entitled))
	}
	name := s.portName(p)
	return plan.NewFinding(plan.CodeDCQCNSharedPort, plan.Bounded(s.names(senders)), []string{name},
		phrase.Of("plan.dcqcn-shared-port",
			"port", name, "n", len(senders), "parts", phrase.Commas(plan.Bounded(parts))),
		phrase.Of("plan.dcqcn-shared-port.fix"))
}

func (s *Settings) sharedFlows(o *missedPorts) plan.Finding {
	p := o.worst
	return plan.NewFinding(plan.CodeSharedSetting, plan.Bounded(s.names(s.senders(p))), s.links(o),
		phrase.Of("plan.dcqcn-spread",
			"port", s.portName(p), "others", others(o.ports), "times", fmt.Sprintf("%.3g", num.Exp(p.spread)), "each", model.Rate(p.wanted)), s.separationAdvice(p))
}

// separationAdvice names the traffic of a port to send from other ports, so that the rest wants one rate.
func (s *Settings) separationAdvice(p *nicPort) phrase.Text {
	switch {
	case s.sameIntendedRate(p, func(f int32) int32 { return s.target.Bottleneck[f] }):
		return phrase.Of("plan.dcqcn-spread.links.fix")
	case s.sameIntendedRate(p, func(f int32) int32 { return s.m.Flows[f].Class }):
		return phrase.Of("plan.dcqcn-spread.classes.fix")
	}
	return phrase.Of("plan.dcqcn-spread.fix")
}

// sameIntendedRate reports whether those flows of a port that its settings serve want one rate within each kind.
func (s *Settings) sameIntendedRate(p *nicPort, kind func(f int32) int32) bool {
	least, most := make(map[int32]float64), make(map[int32]float64)
	for _, f := range p.flows {
		if p.kind == model.Contended && !s.contended(f) {
			continue
		}
		k, w := kind(f), s.wantedRate(f)
		if _, ok := least[k]; !ok || w < least[k] {
			least[k] = w
		}
		if most[k] = max(most[k], w); num.Ln(most[k]/least[k]) > sharedSpread {
			return false
		}
	}
	return true
}

func (s *Settings) unreachable(o *missedPorts) plan.Finding {
	p := o.worst
	g := &s.groups[p.group]
	return plan.NewFinding(plan.CodeWeightUnreachable, plan.Bounded(s.names(s.senders(p))), s.links(o),
		phrase.Of("plan.dcqcn-range",
			"port", s.portName(p), "others", others(o.ports), "each", model.Rate(p.wanted), "fastest", model.Rate(g.top), "times", times(g.top/p.wanted), "reached", times(g.top/s.reached(p))),
		phrase.Of("plan.fewer-qps-one.fix"))
}

// speeds reports limiting links outside the calibrated range by more than a tenth.
func (s *Settings) speeds() []plan.Finding {
	axis := s.profile.Response.Speeds
	low, high := float64(axis[0])/1.1, float64(axis[len(axis)-1])/0.9
	var links []string
	for d, on := range s.target.Limiting {
		if on && s.m.Marks(int32(d)) && (s.m.Caps[d] < low || s.m.Caps[d] > high) {
			links = append(links, s.m.LinkName(int32(d)))
		}
	}
	if len(links) == 0 {
		return nil
	}
	return []plan.Finding{plan.NewFinding(plan.CodeUncalibratedSpeed, nil, plan.Bounded(links),
		phrase.Of("plan.uncalibrated-speed",
			"links", plan.Counted(len(links), plan.KindContended), "min", axis[0], "max", axis[len(axis)-1], "profile", strconv.Quote(s.profile.Name)),
		phrase.Of("plan.uncalibrated-speed.fix"))}
}

// caps reports tenants that nothing holds below their cap: RPG_MAX_RATE releases a limiter, it bounds nothing.
func (s *Settings) caps(predicted *model.Allocation) []plan.Finding {
	return s.m.UnenforcedCaps(predicted, phrase.Of("plan.dcqcn-cap"),
		phrase.Of("plan.dcqcn-cap.fix"))
}

// times prints a ratio with four digits, or with all digits before the point if there are more.
func times(ratio float64) string {
	if ratio >= 1000 {
		return strconv.FormatFloat(ratio, 'f', 0, 64)
	}
	return strconv.FormatFloat(ratio, 'g', 4, 64)
}
