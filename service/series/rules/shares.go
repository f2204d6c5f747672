package rules

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"fairlane/service/series"
)

// copyInterval is the time between two evaluations of the rules about long windows.
const copyInterval = 5 * time.Minute

// longWindow is the shortest window whose increases are computed every copyInterval, from the copies.
const longWindow = 24 * time.Hour

// period is the window of an objective.
const period = 28 * 24 * time.Hour

// window is a length of time with the name that Prometheus gives it.
type window struct {
	name   string
	length time.Duration
}

func (w window) long() bool { return w.length >= longWindow }

// windows are the windows of the error ratios.
var windows = []window{
	{"5m", 5 * time.Minute},
	{"30m", 30 * time.Minute},
	{"1h", time.Hour},
	{"2h", 2 * time.Hour},
	{"6h", 6 * time.Hour},
	{"1d", 24 * time.Hour},
	{"3d", 3 * 24 * time.Hour},
	{"28d", period},
}

// History returns how far rules look back at measured series, and at the copies of counters.
func History() (raw, copies time.Duration) {
	for _, w := range windows {
		if !w.long() {
			raw = max(raw, w.length)
		}
	}
	return raw, period
}

// burn is one row of the table of burn rates in the SRE workbook ("Alerting on SLOs"): an alert fires when the error budget is used
// faster than Rate in both windows. The short window ends the alert soon after the cause ends.
type burn struct {
	rate        float64
	long, short string
	severity    string
}

var burns = []burn{
	{14.4, "1h", "5m", Page}, // 2 % of the budget of 28 days
	{6, "6h", "30m", Page},   // 5 %
	{3, "1d", "2h", Ticket},  // 11 %
	{1, "3d", "6h", Ticket},  // 11 %
}

// minContendedHour is the least number of contended seconds in an hour from which an alert can follow. It falls with the burn rate in
// longer windows: with an objective of 99 %, at least 60 × 14.4 % = 8.64 bad seconds are behind each alert.
const minContendedHour = 60

// minContended returns the least number of contended seconds in the long window of an alert.
func (b burn) minContended() float64 { return minContendedHour * burns[0].rate / b.rate }

func errorRatio(window string) string { return series.RecordedErrorRatio + window }

// contended returns the expression of the contended seconds in a window of an alert.
func contended(name string) string {
	if slices.ContainsFunc(windows, func(w window) bool { return w.name == name && w.long() }) {
		return latest(series.RecordedContended + name)
	}
	return series.RecordedContended + name
}

// latest returns the expression of a series that has a sample every copyInterval, which is longer than a sample is current.
func latest(name string) string {
	return fmt.Sprintf("last_over_time(%s[%s])", name, duration(3*copyInterval))
}

// increase returns the expression of a counter's increase in a window, by tenant.
func increase(counter, window string) string {
	return fmt.Sprintf("sum by (fabric, tenant) (increase(%s[%s]))", counter, window)
}

// sloth are the labels by which Sloth's dashboards find an objective.
var sloth = []Pair{{"sloth_id", "fairlane-share"}, {"sloth_service", "fairlane"}, {"sloth_slo", "share"}}

// copies record copies of the counters, and from them the increases in long windows: 28 days are too many samples to read them more often
// than they change.
func copies() []Rule {
	list := []Rule{
		{Record: series.RecordedBadCopy, Expr: series.TenantBad},
		{Record: series.RecordedContendedCopy, Expr: series.TenantContended},
	}
	for _, w := range windows {
		if w.long() {
			list = append(list,
				Rule{Record: series.RecordedBad + w.name, Expr: increase(series.RecordedBadCopy, w.name)},
				Rule{Record: series.RecordedContended + w.name, Labels: sloth, Expr: increase(series.RecordedContendedCopy, w.name)})
		}
	}
	return list
}

// shares are the rules about the objectives of tenants.
func shares() []Rule {
	list := []Rule{
		{Record: series.RecordedObjective, Expr: fmt.Sprintf("max by (fabric, tenant) (%s)", series.TenantObjective), Labels: sloth},
		{Record: series.RecordedBudget, Expr: "1 - " + series.RecordedObjective, Labels: sloth},
	}
	for _, w := range windows {
		bad, all := increase(series.TenantBad, w.name), increase(series.TenantContended, w.name)
		switch {
		case w.long():
			bad, all = latest(series.RecordedBad+w.name), contended(w.name)
		case slices.ContainsFunc(burns, func(b burn) bool { return b.long == w.name }):
			list = append(list, Rule{Record: series.RecordedContended + w.name, Labels: sloth, Expr: all})
			all = contended(w.name)
		}
		list = append(list, Rule{
			Record: errorRatio(w.name), Labels: slices.Concat(sloth, []Pair{{"sloth_window", w.name}}),
			Expr: fmt.Sprintf("%s / on (fabric, tenant) (%s > 0)", bad, all),
		})
	}
	list = append(list,
		Rule{Record: series.RecordedCurrentBurn, Expr: errorRatio(windows[0].name) + " / on (fabric, tenant) " + series.RecordedBudget, Labels: sloth},
		Rule{Record: series.RecordedPeriodBurn, Expr: errorRatio("28d") + " / on (fabric, tenant) " + series.RecordedBudget, Labels: sloth},
		Rule{Record: series.RecordedRemaining, Expr: "1 - " + series.RecordedPeriodBurn, Labels: sloth},
	)
	for _, b := range burns {
		list = append(list, b.alert())
	}
	return append(list, alert("FairlaneShareBudgetExhausted", Ticket, 0,
		fmt.Sprintf("max by (fabric, tenant) (%s) <= 0 and on (fabric, tenant) %s >= %s", series.RecordedRemaining, contended("28d"), number(burns[len(burns)-1].minContended()))))
}

// alert returns the rule of a row.
func (b burn) alert() Rule {
	above := func(window string) string {
		return fmt.Sprintf("(%s > on (fabric, tenant) (%s * %s))", errorRatio(window), number(b.rate), series.RecordedBudget)
	}
	expr := fmt.Sprintf("%s and on (fabric, tenant) %s and on (fabric, tenant) (%s >= %s)", above(b.long), above(b.short), contended(b.long), number(b.minContended()))
	return alert("FairlaneShareBudgetBurn", b.severity, 0, expr, Pair{"burn", number(b.rate)}, Pair{"long", b.long}, Pair{"short", b.short})
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
