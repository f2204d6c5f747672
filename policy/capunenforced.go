package policy

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/policy/plan"
	"fairlane/tenants"
)

// unenforced reports the tenants that are predicted to get more on a link than their cap, with why that is and what
// helps, on planes whose settings bound no rate.
func (m *model) unenforced(predicted *allocation, why, fix phrase.Text) []plan.Finding {
	if !slices.ContainsFunc(m.tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		return nil
	}
	var out []plan.Finding
	links := make([]float64, len(m.caps)) // of the tenant at hand
	for t, flows := range m.flowsByTenant() {
		limit, most := float64(m.tenants[t].Cap), 0.0
		if limit == 0 {
			continue
		}
		for _, f := range flows {
			for _, d := range m.flows[f].links {
				links[d] += predicted.rates[f]
				most = max(most, links[d])
			}
		}
		for _, f := range flows {
			for _, d := range m.flows[f].links {
				links[d] = 0
			}
		}
		if most > limit*(1+maxQuantisation) {
			name := m.tenants[t].Name
			out = append(out, plan.NewFinding(plan.CodeCapUnenforced, []string{name}, nil,
				phrase.Of("plan.cap-unenforced", "tenant", name, "cap", rate(limit), "predicted", rate(most), "reason", why), fix))
		}
	}
	return out
}

// flowsByTenant lists the flows of each tenant.
func (m *model) flowsByTenant() [][]int32 {
	out := make([][]int32, len(m.tenants))
	for i := range m.flows {
		t := m.flows[i].tenant
		out[t] = append(out[t], int32(i))
	}
	return out
}
