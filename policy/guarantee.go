package policy

import (
	"slices"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/policy/fill"
	"fairlane/policy/plan"
)

// guaranteeFindings reports the links whose guarantees ask for more than fill.BookablePercent of them, and are scaled
// down.
func guaranteeFindings(m *model, target *allocation) []plan.Finding {
	if len(target.overbooked) == 0 {
		return nil
	}
	on := make(map[int32][]int32, len(target.overbooked))
	for _, d := range target.overbooked {
		on[d] = nil
	}
	for i := range m.flows {
		t := m.flows[i].tenant
		if m.tenants[t].Guarantee == 0 {
			continue
		}
		for _, d := range m.flows[i].links {
			if ts, over := on[d]; over && !slices.Contains(ts, t) {
				on[d] = append(ts, t)
			}
		}
	}
	out := make([]plan.Finding, 0, len(target.overbooked))
	for _, d := range target.overbooked {
		var sum quantity.BitRate
		var names []string
		var parts []phrase.Text
		for _, t := range on[d] {
			g := m.tenants[t].Guarantee
			if c := m.tenants[t].Cap; c > 0 {
				g = min(g, c)
			}
			sum += g
			names = append(names, m.tenants[t].Name)
			parts = append(parts, phrase.Of("plan.guaranteed", "tenant", m.tenants[t].Name, "rate", g))
		}
		most := quantity.BitRate(m.caps[d]) / 100 * fill.BookablePercent
		link := m.linkName(d)
		out = append(out, plan.NewFinding(plan.CodeOverbooked, names, []string{link},
			phrase.Of("plan.guarantee-overbooked",
				"link", link, "sum", sum, "parts", phrase.Commas(plan.Bounded(parts)), "most", most),
			phrase.Of("plan.guarantee-overbooked.fix", "most", most)))
	}
	return out
}
