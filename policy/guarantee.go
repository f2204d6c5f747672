package policy

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/model"
	"fairlane/policy/plan"
)

// guaranteeFindings reports the links whose guarantees exceed fill.BookablePercent of them, and are scaled down.
func guaranteeFindings(m *model.Model, target *model.Allocation) []plan.Finding {
	if len(target.Overbooked) == 0 {
		return nil
	}
	on := make(map[int32][]int32, len(target.Overbooked))
	for _, d := range target.Overbooked {
		on[d] = nil
	}
	for i := range m.Flows {
		t := m.Flows[i].Tenant
		if m.Tenants[t].Guarantee == 0 {
			continue
		}
		for _, d := range m.Flows[i].Links {
			if ts, over := on[d]; over && !slices.Contains(ts, t) {
				on[d] = append(ts, t)
			}
		}
	}
	out := make([]plan.Finding, 0, len(target.Overbooked))
	for _, d := range target.Overbooked {
		var sum quantity.BitRate
		var names []string
		var parts []phrase.Text
		for _, t := range on[d] {
			g := m.Tenants[t].Guarantee
			if c := m.Tenants[t].Cap; c > 0 {
				g = min(g, c)
			}
			sum += g
			names = append(names, m.Tenants[t].Name)
			parts = append(parts, phrase.Of("plan.guaranteed", "tenant", m.Tenants[t].Name, "rate", g))
		}
		most := quantity.BitRate(m.Caps[d]) / 100 * fill.BookablePercent
		link := m.LinkName(d)
		out = append(out, plan.NewFinding(plan.CodeOverbooked, names, []string{link},
			phrase.Of("plan.guarantee-overbooked",
				"link", link, "sum", sum, "parts", phrase.Commas(plan.Bounded(parts)), "most", most),
			phrase.Of("plan.guarantee-overbooked.fix", "most", most)))
	}
	return out
}
