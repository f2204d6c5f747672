package remote

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
)

const (
	monthFormat = "2006-01"
	day         = 24 * time.Hour
)

// tenantStates lists the states of tenants, in the order of a report's columns.
var tenantStates = [...]string{"contending", "demand", "idle", "cap", "own-port", "other-link", "path-down", "not-measured"}

// shareReport holds the received shares of tenants in a month, for charge-back.
type shareReport struct {
	Fabric        string         `json:"fabric"`
	Month         string         `json:"month"`
	From          time.Time      `json:"from"`
	To            time.Time      `json:"to"` // the end of the month, or now
	PeriodSeconds float64        `json:"period_seconds"`
	Tenants       []reportTenant `json:"tenants"`
	MissingDays   []string       `json:"missing_days"` // without a measurement of any of Tenants
}

// reportTenant is the row of a tenant. What was not measured is absent.
type reportTenant struct {
	Tenant string `json:"tenant"`
	// Each measured window represents its period (shareSteps.stands).
	ContendedSeconds *float64 `json:"contended_seconds,omitempty"`
	BadSeconds       *float64 `json:"bad_seconds,omitempty"`
	Good             *float64 `json:"good_ratio,omitempty"` // part of the contended seconds that were not bad
	Objective        *float64 `json:"objective_ratio,omitempty"`
	// DeliveredBits is the average rate of each day times the time that its measurements stand for; time without a measurement adds
	// nothing.
	DeliveredBits *float64           `json:"delivered_bits_extrapolated,omitempty"`
	Measured      float64            `json:"measured_ratio"`
	Coverage      *float64           `json:"coverage_ratio,omitempty"`
	StateSeconds  map[string]float64 `json:"state_seconds"`
	MissingDays   []string           `json:"missing_days"`
}

// shareReportVerb is share report.
func (c *cli) shareReportVerb() *cobra.Command {
	var month, tenant string
	var asCSV bool
	report := c.verb("share", "report", "  fairlane share report --month 2026-11\n  fairlane share report --month 2026-11 --csv > november.csv", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if asCSV && c.output != "table" {
			return c.usage("err.csv-or-output")
		}
		return c.shareReport(cmd, month, tenant, asCSV)
	})
	f := report.Flags()
	f.StringVar(&month, "month", "", c.t("flag.report-month"))
	f.StringVar(&tenant, "tenant", "", c.t("flag.share-tenant"))
	f.BoolVar(&asCSV, "csv", false, c.t("flag.csv"))
	c.long("", report)
	return report
}

func (c *cli) shareReport(cmd *cobra.Command, month, tenant string, asCSV bool) error {
	now := time.Now().UTC()
	from := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	if month != "" {
		var err error
		if from, err = time.Parse(monthFormat, month); err != nil {
			return c.usage("err.month", "found", fmt.Sprintf("%q", month))
		}
	}
	if from.After(now) {
		return c.usage("err.month-future", "found", from.Format(monthFormat))
	}
	k, err := c.pickSeries(cmd)
	if err != nil {
		return err
	}
	r, err := k.report(from, tenant)
	if err != nil {
		return err
	}
	if len(r.MissingDays) > 0 {
		c.say(cmd, "msg.missing-days", "days", dayRanges(r.MissingDays))
	}
	if asCSV {
		return r.csv(cmd.OutOrStdout())
	}
	return c.print(cmd, r, func() *table { return c.reportTable(r) })
}

// report reads a month.
func (k *keptSeries) report(from time.Time, tenant string) (*shareReport, error) {
	end := from.AddDate(0, 1, 0)
	s, err := k.steps(from, day, int(end.Sub(from)/day), tenant)
	if err == nil {
		err = k.totals(s, tenant)
	}
	if err != nil {
		return nil, err
	}
	if s.now.Before(end) {
		end = s.now.UTC().Truncate(time.Second)
	}
	r := &shareReport{Fabric: k.fabric, Month: from.Format(monthFormat), From: from, To: end, PeriodSeconds: k.period.Seconds(), Tenants: []reportTenant{}, MissingDays: []string{}}
	missing := map[string]int{} // number of tenants without a measurement, by day
	for _, name := range s.names() {
		x := reportOf(s, name)
		for _, date := range x.MissingDays {
			missing[date]++
		}
		r.Tenants = append(r.Tenants, x)
	}
	for i := range s.n {
		if date := s.begin(i).Format(time.DateOnly); s.passed(i) > 0 && missing[date] == len(r.Tenants) {
			r.MissingDays = append(r.MissingDays, date)
		}
	}
	return r, nil
}

// reportOf sums up the days of a tenant.
func reportOf(s *shareSteps, name string) reportTenant {
	out := reportTenant{Tenant: name, StateSeconds: map[string]float64{}, MissingDays: []string{}}
	var made, due, judged float64
	var covered *float64
	for i := range s.n {
		if s.passed(i) == 0 {
			continue
		}
		x := &s.tenants[name][i]
		each := s.secondsEach(i, x)
		made, due = made+min(x.measured, s.due(i)), due+s.due(i)
		if s.coverage[i] != nil {
			addTo(&covered, *s.coverage[i]*s.due(i))
		}
		if x.objective != nil {
			out.Objective = x.objective
		}
		for state, n := range x.states {
			out.StateSeconds[state] += n * each
		}
		if x.delivered != nil {
			addTo(&out.DeliveredBits, *x.delivered*x.measured*each)
		}
		if bad, of := x.badOf(); bad != nil {
			judged += of * each
			addTo(&out.BadSeconds, *bad*each)
		}
		if x.measured == 0 && len(x.states) == 0 {
			out.MissingDays = append(out.MissingDays, s.begin(i).Format(time.DateOnly))
		}
	}
	if len(out.StateSeconds) > 0 {
		out.ContendedSeconds = new(out.StateSeconds["contending"])
	}
	if out.DeliveredBits != nil {
		*out.DeliveredBits = math.Round(*out.DeliveredBits)
	}
	out.Measured = made / due
	if covered != nil {
		out.Coverage = new(*covered / due)
	}
	if judged > 0 {
		out.Good = new(1 - *out.BadSeconds/judged)
	}
	return out
}

// badOf returns the number of bad measurements among those in which the tenant contended, which it returns too; nil when it is not known.
// The counters miss a measurement at a reset or without one before it, so only their ratio is used.
func (x *shareCell) badOf() (bad *float64, of float64) {
	of = x.states["contending"]
	switch {
	case len(x.states) == 0:
		return nil, 0
	case of == 0:
		return new(0.0), 0
	case x.bad == nil || x.contended == nil || *x.contended <= 0:
		return nil, 0
	}
	return new(math.Round(of * min(*x.bad / *x.contended, 1))), of
}

func addTo(sum **float64, v float64) {
	if *sum == nil {
		*sum = new(0.0)
	}
	**sum += v
}

// dayRanges writes days in order, successive ones as an interval of ISO 8601: "2026-11-01/2026-11-03, 2026-11-07".
func dayRanges(days []string) string {
	var out []string
	for i := 0; i < len(days); {
		j := i
		for j+1 < len(days) && successive(days[j], days[j+1]) {
			j++
		}
		if j == i {
			out = append(out, days[i])
		} else {
			out = append(out, days[i]+"/"+days[j])
		}
		i = j + 1
	}
	return strings.Join(out, ", ")
}

func successive(a, b string) bool {
	x, err := time.Parse(time.DateOnly, a)
	return err == nil && x.AddDate(0, 0, 1).Format(time.DateOnly) == b
}

// csv writes the report as RFC 4180 has it, with a header. The columns are stable; new ones are appended.
func (r *shareReport) csv(w io.Writer) error {
	head := []string{
		"month", "fabric", "tenant", "from", "to", "contended_seconds", "bad_seconds", "good_ratio", "objective_ratio", "delivered_bits_extrapolated", "measured_ratio", "coverage_ratio", "days_missing",
	}
	for _, state := range tenantStates {
		head = append(head, "state_"+strings.ReplaceAll(state, "-", "_")+"_seconds")
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	if err := out.Write(head); err != nil {
		return err
	}
	for i := range r.Tenants {
		x := &r.Tenants[i]
		row := []string{
			r.Month, r.Fabric, x.Tenant, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), decimal(x.ContendedSeconds), decimal(x.BadSeconds), decimal(x.Good), decimal(x.Objective),
			decimal(x.DeliveredBits), decimal(&x.Measured), decimal(x.Coverage), strconv.Itoa(len(x.MissingDays)),
		}
		for _, state := range tenantStates {
			var s *float64
			if x.ContendedSeconds != nil { // states are known
				s = new(x.StateSeconds[state])
			}
			row = append(row, decimal(s))
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// decimal writes a number with at most six decimals; nothing for one that is not known.
func decimal(v *float64) string {
	if v == nil {
		return ""
	}
	if whole := math.Round(*v); whole == *v { // a division would move large ones
		return strconv.FormatFloat(whole, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(*v*1e6)/1e6, 'f', -1, 64)
}

func (c *cli) reportTable(r *shareReport) *table {
	if len(r.Tenants) == 0 {
		return nil
	}
	t := c.newTable("tenant", "contended>", "bad>", "good>", "objective>", "delivered-bits>", "measured>", "coverage?>", "states")
	for i := range r.Tenants {
		x := &r.Tenants[i]
		var states []string
		for _, state := range tenantStates {
			if s := x.StateSeconds[state]; s > 0 {
				states = append(states, c.known("tenant-state.", state)+" "+seconds(&s))
			}
		}
		t.addRanked(-cmdline.OrZero(x.Good), x.Tenant, seconds(x.ContendedSeconds), seconds(x.BadSeconds), cmdline.PercentOrDash(x.Good), cmdline.PercentOrDash(x.Objective),
			bits(x.DeliveredBits), cmdline.Percent(x.Measured), cmdline.PercentOrDash(x.Coverage), strings.Join(states, c.t("list.separator")))
	}
	return t
}

// bits writes a number of bits in the largest unit that gives at least one, with at most three decimals. A month of a tenant can have more
// than an int64 holds.
func bits(v *float64) string {
	if v == nil {
		return "-"
	}
	x, units := *v, []string{"bit", "kbit", "Mbit", "Gbit", "Tbit", "Pbit", "Ebit"}
	for len(units) > 1 && x >= 1000 {
		x, units = x/1000, units[1:]
	}
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64) + " " + units[0]
}

// seconds writes a number of seconds as a duration.
func seconds(v *float64) string {
	if v == nil {
		return "-"
	}
	return time.Duration(*v * float64(time.Second)).Round(time.Second).String()
}
