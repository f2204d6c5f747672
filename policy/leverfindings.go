package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/phrase"
)

// leverFindings reports settings that miss their aim before any prediction.
func (s *settings) leverFindings() []Finding {
	out := append(s.sharedSettings(), s.deviceFindings()...)
	for i := range s.ports {
		if f := s.ports[i].clamps; f != nil {
			out = append(out, *f)
		}
		out = append(out, s.ports[i].coarse...)
	}
	for i := range s.all {
		st := &s.all[i]
		if most := s.ports[st.port].profile.Adapter.MaxIncrease; s.m.in.Options.Mode == ModeTheorem1 && st.incr == most {
			out = append(out, finding(CodeIncreaseClamped, s.names(st.tenants), nil,
				phrase.Of("port {}, SL {}: CCTI_Increase is at its largest, {}: the timer alone would reach {}", s.m.fabric.PortName(s.ports[st.port].ref), st.sl, int(most), rate(st.rate)),
				phrase.Of("use mode product")))
		}
	}
	for i := range s.groups {
		out = append(out, s.groupFindings(&s.groups[i])...)
	}
	return out
}

func (s *settings) names(ts []int32) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = s.m.tenants[t].Name
	}
	return out
}

// sharedSettings reports settings whose flows have different entitlements, one finding for each set of
// tenants, with the worst of its ports first.
func (s *settings) sharedSettings() []Finding {
	worst := map[string][]*setting{}
	for i := range s.all {
		if st := &s.all[i]; st.kind == settingContended && st.spread > maxQuantisation {
			key := strings.Join(s.names(st.tenants), ",")
			worst[key] = append(worst[key], st)
		}
	}
	var out []Finding
	for _, sts := range worst {
		slices.SortStableFunc(sts, func(a, b *setting) int { return cmp.Compare(b.spread, a.spread) })
		var ports []string
		for _, st := range sts[:min(len(sts), maxNames)] {
			ports = append(ports, s.m.fabric.PortName(s.ports[st.port].ref))
		}
		st := sts[0]
		out = append(out, finding(CodeSharedSetting, s.names(st.tenants), ports,
			phrase.Of("on {} queue pairs with different entitlements share one setting; worst is {}, SL {}, made for {} each, from which the furthest is {} % off",
				counted(len(sts), kindPort), ports[0], st.sl, rate(s.eachOf(st)), fmt.Sprintf("%.1f", float64(st.spread*100))),
			phrase.Of("give the unequal traffic different ports, or its own tenant")))
	}
	return out
}

// eachOf is what a setting gives each queue pair when it gives what it is made for, in bit/s.
func (s *settings) eachOf(st *setting) float64 {
	if s.ports[st.port].perSL {
		return st.rate / st.qps
	}
	return st.rate
}

func (s *settings) groupFindings(g *group) []Finding {
	if g.miss <= maxQuantisation && g.marking <= sparseMarking && g.settle <= maxConvergence {
		return nil
	}
	var tenants []int32
	for _, k := range g.settings {
		tenants = append(tenants, s.all[k].tenants...)
	}
	slices.Sort(tenants)
	names := s.names(slices.Compact(tenants))
	var links []string
	for _, d := range g.links {
		links = append(links, s.m.linkName(d))
	}
	var out []Finding
	add := func(code string, said, fix phrase.Text) {
		out = append(out, finding(code, names, bounded(links), said, fix))
	}
	if g.miss > maxQuantisation {
		add(CodeTimerQuantised, phrase.Of("the shortest timers round to whole 1.024 us with up to {} % error, at one mark in {} packets", fmt.Sprintf("%.1f", float64(g.miss*100)), g.marking),
			phrase.Of("take one CCTI per queue pair (QP mode) and open more queue pairs for the fastest tenants: slower ones have longer timers"))
	}
	if g.marking > sparseMarking {
		add(CodeMarkingSparse, phrase.Of("only one packet in {} is marked, because timers would be too coarse otherwise: shares need {} to settle", g.marking, about(g.settle)),
			phrase.Of("take one CCTI per queue pair (QP mode) and open more queue pairs for the fastest tenants, or bring the weights nearer each other: slower queue pairs have longer timers, so that more packets can be marked"))
	}
	if g.settle > maxConvergence {
		add(CodeSlowConvergence, phrase.Of("the slowest queue pair needs about {} to settle at its share, at one mark in {} packets", about(g.settle), g.marking),
			phrase.Of("open fewer queue pairs per tenant and port, use SL mode, or bring the weights nearer each other"))
	}
	return out
}
