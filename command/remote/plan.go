package remote

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
)

func (c *cli) plan() *cobra.Command {
	var explain, explainShow, keep, nameOnly bool
	var options optionFlags
	var revision int64
	create := c.verb("plan", "create", "  fairlane plan create --dry-run --explain\n  fairlane plan create --policy 3 --mode theorem1\n  fairlane plan create --name-only", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		body := gen.PlanCreate{Policy: given(revision), KeepPlacements: given(keep)}
		if o := new(gen.CompileOptions); options.fill(cmd, o) {
			body.Options = o // replaces the options of the policy
		}
		return c.planCreate(cmd, body, explain, nameOnly)
	})
	f := create.Flags()
	f.BoolVar(&explain, "explain", false, c.t("flag.explain"))
	f.Int64Var(&revision, "policy", 0, c.t("flag.policy"))
	f.BoolVar(&nameOnly, "name-only", false, c.t("flag.name-only"))
	f.BoolVar(&keep, "keep-placements", false, c.t("flag.keep-placements"))
	options.add(c, create)
	c.writes(create)
	show := c.verb("plan", "show NAME", "  fairlane plan show 3f9a61c2 --explain", cobra.ExactArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.planShow(cmd, args[0], explainShow) })
	show.Flags().BoolVar(&explainShow, "explain", false, c.t("flag.explain"))
	c.long("", create, show)
	return c.noun("plan", append(c.planQuestions(), create, show, c.verb("plan", "list", "  fairlane plan list", cobra.NoArgs, listed(c, c.pick, c.planPage, c.planTable)))...)
}

func (c *cli) planCreate(cmd *cobra.Command, body gen.PlanCreate, explain, nameOnly bool) error {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return err
	}
	r, err := client.CreatePlanWithResponse(cmd.Context(), fabric, &gen.CreatePlanParams{DryRun: &c.dry}, body)
	if err := c.judge(r, err); err != nil {
		return err
	}
	p, err := present(c, r, cmp.Or(r.JSON200, r.JSON201))
	if err != nil {
		return err
	}
	if nameOnly {
		c.findings(cmd, p.Findings, predictedErrors(p))
		_, err := fmt.Fprintln(cmd.OutOrStdout(), p.Name)
		return err
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
	p, err := found[gen.Plan](c)(client.GetPlanWithResponse(cmd.Context(), fabric, name))
	if err != nil {
		return err
	}
	return c.showPlan(cmd, p, explain)
}

// predictedErrors returns a function for the share error that a plan predicts for a tenant.
func predictedErrors(p *gen.Plan) func(tenant string) float64 {
	off := map[string]float64{}
	for _, s := range p.Tenants {
		off[s.Tenant] = s.PredictedError
	}
	return func(tenant string) float64 { return off[tenant] }
}

// showPlan prints predicted shares, findings and, on request, every setting with its reason.
func (c *cli) showPlan(cmd *cobra.Command, p *gen.Plan, explain bool) error {
	if c.output == "table" { // in JSON and YAML they are part of the plan
		c.findings(cmd, p.Findings, predictedErrors(p))
	}
	if s := cmdline.OrZero(p.SettlePs); s > 0 {
		c.say(cmd, "plan.settle", "time", quantity.Picoseconds(s))
	}
	shows := []func() *table{func() *table { return c.predicted(p) }}
	if explain {
		var list []explained
		for _, d := range p.Cas {
			list = append(list, explained{d.Name, d.Reasons})
		}
		for _, d := range p.Switches {
			list = append(list, explained{d.Name, d.Reasons})
		}
		shows = append(shows, c.reasons(list)...)
	}
	return c.print(cmd, p, shows...)
}

func (c *cli) predicted(p *gen.Plan) *table {
	t := c.newTable("tenant", "weight>", "qps>", "entitled>", "predicted>", "error>", "bound>", "share")
	var most float64
	for _, s := range p.Tenants {
		most = max(most, float64(s.EntitledBps), float64(s.PredictedBps))
	}
	for _, s := range p.Tenants {
		bound := quantity.Percent(s.Bound)
		if s.PredictedBps == 0 { // an error relative to 0 is undefined
			bound = "-"
		}
		t.addRanked(s.PredictedError, s.Tenant, s.Weight, s.QPS, quantity.BitRate(s.EntitledBps), quantity.BitRate(s.PredictedBps), cmdline.Percent(s.PredictedError), bound,
			bar(float64(s.PredictedBps), float64(s.EntitledBps), most))
	}
	return t
}

func (c *cli) planPage(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string, cursor *string) (*page[gen.PlanSummary], error) {
	list, err := found[gen.PlanList](c)(client.ListPlansWithResponse(cmd.Context(), fabric, &gen.ListPlansParams{Limit: pageSize(), Cursor: cursor}))
	return (*page[gen.PlanSummary])(list), err
}

func (c *cli) planTable(list []gen.PlanSummary) *table {
	t := c.newTable("plan", "devices>", "findings>", "worst>", "created")
	for _, p := range list {
		t.add(short(p.Name), p.Devices, p.Findings, cmdline.Percent(p.MaxPredictedError), p.CreatedAt.Format(timeFormat))
	}
	return t
}
