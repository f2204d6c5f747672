package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sharedSpread is the |ln| of rates on one set of registers from which a finding says so: 5 %.
const sharedSpread = 0.05

// findings lists what the plane cannot honour.
func (s *roceSettings) findings(predicted *allocation) []Finding {
	var out []Finding
	far, unreached := make(map[string]*roceOff), make(map[string]*roceOff)
	for i := range s.ports {
		p := &s.ports[i]
		switch {
		case len(p.tenants) > 1 && p.spread > sharedSpread:
			out = append(out, s.sharedPort(p, predicted))
		case p.spread > sharedSpread:
			s.note(far, p, p.spread)
		}
		if p.clamped && p.kind == settingContended {
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

// roceOff is the ports of the same tenants that miss what is wanted of them, with the worst.
type roceOff struct {
	ports int
	links []string // of the first ports, as many as a finding names
	worst *nicPort
	by    float64
}

// note files a port under its tenants.
func (s *roceSettings) note(off map[string]*roceOff, p *nicPort, by float64) {
	key := strings.Join(s.names(p), "\x00")
	o := off[key]
	if o == nil {
		o = &roceOff{worst: p, by: by}
		off[key] = o
	}
	if by > o.by {
		o.worst, o.by = p, by
	}
	if o.ports++; o.ports <= maxNames {
		o.links = append(o.links, s.m.fabric.PortName(p.ref))
	}
}

// others says how many ports beside the worst a finding is about.
func (o *roceOff) others() string {
	if o.ports > 1 {
		return fmt.Sprintf(" (the worst of %d ports)", o.ports)
	}
	return ""
}

// names of a port's tenants.
func (s *roceSettings) names(p *nicPort) []string {
	out := make([]string, len(p.tenants))
	for i, t := range p.tenants {
		out[i] = s.m.tenants[t].Name
	}
	return out
}

func (s *roceSettings) sharedPort(p *nicPort, predicted *allocation) Finding {
	parts := make([]string, len(p.tenants))
	for i, t := range p.tenants {
		entitled, got := 0.0, 0.0
		for _, f := range p.flows {
			if s.m.flows[f].tenant == t {
				entitled += s.target.rates[f]
				got += predicted.rates[f]
			}
		}
		parts[i] = fmt.Sprintf("%s %s of %s", s.m.tenants[t].Name, rate(got), rate(entitled))
	}
	name := s.m.fabric.PortName(p.ref)
	return Finding{
		Code: CodeDCQCNSharedPort, Tenants: bounded(s.names(p)), Links: []string{name},
		Message: fmt.Sprintf("port %s sends for %d tenants and has one set of DCQCN registers for all; the shares of their virtual functions divide the port, not what is contended beyond it: predicted %s entitled",
			name, len(p.tenants), strings.Join(bounded(parts), ", ")),
		Fix: "give each tenant a port of its own",
	}
}

func (s *roceSettings) sharedFlows(o *roceOff) Finding {
	p := o.worst
	return Finding{
		Code: CodeSharedSetting, Tenants: bounded(s.names(p)), Links: o.links,
		Message: fmt.Sprintf("port %s%s: its queue pairs are limited by different links or classes and want rates up to %.3g times apart from the %s that its one set of registers means them to have",
			s.m.fabric.PortName(p.ref), o.others(), exp(p.spread), rate(p.wanted)),
		Fix: "send the traffic to each of the contended links from a port of its own",
	}
}

func (s *roceSettings) unreachable(o *roceOff) Finding {
	p := o.worst
	g := &s.groups[p.group]
	return Finding{
		Code: CodeWeightUnreachable, Tenants: bounded(s.names(p)), Links: o.links,
		Message: fmt.Sprintf("port %s%s: a queue pair is entitled to %s where the fastest it meets has %s, %.4g times as much; the registers reach %.4g",
			s.m.fabric.PortName(p.ref), o.others(), rate(p.wanted), rate(g.top), g.top/p.wanted, g.top/s.reached(p)),
		Fix: "let the tenant use fewer queue pairs, or bring the weights nearer together",
	}
}

// speeds reports limiting links outside the calibrated range by more than a tenth.
func (s *roceSettings) speeds() []Finding {
	axis := s.profile.Response.Speeds
	low, high := float64(axis[0])/1.1, float64(axis[len(axis)-1])/0.9
	var links []string
	for d, on := range s.target.limiting {
		if on && s.m.marks(int32(d)) && (s.m.caps[d] < low || s.m.caps[d] > high) {
			links = append(links, s.m.linkName(int32(d)))
		}
	}
	if len(links) == 0 {
		return nil
	}
	return []Finding{{
		Code: CodeUncalibratedSpeed, Links: bounded(links),
		Message: fmt.Sprintf("%d contended links have a speed outside the %s to %s that profile %q was calibrated at: the nearest counts, and the bounds are not proven there",
			len(links), axis[0], axis[len(axis)-1], s.profile.Name),
		Fix: "measure on such links and trim, or give a profile that was calibrated at their speed",
	}}
}

// caps reports tenants that nothing holds below their cap: RPG_MAX_RATE releases a limiter, it bounds nothing.
func (s *roceSettings) caps(predicted *allocation) []Finding {
	return s.m.unenforced(predicted, "no DCQCN register bounds a rate (rpg_max_rate releases the limiter)",
		"cap its VFs (devlink rate tx_max) or its queue at the switch (scheduler pir)")
}
