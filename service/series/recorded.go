package series

// Names of the series that rules record about objectives (package rules). The first two copy counters every five minutes, for long
// windows; the others are those of Sloth.
const (
	RecordedBadCopy       = "slo:bad_seconds:total"
	RecordedContendedCopy = "slo:contended_seconds:total"
	RecordedObjective     = "slo:objective:ratio"
	RecordedBudget        = "slo:error_budget:ratio"
	RecordedCurrentBurn   = "slo:current_burn_rate:ratio"
	RecordedPeriodBurn    = "slo:period_burn_rate:ratio"
	RecordedRemaining     = "slo:period_error_budget_remaining:ratio"

	// Beginnings of names; the rest is a window such as "5m".
	RecordedErrorRatio = "slo:sli_error:ratio_rate"
	RecordedContended  = "slo:contended_seconds:increase"
	RecordedBad        = "slo:bad_seconds:increase" // of the long windows
)

// recordedFamilies describes the series that rules record, by name.
func recordedFamilies() []Family {
	tenant := []string{LabelFabric, LabelTenant}
	sloth := append(tenant[:2:2], "sloth_id", "sloth_service", "sloth_slo")
	const slow = ", every five minutes"
	var list []Family
	for _, w := range []string{"1d", "28d", "3d"} {
		list = append(list, Family{RecordedBad + w, Gauge, tenant, "bad seconds of a tenant in the last " + w + slow, true})
	}
	list = append(list, Family{RecordedBadCopy, Counter, tenant, TenantBad + " every five minutes, for long windows", true})
	for _, w := range []struct{ name, note string }{{"1d", slow}, {"1h", ""}, {"28d", slow}, {"3d", slow}, {"6h", ""}} {
		list = append(list, Family{RecordedContended + w.name, Gauge, sloth, "contended seconds of a tenant in the last " + w.name + w.note, true})
	}
	list = append(list,
		Family{RecordedContendedCopy, Counter, tenant, TenantContended + " every five minutes, for long windows", true},
		Family{RecordedCurrentBurn, Gauge, sloth, "burn rate of the last 5m: the error ratio over the error budget; at 1 the budget of 28 days lasts 28 days", true},
		Family{RecordedBudget, Gauge, sloth, "error budget of a tenant: 1 less its objective", true},
		Family{RecordedObjective, Gauge, sloth, TenantObjective + ", of all managers", true},
		Family{RecordedPeriodBurn, Gauge, sloth, "burn rate of the last 28d", true},
		Family{RecordedRemaining, Gauge, sloth, "fraction of the error budget of the last 28d that is not used; below 0 when more was used", true},
	)
	window := append(sloth[:5:5], "sloth_window")
	for _, w := range []string{"1d", "1h", "28d", "2h", "30m", "3d", "5m", "6h"} {
		list = append(list, Family{RecordedErrorRatio + w, Gauge, window, "bad seconds over contended seconds of a tenant in the last " + w + "; absent when it did not contend", true})
	}
	return list
}
