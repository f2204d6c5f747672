package model

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/policy/plan"
	"fairlane/tenants"
)

// UnenforcedCaps reports the tenants predicted to exceed their cap on a link. It serves planes whose settings do not bound rates; why gives
// the cause and fix the remedy.
func (m *Model) UnenforcedCaps(predicted *Allocation, why, fix phrase.Text) []plan.Finding {
	if !slices.ContainsFunc(m.Tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		return nil
	}
	var out []plan.Finding
	links := make([]float64, len(m.Caps)) // of the current tenant
	for t, flows := range m.FlowsByTenant() {
		limit, most := float64(m.Tenants[t].Cap), 0.0
		if limit == 0 {
			continue
		}
		for _, f := range flows {
			for _, d := range m.Flows[f].Links {
				links[d] += predicted.Rates[f]
				most = max(most, links[d])
			}
		}
		for _, f := range flows {
			for _, d := range m.Flows[f].Links {
				links[d] = 0
			}
		}
		if most > limit*(1+MaxQuantisation) {
			name := m.Tenants[t].Name
			out = append(out, plan.NewFinding(plan.CodeCapUnenforced, []string{name}, nil,
				phrase.Of("plan.cap-unenforced", "tenant", name, "cap", Rate(limit), "predicted", Rate(most), "reason", why), fix))
		}
	}
	return out
}

// FlowsByTenant lists the flows of each tenant.
func (m *Model) FlowsByTenant() [][]int32 {
	out := make([][]int32, len(m.Tenants))
	for i := range m.Flows {
		t := m.Flows[i].Tenant
		out[t] = append(out[t], int32(i))
	}
	return out
}
