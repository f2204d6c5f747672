package policy

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/policy/sl"
	"fairlane/subnet"
)

// seeOthers is the advice of findings that other findings explain, until advise replaces it.
var seeOthers = phrase.Of("plan.see-others")

// hasSeeOthers reports whether a finding still has that advice.
func hasSeeOthers(f *plan.Finding) bool {
	return f.Advice != nil && f.Advice.ID == seeOthers.ID
}

// advise completes findings that other findings, the predicted shares or the plane's levers explain: the predicted shares of tenants that
// share an SL, the advice that removes the cause of an unreachable share, and the remedies for a sending port.
func advise(m *model.Model, fs []plan.Finding, p *plan.Plan, target *model.Allocation) []plan.Finding {
	out := sl.WithShares(fs, p.Tenants)
	var turns map[string][]string
	for i := range out {
		switch f := &out[i]; {
		case f.Code == plan.CodeSourcePort:
			*f = f.Advised(sourcePortFix(m))
		case f.Code == plan.CodeWeightUnreachable && hasSeeOthers(f):
			if turns == nil {
				turns = classTurns(m, target)
			}
			*f = f.Advised(unreachableFix(m, f, fs, p, turns))
		}
	}
	return out
}

// sourcePortFix returns the plane's remedy for tenants that send from one port. Lane weights that are in use already and miss are no advice.
func sourcePortFix(m *model.Model) phrase.Text {
	if m.Plane == subnet.PlaneIB && !m.Input.Options.VLArbitration {
		return phrase.Of("plan.source-port.lanes.fix")
	}
	return phrase.Of("plan.source-port.fix")
}

// classTurns lists, by tenant, the limiting ports from which several of its classes send: their queue pairs take turns there, and the rate of
// a class follows from their number.
func classTurns(m *model.Model, target *model.Allocation) map[string][]string {
	type at struct{ tenant, link int32 }
	class := make(map[at]int32)
	out := make(map[string][]string)
	for i := range m.Flows {
		f := &m.Flows[i]
		d := f.Links[0]
		if !target.Limiting[d] || len(m.Tenants[f.Tenant].Classes) < 2 || m.Marks(d) {
			continue
		}
		k := at{f.Tenant, d}
		switch c, seen := class[k]; {
		case !seen:
			class[k] = f.Class
		case c != f.Class && c >= 0:
			class[k] = -1 // reported
			name := m.Tenants[f.Tenant].Name
			out[name] = append(out[name], m.Fabric.PortName(m.Transmitter(d)))
		}
	}
	return out
}

// unreachableFix returns the remedy for a tenant that misses its share: for classes that take turns at a port, and else the advice of its own
// findings. Without any it is the advice of the tenants that it meets on the links where it misses its share, since they take what it lacks.
func unreachableFix(m *model.Model, f *plan.Finding, fs []plan.Finding, p *plan.Plan, turns map[string][]string) phrase.Text {
	tenant := f.Tenants[0]
	switch {
	case m.Plane == subnet.PlaneIB && m.Input.Options.Mode == model.ModeTheorem1:
		return phrase.Of("plan.mode-product.fix")
	case len(turns[tenant]) > 0 && missesClass(p, tenant):
		return turnsFix(m, turns[tenant])
	}
	for i := range fs {
		if g := &fs[i]; g.Code == plan.CodeWeightUnreachable && !hasSeeOthers(g) && slices.Contains(g.Tenants, tenant) {
			return *g.Advice
		}
	}
	if codes := causes(fs, f.Tenants); len(codes) > 0 {
		return phrase.Of("plan.see-tenant", "codes", codes, "tenant", tenant)
	}
	// A tenant that misses its share for a reason of its own takes or leaves what this tenant lacks or has too much of.
	explained := func(t string) bool {
		return len(turns[t]) > 0 && missesClass(p, t) || slices.ContainsFunc(fs, func(g plan.Finding) bool {
			return g.Code == plan.CodeWeightUnreachable && !hasSeeOthers(&g) && slices.Contains(g.Tenants, t)
		})
	}
	links := 0
	var all, met, codes []string
	for _, l := range p.Links {
		if !slices.ContainsFunc(l.Tenants, func(t plan.LinkTenant) bool { return t.Tenant == tenant }) {
			continue
		}
		links++
		for _, t := range l.Tenants {
			all = append(all, t.Tenant)
		}
	}
	for _, t := range sorted(all) {
		why := causes(fs, []string{t})
		if explained(t) {
			why = append(why, plan.CodeWeightUnreachable)
		}
		if t != tenant && len(why) > 0 {
			met, codes = append(met, t), append(codes, why...)
		}
	}
	if len(met) > 0 {
		return phrase.Of("plan.see-met", "codes", sorted(codes), "tenants", plan.Bounded(met))
	}
	if links < 2 {
		return phrase.Of("plan.unexplained")
	}
	return phrase.Of("plan.many-limits")
}

// sorted sorts names and drops repetitions.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// turnsFix returns the advice for classes that take turns at sending ports.
func turnsFix(m *model.Model, ports []string) phrase.Text {
	var lanes phrase.Text
	if m.Plane == subnet.PlaneIB {
		lanes = phrase.Of("plan.classes.lanes")
	}
	return phrase.Of("plan.classes.fix",
		"ports", plan.Bounded(ports), "lanes", lanes)
}

// missesClass reports whether a class of the tenant is predicted to get more than 5 % off its entitlement.
func missesClass(p *plan.Plan, tenant string) bool {
	return slices.ContainsFunc(p.Classes, func(c plan.ClassShare) bool {
		d := c.Predicted - c.Entitled
		return c.Tenant == tenant && max(d, -d)*20 > c.Entitled+20
	})
}

// causes lists, once each, the codes of findings about any of the tenants that can explain a missed share.
func causes(fs []plan.Finding, tenants []string) []string {
	var out []string
	for i := range fs {
		switch fs[i].Code {
		case plan.CodeWeightUnreachable, plan.CodeLanesNeedSM, plan.CodeSLSplit, plan.CodeSlowConvergence, plan.CodeMarkingSparse, plan.CodePathsByChance, plan.CodeSharingApproximate:
			continue
		}
		if !slices.Contains(out, fs[i].Code) && slices.ContainsFunc(fs[i].Tenants, func(t string) bool { return slices.Contains(tenants, t) }) {
			out = append(out, fs[i].Code)
		}
	}
	slices.Sort(out)
	return out
}
