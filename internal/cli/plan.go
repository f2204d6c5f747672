package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/quantity"
)

func (c *cli) plan() *cobra.Command {
	var explain, explainShow, keep bool
	var options optionFlags
	var revision int64
	create := c.verb("plan", "create", "  fairlane plan create --dry-run --explain\n  fairlane plan create --policy 3 --mode theorem1", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		body := gen.PlanCreate{Policy: given(revision), KeepPlacements: given(keep)}
		if o := new(gen.CompileOptions); options.fill(cmd, o) {
			body.Options = o // in place of the options of the policy
		}
		return c.planCreate(cmd, body, explain)
	})
	f := create.Flags()
	f.BoolVar(&explain, "explain", false, c.t("flag.explain"))
	f.Int64Var(&revision, "policy", 0, c.t("flag.policy"))
	f.BoolVar(&keep, "keep-placements", false, c.t("flag.keep-placements"))
	options.add(c, create)
	c.writes(create)
	show := c.verb("plan", "show NAME", "  fairlane plan show 3f9a61c2 --explain", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.planShow(cmd, args[0], explainShow) })
	show.Flags().BoolVar(&explainShow, "explain", false, c.t("flag.explain"))
	return c.noun("plan", append(c.planQuestions(), create, show, c.verb("plan", "list", "  fairlane plan list", cobra.NoArgs, c.planList))...)
}

func (c *cli) planCreate(cmd *cobra.Command, body gen.PlanCreate, explain bool) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	r, err := client.CreatePlanWithResponse(cmd.Context(), fabric, &gen.CreatePlanParams{DryRun: &c.dry}, body)
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	p := r.JSON200
	if r.JSON201 != nil {
		p = r.JSON201
	}
	if p.Stored {
		c.say(cmd, "msg.plan-stored", "name", p.Name)
	} else {
		c.say(cmd, "msg.plan-dry")
	}
	return c.showPlan(cmd, p, explain)
}

func (c *cli) planShow(cmd *cobra.Command, name string, explain bool) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	r, err := client.GetPlanWithResponse(cmd.Context(), fabric, name)
	if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
		return err
	}
	return c.showPlan(cmd, r.JSON200, explain)
}

// showPlan prints predicted shares, findings and, when asked, every setting with its reason.
func (c *cli) showPlan(cmd *cobra.Command, p *gen.Plan, explain bool) error {
	for _, f := range p.Findings {
		c.say(cmd, "msg.finding", "code", f.Code, "message", clean(f.Message))
		if f.Fix != nil {
			c.say(cmd, "msg.fix", "fix", clean(*f.Fix))
		}
	}
	if c.output != "table" {
		return c.print(cmd, p, nil)
	}
	out := cmd.OutOrStdout()
	if err := c.predicted(p).write(out); err != nil {
		return err
	}
	if explain {
		return c.explain(out, p)
	}
	return nil
}

func (c *cli) predicted(p *gen.Plan) *table {
	t := c.newTable("tenant", "weight>", "qps>", "entitled>", "predicted>", "error>", "bound>", "share")
	var most float64
	for _, s := range p.Tenants {
		most = max(most, float64(s.EntitledBps), float64(s.PredictedBps))
	}
	for _, s := range p.Tenants {
		t.add(s.Tenant, s.Weight, s.QPS, quantity.BitRate(s.EntitledBps), quantity.BitRate(s.PredictedBps), percent(s.PredictedError), percent(s.Bound),
			bar(float64(s.PredictedBps), float64(s.EntitledBps), most))
	}
	return t
}

func (c *cli) explain(out io.Writer, p *gen.Plan) error {
	t := c.newTable("device", "field", "value>", "unit", "legal", "tenant", "rule", "formula")
	add := func(device string, reasons []gen.Reason) {
		for _, r := range reasons {
			formula := r.Formula
			if r.Clamped != nil {
				formula += "; " + *r.Clamped
			}
			t.add(device, r.Field, r.Value, orZero(r.Unit), orZero(r.Range), orZero(r.Tenant), r.Rule, formula)
		}
	}
	for _, d := range p.Cas {
		add(d.Name, d.Reasons)
	}
	for _, d := range p.Switches {
		add(d.Name, d.Reasons)
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return t.write(out)
}

func (c *cli) planList(cmd *cobra.Command, _ []string) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	all, err := pages(func(cursor *string) ([]gen.PlanSummary, *string, error) {
		r, err := client.ListPlansWithResponse(cmd.Context(), fabric, &gen.ListPlansParams{Limit: pageSize(), Cursor: cursor})
		if err := c.judge(r, func() []byte { return r.Body }, err); err != nil {
			return nil, nil, err
		}
		return r.JSON200.Items, r.JSON200.NextCursor, nil
	})
	if err != nil {
		return err
	}
	return c.print(cmd, all, func() *table {
		t := c.newTable("plan", "devices>", "findings>", "worst>", "created")
		for _, p := range all {
			t.add(short(p.Name), p.Devices, p.Findings, percent(p.MaxPredictedError), p.CreatedAt.Format(timeFormat))
		}
		return t
	})
}
