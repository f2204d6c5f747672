package roce

import (
	"maps"
	"slices"

	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// settingsLike is newSettings for the flows of prev, which it does not change. Ports whose flows keep their entitlements and limiting links
// keep their wanted rates.
func settingsLike(m *model.Model, prev *Settings, target *model.Allocation) *Settings {
	a := m.ChangesSince(target, prev.target)
	s := &Settings{
		m: m, target: target, profile: prev.profile, law: prev.law, rtt: prev.rtt, ports: slices.Clone(prev.ports), ofFlow: prev.ofFlow,
		marks: m.MarksSince(target, a, prev.marks), curves: slices.Clone(prev.curves), unmarked: prev.unmarked, functions: prev.functions, prev: prev, moved: a.Moved != nil,
		fresh: make([]bool, len(prev.ports)),
	}
	for i, anew := range a.Flows {
		if anew {
			s.fresh[s.ofFlow[i]] = true
		}
	}
	s.divide()
	s.findTops()
	s.dropCurves()
	for i := range s.ports {
		if p := &s.ports[i]; s.fresh[i] {
			*p = nicPort{ref: p.ref, id: p.id, out: p.out, line: p.line, tenants: p.tenants, sharers: p.sharers, flows: p.flows, group: p.group, queue: -1}
		}
	}
	return s
}

// dropCurves removes the responses of links whose fastest queue pair changed, and marks the ports that depend on them as fresh.
func (s *Settings) dropCurves() {
	for d, top := range s.tops {
		if top != s.prev.tops[d] {
			s.curves[d] = nil
		}
	}
	for i := range s.m.Flows {
		if k := s.ofFlow[i]; !s.fresh[k] {
			d := s.responseQueue(int32(i))
			s.fresh[k] = d >= 0 && s.tops[d] != s.prev.tops[d]
		}
	}
}

// keepsSettings reports whether a port's wanted rate and the start of its group's lever are unchanged, and therefore its settings.
func (s *Settings) keepsSettings(i int) bool {
	if s.prev == nil || s.fresh[i] {
		return false
	}
	p, was := &s.ports[i], &s.prev.ports[i]
	return s.groups[p.group].zero == s.prev.groups[was.group].zero
}

// planUnchanged reports whether a port's part of the plan is unchanged: it depends only on the port's tenants, settings and their inputs.
func (s *Settings) planUnchanged(i int) bool {
	if s.prev == nil {
		return false
	}
	p, was := &s.ports[i], &s.prev.ports[i]
	if len(p.tenants) > 1 && slices.ContainsFunc(p.tenants, func(t int32) bool {
		return s.shares[model.TenantPort{Tenant: t, Port: p.id}] != s.prev.shares[model.TenantPort{Tenant: t, Port: p.id}]
	}) {
		return false
	}
	return p.kind == was.kind && p.wanted == was.wanted && p.spread == was.spread && p.position == was.position && p.period == was.period &&
		p.clamped == was.clamped && (!p.clamped || s.reached(p) == s.prev.reached(was)) && p.set == was.set && s.groups[p.group].zero == s.prev.groups[was.group].zero
}

// plan writes the plane's section of a plan. It takes over unchanged parts from the plan of the previous compilation, with their digests.
func (s *Settings) plan(before *plan.Plan, d, was *plan.Digests) *plan.RoCEPlan {
	if s.classes != nil {
		return s.classPlan(d)
	}
	out := &plan.RoCEPlan{}
	if s.prev == nil {
		before, was = &plan.Plan{RoCE: &plan.RoCEPlan{Switches: s.switchPlans()}}, &plan.Digests{}
	}
	out.Switches, d.Markings = before.RoCE.Switches, was.Markings
	if s.prev != nil && maps.Equal(s.shares, s.prev.shares) {
		out.Traffic, d.Traffic = before.RoCE.Traffic, was.Traffic
	} else {
		out.Traffic = s.traffic()
	}
	out.NICs, d.NICs = s.nicPlans(before.RoCE.NICs, was.NICs)
	d.Fill(&plan.Plan{RoCE: out})
	return out
}
