package remote

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
)

// shareKept are the verbs for stored measurements.
func (c *cli) shareKept() []*cobra.Command {
	var h historyFlags
	history := c.verb("share", "history", "  fairlane share history --since 24h\n  fairlane share history --tenant gold -o json\n"+
		"  fairlane share history --since 24h --step auto\n  fairlane share history --why 14:05", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.anyHistory(cmd, &h) })
	f := history.Flags()
	f.StringVar(&h.since, "since", "", c.t("flag.share-since"))
	f.StringVar(&h.until, "until", "", c.t("flag.share-until"))
	f.StringVar(&h.tenant, "tenant", "", c.t("flag.history-tenant"))
	f.IntVar(&h.limit, "limit", 100, c.t("flag.history-limit"))
	f.StringVar(&h.step, "step", "", c.t("flag.history-step"))
	f.StringVar(&h.why, "why", "", c.t("flag.history-why"))
	c.long("", history)
	var plan string
	var window time.Duration
	measure := c.verb("share", "measure", "  fairlane share measure --window 200ms", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.shareMeasure(cmd, plan, window) })
	measure.Flags().StringVar(&plan, "plan", "", c.t("flag.plan-default"))
	measure.Flags().DurationVar(&window, "window", 100*time.Millisecond, c.t("flag.window"))
	c.writes(measure)
	c.long("flag.quiet-shares", measure)
	return []*cobra.Command{history, measure}
}

// anyHistory prints stored measurements, or what the series have.
func (c *cli) anyHistory(cmd *cobra.Command, f *historyFlags) error {
	given := cmd.Flags().Changed
	switch {
	case given("why") && (given("since") || given("until")):
		return c.usage("err.why-or-since")
	case given("limit") && (given("why") || given("step")):
		return c.usage("err.limit-or-step")
	case given("why"):
		return c.explainShares(cmd, f)
	case given("step"):
		return c.shareStepsHistory(cmd, f)
	}
	return c.shareHistory(cmd, f.since, f.until, f.tenant, f.limit)
}

func (c *cli) shareHistory(cmd *cobra.Command, since, until, tenant string, limit int) error {
	if limit < 1 {
		return c.usage("err.limit", "found", limit)
	}
	from, err := c.instant("since", since)
	if err != nil {
		return err
	}
	to, err := c.instant("until", until)
	if err != nil {
		return err
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := firstOf(limit, func(cursor *string) (*page[gen.Shares], error) {
		p := &gen.ListSharesParams{Since: from, Until: to, Limit: new(min(limit, maxPage)), Cursor: cursor}
		list, err := found[gen.SharesList](c)(client.ListSharesWithResponse(cmd.Context(), fabric, p))
		return (*page[gen.Shares])(list), err
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table { return c.historyTable(all, tenant) })
}

// historyTable has one row for each measurement, or for each measurement of one tenant.
func (c *cli) historyTable(all []gen.Shares, tenant string) *table {
	if tenant == "" {
		t := c.newTable("time", "plan", "window>", "measured>", "error>", "jain>", "tenants")
		for _, s := range all {
			cells := c.worstOf(s.Tenants)
			without, _ := notMeasured(&s)
			t.add(s.MeasuredAt.Format(timeFormat), short(s.Plan), time.Duration(s.WindowMs)*time.Millisecond, fmt.Sprintf("%d/%d", len(s.Tenants)-without, len(s.Tenants)),
				cmdline.PercentOrDash(s.MaxShareError), jainOrDash(s.JainIndex), strings.Join(cells, " "))
		}
		return t
	}
	t := c.newTable("time", "plan", "entitled>", "delivered>", "error>", "share")
	var most float64
	for _, s := range all {
		for _, x := range s.Tenants {
			if x.Tenant == tenant {
				most = max(most, float64(x.EntitledBps), float64(cmdline.OrZero(x.DeliveredBps)))
			}
		}
	}
	for _, s := range all {
		for _, x := range s.Tenants {
			if x.Tenant == tenant {
				t.add(s.MeasuredAt.Format(timeFormat), short(s.Plan), quantity.BitRate(x.EntitledBps), measuredRate(x.DeliveredBps), cmdline.PercentOrDash(x.ShareError),
					c.barOr(x.DeliveredBps, float64(x.EntitledBps), most, x.Problem, x.Said))
			}
		}
	}
	return t
}

// worstOf names tenants with their delivered rates; of many, those with the largest share errors.
func (c *cli) worstOf(list []gen.TenantShare) []string {
	const most = 4
	left := len(list) - most
	if left > 0 && !c.rows.all {
		list = slices.Clone(list)
		slices.SortStableFunc(list, func(a, b gen.TenantShare) int { return cmp.Compare(offBy(b), offBy(a)) })
		list = list[:most]
	}
	cells := make([]string, len(list))
	for i, x := range list {
		cells[i] = x.Tenant + "=" + measuredRate(x.DeliveredBps)
	}
	if left > 0 && !c.rows.all {
		cells = append(cells, "… +"+strconv.Itoa(left))
	}
	return cells
}

func (c *cli) shareMeasure(cmd *cobra.Command, plan string, window time.Duration) error {
	if window < time.Millisecond || window > time.Minute {
		return c.usage("err.window", "flag", "window", "found", window)
	}
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	ms := window.Milliseconds()
	s, err := created[gen.Shares](c)(client.MeasureSharesWithResponse(cmd.Context(), fabric, &gen.MeasureSharesParams{DryRun: given(c.dry), Plan: given(plan), WindowMs: &ms}))
	if err != nil {
		return err
	}
	if c.dry {
		c.say(cmd, "msg.dry-run")
	}
	return c.showShares(cmd, s, "")
}
