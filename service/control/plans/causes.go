package plans

import (
	"maps"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
)

// CausesBeyondFeeds lists what else than attachments of feeds distinguishes a plan from an earlier one. It compares what
// the plans were compiled from: tenants with the attachments that the operator claims, flows, options and topology. Device
// profiles and the version of the compiler are not recorded with a plan, so it does not see their changes.
func CausesBeyondFeeds(before, after control.Plan) []phrase.Text {
	a, b := before.Input, after.Input
	changed := changedTenants(a.Tenants, b.Tenants)
	var causes []phrase.Text
	for _, c := range []struct {
		differs bool
		said    phrase.Text
	}{
		{len(changed) > 0, phrase.Of("cause.tenants", "names", phrase.Names(changed, len(changed), maxNamed))},
		{!slices.Equal(a.Flows, b.Flows), phrase.Of("cause.flows")},
		{!control.SameJSON(a.Options, b.Options), phrase.Of("cause.options")},
		{a.Snapshot != b.Snapshot, phrase.Of("cause.topology")},
		{b.InForce != "" && b.InForce != before.Plan.Name, phrase.Of("cause.placements")},
	} {
		if c.differs {
			causes = append(causes, c.said)
		}
	}
	return causes
}

// maxNamed bounds the tenants that a cause names.
const maxNamed = 8

// changedTenants names the tenants that differ in more than attachments of feeds, sorted.
func changedTenants(before, after []tenants.Tenant) []string {
	was, names := map[string]tenants.Tenant{}, map[string]bool{}
	for _, t := range tenants.OwnOnly(before) {
		was[t.Name], names[t.Name] = t, true
	}
	for _, t := range tenants.OwnOnly(after) {
		old, had := was[t.Name]
		names[t.Name] = !had || !control.SameJSON(old, t)
	}
	maps.DeleteFunc(names, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(names))
}
