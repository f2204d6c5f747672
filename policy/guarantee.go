package policy

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/policy/fill"
)

// guaranteeFindings reports the links whose guarantees ask for more than fill.BookablePercent of them, and are scaled
// down.
func (m *model) guaranteeFindings(target *allocation) []Finding {
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
	out := make([]Finding, 0, len(target.overbooked))
	for _, d := range target.overbooked {
		f := Finding{Code: CodeOverbooked, Links: []string{m.linkName(d)}}
		var sum quantity.BitRate
		var parts []string
		for _, t := range on[d] {
			g := m.tenants[t].Guarantee
			if c := m.tenants[t].Cap; c > 0 {
				g = min(g, c)
			}
			sum += g
			f.Tenants = append(f.Tenants, m.tenants[t].Name)
			parts = append(parts, fmt.Sprintf("%s %s", m.tenants[t].Name, g))
		}
		most := quantity.BitRate(m.caps[d]) / 100 * fill.BookablePercent
		f.Message = fmt.Sprintf("%s is guaranteed %s (%s), which is more than the %s that can be booked of it: the guarantees are scaled down in proportion",
			f.Links[0], sum, strings.Join(bounded(parts), ", "), most)
		f.Fix = fmt.Sprintf("lower the guarantees to %s together, or place the tenants so that fewer of them meet there", most)
		out = append(out, f)
	}
	return out
}
