package app

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"fairlane/policy"
	"fairlane/subnet"
	"fairlane/tenants"
	"fairlane/tenants/tenantfile"
)

type compileFlags struct {
	fabric, tenants, flows  string
	mode, law, perQP        string
	explain, simulate, json bool
	restart                 bool
	seed                    uint64
}

func (a *app) compileCommand() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile --fabric FILE --tenants FILE",
		Short: a.t("compile.short"),
		Long:  a.t("compile.long"),
		Example: `  fairlane compile --fabric fabric.topo --tenants tenants.yaml
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --explain
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --simulate --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runCompile(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.fabric, "fabric", "", a.t("compile.flag.fabric"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.t("compile.flag.tenants"))
	cmd.Flags().StringVar(&f.flows, "flows", "", a.t("compile.flag.flows"))
	cmd.Flags().StringVar(&f.mode, "mode", string(policy.ModeProduct), a.t("compile.flag.mode"))
	cmd.Flags().StringVar(&f.law, "cct", string(policy.CCTGeometric), a.t("compile.flag.cct"))
	cmd.Flags().StringVar(&f.perQP, "cc-mode", string(policy.PerQPAuto), a.t("compile.flag.ccmode"))
	cmd.Flags().BoolVar(&f.restart, "timer-restart", false, a.t("compile.flag.restart"))
	cmd.Flags().BoolVar(&f.explain, "explain", false, a.t("compile.flag.explain"))
	cmd.Flags().BoolVar(&f.simulate, "simulate", false, a.t("compile.flag.simulate"))
	cmd.Flags().BoolVar(&f.json, "json", false, a.t("flag.json"))
	a.seedFlag(cmd, &f.seed, 1)
	must(cmd.MarkFlagRequired("fabric"))
	must(cmd.MarkFlagRequired("tenants"))
	return cmd
}

func (a *app) runCompile(ctx context.Context, f compileFlags) error {
	in, err := f.input()
	if err != nil {
		return err
	}
	plan, err := policy.Compile(in)
	if err != nil {
		return &UsageError{err}
	}
	var sim *simulation
	if f.simulate {
		p := newProgress(a.stderr)
		sim, err = simulate(ctx, in, plan, f.seed, func(done float64) { p.show(a.t("simulate.progress", "done", percent(done))) })
		p.clear()
		if err != nil {
			return err
		}
	}
	if f.json {
		return printJSON(a.stdout, struct {
			*policy.Plan
			Simulation *simulation `json:"simulation,omitempty"`
		}{plan, sim})
	}
	return a.printPlan(a.stdout, plan, sim, f.explain)
}

// input reads everything that the plan depends on.
func (f compileFlags) input() (policy.Input, error) {
	topo, err := readFabric(f.fabric)
	if err != nil {
		return policy.Input{}, err
	}
	ts, flows, err := readTenants(f.tenants, topo)
	if err != nil {
		return policy.Input{}, err
	}
	if f.flows != "" {
		r, err := os.Open(f.flows)
		if err != nil {
			return policy.Input{}, &UsageError{err}
		}
		defer func() { _ = r.Close() }() // read only
		if flows, err = tenantfile.ReadFlows(f.flows, r, topo, ts); err != nil {
			return policy.Input{}, &UsageError{err}
		}
	}
	return policy.Input{
		Fabric: topo, Tenants: tenants.Attach(ts, flows), Flows: flows,
		Options: policy.Options{
			Mode: policy.Mode(f.mode), CCTLaw: policy.CCTLaw(f.law), PerQP: policy.PerQPMode(f.perQP), TimerRestart: f.restart,
		},
	}, nil
}

// readTenants reads a tenant file against a fabric and completes the attachments.
func readTenants(path string, topo *subnet.Fabric) ([]tenants.Tenant, []tenants.Flow, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, nil, &UsageError{err}
	}
	defer func() { _ = r.Close() }() // read only
	ts, flows, err := tenantfile.Read(path, r, topo)
	if err != nil {
		return nil, nil, &UsageError{err}
	}
	return tenants.Attach(ts, flows), flows, nil
}

// printPlan prints a plan for people: shares first, then findings, then, when asked, the reason
// of every setting.
func (a *app) printPlan(w io.Writer, p *policy.Plan, sim *simulation, explain bool) error {
	_, _ = fmt.Fprintln(w, a.t("compile.title", "name", p.Name, "ports", len(p.CAs), "switches", len(p.Switches)))
	tw := newTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.t("compile.table.head"))
	for i, t := range p.Tenants {
		simulated := "-"
		if sim != nil {
			simulated = fmt.Sprintf("%s (%.1f %%)", sim.Tenants[i].Delivered, 100*sim.Tenants[i].ShareError)
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s (%.1f %%)\t%s\n", t.Tenant, t.Weight, t.QPs, t.Entitled,
			t.Predicted, 100*t.PredictedError, simulated)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, f := range p.Findings {
		_, _ = fmt.Fprintln(w, a.t("finding", "code", f.Code, "message", f.Message))
		if f.Fix != "" {
			_, _ = fmt.Fprintln(w, a.t("finding.fix", "fix", f.Fix))
		}
	}
	if explain {
		return a.printReasons(w, p)
	}
	return nil
}

func (a *app) printReasons(w io.Writer, p *policy.Plan) error {
	tw := newTable(w, 0)
	row := func(rs []policy.Reason) {
		for _, r := range rs {
			clamped := ""
			if r.Clamped != "" {
				clamped = " [" + r.Clamped + "]"
			}
			_, _ = fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s%s\n", r.Field, r.Value, r.Tenant, r.Rule, r.Formula, clamped)
		}
	}
	for _, c := range p.CAs {
		_, _ = fmt.Fprintf(tw, "%s %s\n", c.Name, c.Port)
		row(c.Reasons)
	}
	for _, s := range p.Switches {
		_, _ = fmt.Fprintf(tw, "%s %s\n", s.Name, s.Node)
		row(s.Reasons)
	}
	return tw.Flush()
}
