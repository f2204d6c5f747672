package remote

import (
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
)

// planQuestions are the verbs that read plans and change nothing.
func (c *cli) planQuestions() []*cobra.Command {
	var edits []string
	var options optionFlags
	var revision int64
	whatIf := c.verb("plan", "what-if", "  fairlane plan what-if --edit weight:gold=8\n  fairlane plan what-if --edit fail:leaf1/P5 --edit remove:bronze -o json", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error {
			if len(edits) == 0 {
				return c.usage("err.need-flag", "flag", "edit")
			}
			body := gen.WhatIfRequest{Edits: edits, Policy: given(revision)}
			if o := new(gen.CompileOptions); options.fill(cmd, o) {
				body.Options = o
			}
			return c.planWhatIf(cmd, body)
		})
	whatIf.Flags().StringArrayVar(&edits, "edit", nil, c.t("flag.edit"))
	whatIf.Flags().Int64Var(&revision, "policy", 0, c.t("flag.policy"))
	options.add(c, whatIf)
	var against string
	diff := c.verb("plan", "diff NAME", "  fairlane plan diff 3f9a61c2\n  fairlane plan diff 3f9a61c2 --against bb2aeafab072", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.planDiff(cmd, args[0], against) })
	diff.Flags().StringVar(&against, "against", "", c.t("flag.against-plan"))
	var port, tenant string
	explain := c.verb("plan", "explain NAME", "  fairlane plan explain 3f9a61c2 --port host-001/P1\n  fairlane plan explain 3f9a61c2 --tenant gold", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error {
			return c.planExplain(cmd, args[0], &gen.ExplainPlanParams{Port: given(port), Tenant: given(tenant)})
		})
	explain.Flags().StringVar(&port, "port", "", c.t("flag.explain-port"))
	explain.Flags().StringVar(&tenant, "tenant", "", c.t("flag.explain-tenant"))
	c.long("", whatIf, diff, explain)
	return []*cobra.Command{c.planAdmit(), whatIf, diff, explain}
}

func (c *cli) planWhatIf(cmd *cobra.Command, body gen.WhatIfRequest) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	w, err := found[gen.WhatIf](c)(client.WhatIfWithResponse(cmd.Context(), fabric, body))
	if err != nil {
		return err
	}
	if c.output == "table" {
		c.findings(cmd, append(w.Notices, w.Findings...), offAfter(&w.Difference))
		c.say(cmd, "msg.what-if")
	}
	return c.print(cmd, w, c.difference(&w.Difference)...)
}

func (c *cli) planDiff(cmd *cobra.Command, plan, against string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	d, err := found[gen.PlanDifference](c)(client.DiffPlansWithResponse(cmd.Context(), fabric, plan, &gen.DiffPlansParams{Against: given(against)}))
	if err != nil {
		return err
	}
	if c.output == "table" {
		c.say(cmd, "msg.plan-diff", "from", short(d.From), "to", short(d.To))
		c.findings(cmd, d.Appeared, offAfter(d))
	}
	return c.print(cmd, d, c.difference(d)...)
}

// difference shows what changes for tenants, then for devices.
func (c *cli) difference(d *gen.PlanDifference) []func() *table {
	return []func() *table{func() *table { return c.tenantDifference(d) }, func() *table { return c.deviceDifference(d) }}
}

// offShare returns the relative deviation of a predicted rate from the entitled one; 0 without an entitlement.
func offShare(predicted, entitled int64) float64 {
	if entitled <= 0 {
		return 0
	}
	return math.Abs(float64(predicted)/float64(entitled) - 1)
}

// offAfter returns a function for the share error of tenants in the later plan of a difference.
func offAfter(d *gen.PlanDifference) func(tenant string) float64 {
	off := map[string]float64{}
	for _, x := range d.Tenants {
		if x.After != nil {
			off[x.Tenant] = offShare(x.After.PredictedBps, x.After.EntitledBps)
		}
	}
	return func(tenant string) float64 { return off[tenant] }
}

func (c *cli) tenantDifference(d *gen.PlanDifference) *table {
	t := c.newTable("tenant", "entitled-before>", "entitled-after>", "predicted-before>", "predicted-after>")
	off := offAfter(d)
	for _, x := range d.Tenants {
		row := []any{x.Tenant, "-", "-", "-", "-"}
		if b := x.Before; b != nil {
			row[1], row[3] = quantity.BitRate(b.EntitledBps), quantity.BitRate(b.PredictedBps)
		}
		if a := x.After; a != nil {
			row[2], row[4] = quantity.BitRate(a.EntitledBps), quantity.BitRate(a.PredictedBps)
		}
		t.addRanked(off(x.Tenant), row...)
	}
	return t
}

func (c *cli) deviceDifference(d *gen.PlanDifference) *table {
	s := c.newTable("kind", "field", "tenant", "before>", "after>", "unit", "count>", "devices")
	all := d.Settings
	for _, x := range d.Tenants {
		all = append(all, x.Settings...)
	}
	for _, x := range all {
		s.addRanked(float64(x.Count), x.Kind, x.Field, cmdline.OrZero(x.Tenant), x.Before, x.After, cmdline.OrZero(x.Unit), x.Count, some(x.Names))
	}
	for _, x := range d.Devices {
		if x.Added != nil {
			s.addRanked(math.Inf(1), x.Kind, "+", "", "", "", "", x.Added.Count, some(x.Added.Names))
		}
		if x.Removed != nil {
			s.addRanked(math.Inf(1), x.Kind, "-", "", "", "", "", x.Removed.Count, some(x.Removed.Names))
		}
	}
	if len(s.rows) == 0 {
		return nil
	}
	return s
}

func (c *cli) planExplain(cmd *cobra.Command, plan string, params *gen.ExplainPlanParams) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) (*page[gen.Explanation], error) {
		params.Limit, params.Cursor = pageSize(), cursor
		list, err := found[gen.ExplanationList](c)(client.ExplainPlanWithResponse(cmd.Context(), fabric, plan, params))
		return (*page[gen.Explanation])(list), err
	})
	if err != nil {
		return err
	}
	var list []explained
	for _, e := range all {
		name := e.Name
		if n := len(e.Devices); n > 1 {
			name += " ×" + strconv.Itoa(n)
		}
		list = append(list, explained{name, e.Reasons})
	}
	return c.print(cmd, all, c.reasons(list)...)
}

// explained is a device, or several equal ones, with the reasons for its settings.
type explained struct {
	device  string
	reasons []gen.Reason
}

// reasons shows a row for each setting, then the known rules in words.
func (c *cli) reasons(list []explained) []func() *table {
	var rules []string
	for _, e := range list {
		for _, r := range e.reasons {
			rules = append(rules, r.Rule)
		}
	}
	settings := func() *table {
		t := c.newTable("device", "field", "value>", "unit", "legal", "tenant", "rule", "formula")
		t.whole = true // --reasons shows all rows
		for _, e := range list {
			c.addReasons(t, e.device, e.reasons)
		}
		return t
	}
	words := func() *table {
		t := c.newTable("rule", "meaning")
		t.whole = true
		for _, r := range c.texts.Rules(rules) {
			t.add(r.Rule, r.Text)
		}
		if len(t.rows) == 0 {
			return nil
		}
		return t
	}
	return []func() *table{settings, words}
}

// addReasons adds a row for each setting of a device.
func (c *cli) addReasons(t *table, device string, reasons []gen.Reason) {
	either := c.texts.Either
	for _, r := range reasons {
		formula := either(r.Formula, r.FormulaSaid)
		if r.Clamped != nil {
			formula += c.t("list.semicolon") + either(*r.Clamped, r.ClampedSaid)
		}
		t.add(device, either(r.Field, r.FieldSaid), either(r.Value, r.ValueSaid), either(cmdline.OrZero(r.Unit), r.UnitSaid),
			either(cmdline.OrZero(r.Range), r.RangeSaid), cmdline.OrZero(r.Tenant), r.Rule, formula)
	}
}
