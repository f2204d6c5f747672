package policy

import (
	"fairlane/internal/phrase"
	"fairlane/policy/ib"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
)

// uncertainFrom is the bound above which a finding names the tenant. On RoCE it is a tenth below MissLimit, since up to 5 of 100 tenants
// exceed their bound.
func uncertainFrom(m *model.Model) float64 {
	if m.Plane == subnet.PlaneRoCE {
		return 0.09
	}
	return plan.MissLimit(m.Plane)
}

// uncertainFinding names the tenants on contended links whose bound is above uncertainFrom, with the range of rates expected of each.
func uncertainFinding(m *model.Model, p *plan.Plan) []plan.Finding {
	on := make(map[string]bool)
	for i := range p.Links {
		for _, t := range p.Links[i].Tenants {
			on[t.Tenant] = true
		}
	}
	from := uncertainFrom(m)
	var names []string
	var parts []phrase.Text
	for i := range p.Tenants {
		t := &p.Tenants[i]
		if !on[t.Tenant] || t.Bound <= from {
			continue
		}
		names = append(names, t.Tenant)
		if len(parts) < plan.MaxNames {
			parts = append(parts, expectedRates(t))
		}
	}
	if len(names) == 0 {
		return nil
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, phrase.Of("list.and-more", "n", more))
	}
	advice := phrase.Of("plan.share-uncertain.fix", "period", ib.BoundTime)
	if m.Plane == subnet.PlaneRoCE {
		advice = phrase.Of("plan.share-uncertain.rates.fix")
	}
	return []plan.Finding{plan.NewFinding(plan.CodeShareUncertain, names, nil,
		phrase.Of("plan.share-uncertain", "from", phrase.PercentOf(from, 0), "tenants", plan.Counted(len(names), plan.KindTenant), "parts", parts), advice)}
}

// expectedRates returns the range of rates within the bound of a tenant's prediction.
func expectedRates(t *plan.TenantShare) phrase.Text {
	if t.Bound >= plan.UnknownBound {
		return phrase.Of("plan.range-unknown", "tenant", t.Tenant, "entitled", t.Entitled)
	}
	low, high := float64(float64(t.Predicted)*(1-t.Bound)), float64(float64(t.Predicted)*(1+t.Bound))
	return phrase.Of("plan.range", "tenant", t.Tenant, "low", model.Rate(low), "high", model.Rate(high), "entitled", t.Entitled)
}

// hashErrorFrom is the uncertainty from which a finding names it.
const hashErrorFrom = 0.05

// hashErrorFinding names the tenants whose shares depend on the paths that a hash chooses.
func hashErrorFinding(m *model.Model, hashErrors []float64) []plan.Finding {
	var names []string
	worst := 0.0
	for t, c := range hashErrors {
		if c > hashErrorFrom {
			names = append(names, m.Tenants[t].Name)
			worst = max(worst, c)
		}
	}
	if names == nil {
		return nil
	}
	return []plan.Finding{plan.NewFinding(plan.CodePathsByChance, plan.Bounded(names), nil,
		phrase.Of("plan.paths-by-chance", "tenants", plan.Counted(len(names), plan.KindTenant), "off", phrase.PercentOf(worst, 0)),
		phrase.Of("plan.paths-by-chance.fix"))}
}

// roughFinding reports that flows depend on each other too much to be shared out exactly.
func roughFinding(target, predicted *model.Allocation) []plan.Finding {
	n := max(target.Approximate, predicted.Approximate)
	if n == 0 {
		return nil
	}
	return []plan.Finding{plan.NewFinding(plan.CodeSharingApproximate, nil, nil,
		phrase.Of("plan.sharing-approximate", "n", n),
		phrase.Of("plan.sharing-approximate.fix"))}
}
