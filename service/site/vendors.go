package site

import (
	"maps"
	"slices"

	"fairlane/internal/phrase"
)

// countVendor records the vendor of a port's NIC; empty is unknown.
func (c *etherCensus) countVendor(vendor, port string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.vendors == nil {
		c.vendors = map[string][]string{}
	}
	c.vendors[vendor] = append(c.vendors[vendor], port)
}

// mixedVendors names the ports of each vendor if a fabric has NICs of several: their congestion control differs, so a plan cannot
// divide a link among their flows by weights.
func (c *etherCensus) mixedVendors() []phrase.Text {
	if len(c.vendors) < 2 {
		return nil
	}
	var groups phrase.Commas
	for _, vendor := range slices.Sorted(maps.Keys(c.vendors)) {
		ports := slices.Sorted(slices.Values(c.vendors[vendor]))
		name := phrase.Verbatim(vendor)
		if vendor == "" {
			name = phrase.Of("inventory.vendor-unknown")
		}
		groups = append(groups, phrase.Of("inventory.vendor", "vendor", name, "names", firstNames(ports)))
	}
	return []phrase.Text{phrase.Of("inventory.mixed-vendors", "groups", groups)}
}
