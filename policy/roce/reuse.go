package roce

import (
	"maps"
	"slices"

	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// settingsLike is newSettings for the flows of prev, which it does not change. Ports whose flows keep their entitlements and limiting links
// keep their wanted rates. It returns nil where tenants have other traffic classes than in prev: then all flows meet others.
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
	if prev.classes != nil {
		if s.classes = newClasses(s); !slices.Equal(s.classes.of, prev.classes.of) {
			return nil
		}
		s.marks = s.classMarks()
		s.moveQueues()
	}
	s.findTops()
	s.dropCurves()
	for i := range s.ports {
		if p := &s.ports[i]; s.fresh[i] {
			*p = nicPort{ref: p.ref, id: p.id, out: p.out, line: p.line, tenants: p.tenants, sharers: p.sharers, flows: p.flows, group: p.group, queue: -1}
		}
	}
	return s
}

// dropCurves removes the responses of queues whose fastest queue pair or speed changed, and marks the ports that depend on them as fresh.
func (s *Settings) dropCurves() {
	other := make([]bool, len(s.tops))
	for q, top := range s.tops {
		if other[q] = top != s.prev.tops[q] || s.curves[q] != nil && s.speed(int32(q)) != s.prev.speed(int32(q)); other[q] {
			s.curves[q] = nil
		}
	}
	for i := range s.m.Flows {
		if k := s.ofFlow[i]; !s.fresh[k] {
			q := s.responseQueue(int32(i))
			s.fresh[k] = q >= 0 && other[q]
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
	if s.classes != nil && !slices.Equal(s.classes.shares[p.out], s.prev.classes.shares[p.out]) {
		return false
	}
	return p.kind == was.kind && p.wanted == was.wanted && p.spread == was.spread && p.position == was.position && p.period == was.period &&
		p.clamped == was.clamped && (!p.clamped || s.reached(p) == s.prev.reached(was)) && p.set == was.set && s.groups[p.group].zero == s.prev.groups[was.group].zero
}

// plan writes the plane's section of a plan. It takes over unchanged parts from the plan of the previous compilation, with their digests.
func (s *Settings) plan(before *plan.Plan, d, was *plan.Digests) *plan.RoCEPlan {
	out := &plan.RoCEPlan{}
	if s.prev == nil {
		before, was = &plan.Plan{RoCE: &plan.RoCEPlan{}}, &plan.Digests{}
	}
	switch {
	case s.classes != nil:
		s.classPlan(out, before.RoCE.Switches, d, was)
	case s.prev != nil:
		out.Switches, d.Markings = before.RoCE.Switches, was.Markings
	default:
		out.Switches = s.switchPlans()
	}
	if s.prev != nil && maps.Equal(s.shares, s.prev.shares) {
		out.Traffic, d.Traffic = before.RoCE.Traffic, was.Traffic
	} else {
		out.Traffic = s.traffic()
	}
	out.NICs, d.NICs = s.nicPlans(before.RoCE.NICs, was.NICs)
	d.Fill(&plan.Plan{RoCE: out})
	return out
}
