package policy

import (
	"fmt"
	"slices"

	"fairlane/tenants"
)

// unenforced reports the tenants that are predicted to get more on a link than their cap, with why that is and what
// helps, on planes whose settings bound no rate.
func (m *model) unenforced(predicted *allocation, why, fix string) []Finding {
	if !slices.ContainsFunc(m.tenants, func(t tenants.Tenant) bool { return t.Cap > 0 }) {
		return nil
	}
	var out []Finding
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
			out = append(out, Finding{Code: CodeCapUnenforced, Tenants: []string{m.tenants[t].Name}, Fix: fix,
				Message: fmt.Sprintf("tenant %s is capped at %s and predicted to get %s on a link: %s", m.tenants[t].Name, rate(limit), rate(most), why)})
		}
	}
	return out
}
