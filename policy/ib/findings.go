package ib

import (
	"cmp"
	"slices"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// leverFindings reports settings that miss their aim, before any prediction.
func (s *Settings) leverFindings() []plan.Finding {
	out := append(s.sharedSettings(), s.deviceFindings()...)
	for i := range s.ports {
		if f := s.ports[i].clamps; f != nil {
			out = append(out, *f)
		}
		out = append(out, s.ports[i].coarse...)
	}
	for i := range s.all {
		st := &s.all[i]
		if most := s.ports[st.port].profile.Adapter.MaxIncrease; s.m.Input.Options.Mode == model.ModeTheorem1 && st.incr == most {
			out = append(out, plan.NewFinding(plan.CodeIncreaseClamped, s.names(st.tenants), nil,
				phrase.Of("plan.increase-clamped", "port", s.m.Fabric.PortName(s.ports[st.port].ref), "sl", st.sl, "most", int(most), "reached", model.Rate(st.rate)),
				phrase.Of("plan.increase-clamped.fix")))
		}
	}
	for i := range s.groups {
		out = append(out, s.groupFindings(&s.groups[i])...)
	}
	return out
}

func (s *Settings) names(ts []int32) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = s.m.Tenants[t].Name
	}
	return out
}

// sharedSettings reports settings whose flows have different entitlements, one finding for each set of tenants, with the worst of its ports
// first.
func (s *Settings) sharedSettings() []plan.Finding {
	worst := map[string][]*setting{}
	for i := range s.all {
		if st := &s.all[i]; st.kind == model.Contended && st.spread > model.MaxQuantisation {
			key := strings.Join(s.names(st.tenants), ",")
			worst[key] = append(worst[key], st)
		}
	}
	var out []plan.Finding
	for _, sts := range worst {
		slices.SortStableFunc(sts, func(a, b *setting) int { return cmp.Compare(b.spread, a.spread) })
		var ports []string
		for _, st := range sts[:min(len(sts), plan.MaxNames)] {
			ports = append(ports, s.m.Fabric.PortName(s.ports[st.port].ref))
		}
		st := sts[0]
		out = append(out, plan.NewFinding(plan.CodeSharedSetting, s.names(st.tenants), ports,
			phrase.Of("plan.shared-setting",
				"ports", plan.Counted(len(sts), plan.KindPort), "worst", ports[0], "sl", st.sl, "each", model.Rate(s.eachOf(st)), "off", phrase.PercentOf(st.spread, 1)),
			phrase.Of("plan.shared-setting.fix")))
	}
	return out
}

// eachOf returns the intended rate of each queue pair of a setting, in bit/s.
func (s *Settings) eachOf(st *setting) float64 {
	if s.ports[st.port].perSL {
		return st.rate / st.qps
	}
	return st.rate
}

func (s *Settings) groupFindings(g *group) []plan.Finding {
	if g.miss <= model.MaxQuantisation && g.marking <= sparseMarking && g.settle <= model.MaxConvergence {
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
		links = append(links, s.m.LinkName(d))
	}
	var out []plan.Finding
	add := func(code string, statement, fix phrase.Text) {
		out = append(out, plan.NewFinding(code, names, plan.Bounded(links), statement, fix))
	}
	if g.miss > model.MaxQuantisation {
		add(plan.CodeTimerQuantised, phrase.Of("plan.timer-quantised", "off", phrase.PercentOf(g.miss, 1), "packets", g.marking),
			phrase.Of("plan.timer-quantised.fix"))
	}
	if g.marking > sparseMarking {
		add(plan.CodeMarkingSparse, phrase.Of("plan.marking-too-sparse", "packets", g.marking, "settle", model.RoundTime(g.settle)),
			phrase.Of("plan.marking-too-sparse.fix"))
	}
	if g.settle > model.MaxConvergence {
		add(plan.CodeSlowConvergence, phrase.Of("plan.slow-convergence", "settle", model.RoundTime(g.settle), "packets", g.marking),
			phrase.Of("plan.slow-convergence.fix"))
	}
	return out
}
