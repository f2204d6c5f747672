package remote

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/texttable"
)

func (c *cli) share() *cobra.Command {
	var plan, tenant string
	var window, every time.Duration
	var watch bool
	run := func(always bool) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			switch {
			case window < time.Millisecond || window > time.Minute:
				return c.usage("err.window", "flag", "window", "found", window)
			case every < 100*time.Millisecond:
				return c.usage("err.every", "found", every)
			case watch || always:
				return c.shareWatch(cmd, plan, tenant, window, every)
			}
			return c.shareShow(cmd, plan, tenant, window)
		}
	}
	show := c.verb("share", "show", "  fairlane share show --window 200ms --watch\n  fairlane share show --tenant gold\n  fairlane share show --top 5", cobra.NoArgs, run(false))
	show.Flags().BoolVar(&watch, "watch", false, c.t("flag.watch"))
	follow := c.verb("share", "watch", "  fairlane share watch --tenant gold\n  fairlane share watch --every 10s --json", cobra.NoArgs, run(true))
	for _, cmd := range []*cobra.Command{show, follow} {
		f := cmd.Flags()
		f.StringVar(&plan, "plan", "", c.t("flag.plan-default"))
		f.DurationVar(&window, "window", 100*time.Millisecond, c.t("flag.window"))
		f.DurationVar(&every, "every", 2*time.Second, c.t("flag.every"))
		f.StringVar(&tenant, "tenant", "", c.t("flag.share-tenant"))
	}
	c.long("flag.quiet-shares", show, follow)
	return c.noun("share", append(c.shareKept(), show, follow, c.shareReportVerb())...)
}

func (c *cli) shareShow(cmd *cobra.Command, plan, tenant string, window time.Duration) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	ms := window.Milliseconds()
	s, err := found[gen.Shares](c)(client.GetSharesWithResponse(cmd.Context(), fabric, &gen.GetSharesParams{WindowMs: &ms, Plan: given(plan)}))
	if err != nil {
		return err
	}
	return c.showShares(cmd, s, tenant)
}

// onlyTenant reduces a measurement to one tenant. It drops the links, because tenants share them.
func (c *cli) onlyTenant(s *gen.Shares, tenant string) error {
	at := slices.IndexFunc(s.Tenants, func(x gen.TenantShare) bool { return x.Tenant == tenant })
	if at < 0 {
		return c.usage("err.share-tenant", "found", fmt.Sprintf("%q", tenant))
	}
	s.Tenants, s.Links = s.Tenants[at:at+1], nil
	return nil
}

// incompleteError reports that a part of an answer was not measured. The command ends with exit code 1, in every output
// format.
type incompleteError struct{ text string }

// Error returns the number of tenants and links that were not measured.
func (e *incompleteError) Error() string { return e.text }

// showShares prints a measurement, optionally of one tenant, and fails with *incompleteError if it lacks a tenant or a
// link.
func (c *cli) showShares(cmd *cobra.Command, s *gen.Shares, tenant string) error {
	return c.showMeasured(cmd, s, tenant, nil, func(tables ...func() *table) error { return c.print(cmd, s, tables...) })
}

// showMeasured is showShares with sparklines of earlier measurements, unless recent is nil, and with a function that prints.
func (c *cli) showMeasured(cmd *cobra.Command, s *gen.Shares, tenant string, recent *recentShares, print func(tables ...func() *table) error) error {
	if !c.rows.quiet {
		without, _ := notMeasured(s)
		c.sayShares(cmd, s, without)
	}
	if tenant != "" { // the summary is about all tenants
		if err := c.onlyTenant(s, tenant); err != nil {
			return err
		}
	}
	tenants, links := notMeasured(s)
	all, ofLinks := len(s.Tenants), len(s.Links)
	if c.rows.quiet {
		onlyWrong(s)
	}
	tenantTable := func() *table { return c.shareTable(s) }
	if recent != nil {
		tenantTable = func() *table { return c.recentTable(s, recent) }
	}
	err := print(tenantTable, func() *table { return c.linkTable(s) })
	if err == nil && tenants+links > 0 {
		err = &incompleteError{c.t("err.incomplete", "tenants", tenants, "of", all, "links", links, "of-links", ofLinks)}
	}
	return err
}

// farOff is the share error above which --quiet shows a tenant if the service does not report the plane's limit: the
// smallest limit of all planes.
const farOff = 0.05

// onlyWrong keeps the tenants that were not measured or deviate from their share, and the links that were not measured.
func onlyWrong(s *gen.Shares) {
	limit := cmp.Or(cmdline.OrZero(s.ShareErrorLimit), farOff)
	s.Tenants = slices.DeleteFunc(s.Tenants, func(x gen.TenantShare) bool { return x.DeliveredBps != nil && cmdline.OrZero(x.ShareError) <= limit })
	s.Links = slices.DeleteFunc(s.Links, func(l gen.LinkUse) bool { return l.DeliveredBps != nil })
}

// sayShares summarizes a measurement; tenants is the number of those that were not measured.
func (c *cli) sayShares(cmd *cobra.Command, s *gen.Shares, tenants int) {
	window := time.Duration(s.WindowMs) * time.Millisecond
	switch {
	case s.Plan == "": // a caller with access to some tenants only gets no totals
		c.say(cmd, "msg.own-shares", "window", window)
	case len(s.Tenants) == 0:
		c.say(cmd, "msg.shares-none", "plan", short(s.Plan))
	default:
		c.say(cmd, "msg.shares", "window", window, "plan", short(s.Plan), "measured", len(s.Tenants)-tenants, "tenants", len(s.Tenants), "error", c.worstShare(s), "jain", jainOrDash(s.JainIndex))
	}
	c.sayAtSenders(cmd, s)
	if s.Coverage != nil && *s.Coverage < fullCoverage {
		c.say(cmd, "msg.coverage", "coverage", cmdline.Percent(*s.Coverage))
	}
	if l := s.CongestionControl; l != nil {
		c.say(cmd, "loop."+string(l.State), "text", clean(c.texts.Either(l.Text, l.Said)))
	}
}

// worstShare returns the largest share error, with its tenant if there are several.
func (c *cli) worstShare(s *gen.Shares) string {
	worst := cmdline.PercentOrDash(s.MaxShareError)
	for _, x := range s.Tenants {
		if s.MaxShareError != nil && x.ShareError != nil && *x.ShareError == *s.MaxShareError && len(s.Tenants) > 1 {
			return c.t("msg.worst-share", "error", worst, "tenant", x.Tenant)
		}
	}
	return worst
}

// sayAtSenders names the tenants that are measured at their sending ports.
func (c *cli) sayAtSenders(cmd *cobra.Command, s *gen.Shares) {
	var at []string
	var most *int64
	for _, x := range s.Tenants {
		if cmdline.OrZero(x.AtSenders) {
			at = append(at, x.Tenant)
			if x.AmbiguousBps != nil && *x.AmbiguousBps >= cmdline.OrZero(most) {
				most = x.AmbiguousBps
			}
		}
	}
	switch names := strings.Join(at, ", "); {
	case len(at) > 0 && most != nil:
		c.printWrapped(cmd, c.t("msg.shares-at-senders", "tenants", names, "rate", measuredRate(most)))
	case len(at) > 0:
		c.printWrapped(cmd, c.t("msg.shares-at-senders-unread", "tenants", names))
	}
}

// fullCoverage is the coverage from which it is not mentioned.
const fullCoverage = 0.99

// notMeasured counts the tenants and links that were not measured.
func notMeasured(s *gen.Shares) (tenants, links int) {
	for _, x := range s.Tenants {
		if x.DeliveredBps == nil {
			tenants++
		}
	}
	for _, l := range s.Links {
		if l.DeliveredBps == nil {
			links++
		}
	}
	return tenants, links
}

// jainOrDash returns an index, or a dash if it was not measured.
func jainOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4f", *v)
}

// measuredRate returns a rate, or a dash if it was not measured.
func measuredRate(v *int64) string {
	if v == nil {
		return "-"
	}
	return quantity.BitRate(*v).String()
}

// barOr draws a measured part as bar does; for an unmeasured one it states the reason.
func (c *cli) barOr(part *int64, entitled, whole float64, problem *string, said *phrase.Text) texttable.Cell {
	if part == nil {
		return texttable.Cell{Text: clean(c.t("msg.not-measured", "problem", c.texts.Either(cmdline.OrZero(problem), said)))}
	}
	return bar(float64(*part), entitled, whole)
}

func (c *cli) linkTable(s *gen.Shares) *table {
	if len(s.Links) == 0 {
		return nil
	}
	t := c.newTable("link", "rate>", "delivered>", "use>", "share")
	for _, l := range s.Links {
		rank := math.Inf(1) // for rows that were not measured
		if l.DeliveredBps != nil {
			rank = cmdline.OrZero(l.Use)
		}
		t.addRanked(rank, l.Name, quantity.BitRate(l.CapacityBps), measuredRate(l.DeliveredBps), cmdline.PercentOrDash(l.Use), c.barOr(l.DeliveredBps, 0, float64(l.CapacityBps), l.Problem, l.Said))
	}
	return t
}

func (c *cli) shareTable(s *gen.Shares) *table {
	if len(s.Tenants) == 0 && c.rows.quiet {
		return nil
	}
	t := c.newTable("tenant", "weight>", "entitled>", "delivered>", "error>", "limited-by", "share")
	var most float64
	for _, x := range s.Tenants {
		most = max(most, float64(x.EntitledBps), float64(cmdline.OrZero(x.DeliveredBps)))
	}
	for _, x := range s.Tenants {
		t.addRanked(offBy(x), x.Tenant, x.Weight, quantity.BitRate(x.EntitledBps), measuredRate(x.DeliveredBps), cmdline.PercentOrDash(x.ShareError), c.limitedBy(&x),
			c.barOr(x.DeliveredBps, float64(x.EntitledBps), most, x.Problem, x.Said))
	}
	return t
}

// limitedBy says what limits a tenant: the name of a link, or a reason why no contended link does.
func (c *cli) limitedBy(x *gen.TenantShare) string {
	switch {
	case x.Contention == nil || *x.Contention == gen.ContentionNotMeasured:
		return "-"
	case x.LimitingLink != nil:
		return clean(*x.LimitingLink)
	}
	return c.t("contention." + string(*x.Contention))
}

// offBy returns a tenant's share error; for an unmeasured one, infinity.
func offBy(x gen.TenantShare) float64 {
	if x.DeliveredBps == nil {
		return math.Inf(1)
	}
	return cmdline.OrZero(x.ShareError)
}
