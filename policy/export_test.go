package policy

import "fairlane/policy/fill"

// KeepAll makes a Compiler remember parts of any size, and replay their histories to their end.
func (c *Compiler) KeepAll(all bool) { c.eager = all }

// Followed counts the histories that the last compilation replayed.
func (c *Compiler) Followed() int {
	n := 0
	for _, s := range []*fill.Solver{c.m.Targets, c.m.Forecasts} {
		n += s.Followed
	}
	return n
}

// ExpectedRates is the text of a tenant in share-uncertain.
var ExpectedRates = expectedRates
