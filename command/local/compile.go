package local

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/ccconfig/profile"
	"fairlane/command/cmdline"
	"fairlane/command/remote"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/site"
	"fairlane/sim/fabric"
	"fairlane/sim/lab/evaluate"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
	"fairlane/tenants/tenantfile"
)

type compileFlags struct {
	fabric, tenants, flows        string
	plane, profile, ibProfiles    string
	lever                         string
	classes                       cmdline.TrafficClasses
	mode, law, perQP              string
	against                       string
	beside                        string // candidate tenant of admit: the flow file may name it, the tenant file does not
	explainPort, explainTenant    string
	editTexts                     []string
	explain, links                bool
	simulate, json, restart, arbs bool
	reserved                      remote.SLs
	entries, top                  int
	all                           bool
	seed                          uint64
}

// maxPlanBytes bounds a stored plan that is read, in bytes: about twice the largest plans in docs/compiler.md as JSON, 561 MiB on
// InfiniBand and 695 MiB on RoCE.
const maxPlanBytes = 1536 << 20

func (a *app) compileCommand() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile --fabric FILE --tenants FILE",
		Short: a.T("compile.short"),
		Long:  a.T("compile.long"),
		Example: `  fairlane compile --fabric fabric.topo --tenants tenants.yaml
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --explain-tenant gold
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --edit weight:gold=8 --edit fail:leaf1/P5
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --against plan.json
  fairlane compile --fabric fabric.yaml --tenants tenants.yaml --simulate --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.ofPlane(cmd); err != nil {
				return err
			}
			return a.runCompile(cmd.Context(), f)
		},
	}
	text := func(to *string, name, initial, key string) { cmd.Flags().StringVar(to, name, initial, a.T(key)) }
	flag := func(to *bool, name, key string) { cmd.Flags().BoolVar(to, name, false, a.T(key)) }
	text(&f.fabric, "fabric", "", "compile.flag.fabric")
	text(&f.tenants, "tenants", "", "compile.flag.tenants")
	text(&f.flows, "flows", "", "compile.flag.flows")
	text(&f.plane, "plane", string(policy.PlaneIB), "compile.flag.plane")
	text(&f.profile, "profile", "", "compile.flag.profile")
	text(&f.lever, "lever", "", "flag.lever")
	cmd.Flags().Var(&f.classes, "classes", a.T("flag.classes"))
	text(&f.mode, "mode", string(policy.ModeProduct), "compile.flag.mode")
	text(&f.law, "cct", string(policy.CCTGeometric), "compile.flag.cct")
	text(&f.perQP, "cc-mode", string(policy.PerQPAuto), "compile.flag.ccmode")
	text(&f.against, "against", "", "compile.flag.against")
	text(&f.explainPort, "explain-port", "", "compile.flag.explainport")
	text(&f.explainTenant, "explain-tenant", "", "compile.flag.explaintenant")
	cmd.Flags().StringArrayVar(&f.editTexts, "edit", nil, a.T("compile.flag.edit"))
	cmdline.FormerName(cmd, "what-if", "edit")
	cmd.Flags().Var(&f.reserved, "reserved-sl", a.T("flag.reserved-sl"))
	cmd.Flags().IntVar(&f.entries, "table-entries", 0, a.T("flag.table-entries"))
	a.IBProfilesFlag(cmd, &f.ibProfiles)
	flag(&f.arbs, "vl-arbitration", "compile.flag.arbitration")
	flag(&f.restart, "timer-restart", "compile.flag.restart")
	flag(&f.explain, "explain", "compile.flag.explain")
	flag(&f.links, "links", "compile.flag.links")
	flag(&f.simulate, "simulate", "compile.flag.simulate")
	flag(&f.all, "all", "flag.all")
	cmd.Flags().IntVar(&f.top, "top", 0, a.T("compile.flag.top"))
	flag(&f.json, "json", "flag.json")
	a.SeedFlag(cmd, &f.seed, 1)
	cmdline.Must(cmd.MarkFlagRequired("fabric"))
	cmdline.Must(cmd.MarkFlagRequired("tenants"))
	return cmd
}

// ofPlane refuses flags that have no effect on the plane requested.
func (f compileFlags) ofPlane(cmd *cobra.Command) error {
	only := map[policy.Plane][]string{
		policy.PlaneIB:   {"cc-mode", "cct", "ib-profiles", "mode", "reserved-sl", "table-entries", "timer-restart", "vl-arbitration"},
		policy.PlaneRoCE: {"classes", "lever", "profile"},
		policy.PlaneWRCC: nil,
	}
	if _, err := cmdline.ParsePlane(f.plane); err != nil {
		return err
	}
	for _, plane := range slices.Sorted(maps.Keys(only)) {
		for _, name := range only[plane] {
			if string(plane) != f.plane && cmd.Flags().Changed(name) {
				return usage.Of(phrase.Of("usage.flag-plane", "flag", name, "plane", f.plane, "want", plane))
			}
		}
	}
	return f.checkOutput(cmd)
}

// checkOutput rejects output flags without effect, such as --top with --json, and --seed without --simulate.
func (f compileFlags) checkOutput(cmd *cobra.Command) error {
	if !f.simulate && cmd.Flags().Changed("seed") {
		return usage.Of(phrase.Of("usage.flag-without", "flag", "seed", "other", "simulate"))
	}
	switch {
	case cmd.Flags().Changed("top") && f.top < 1:
		return usage.Of(phrase.Of("usage.flag-from-one", "flag", "top", "value", f.top))
	case f.all && f.top > 0:
		return usage.Of(phrase.Of("usage.flags-exclusive", "flag", "top", "other", "all"))
	}
	for _, name := range []string{"all", "explain", "explain-port", "explain-tenant", "links", "top"} {
		if f.json && cmd.Flags().Changed(name) {
			return usage.Of(phrase.Of("usage.flag-with", "flag", name, "other", "json"))
		}
	}
	return nil
}

// Compiled is the result of compile; its JSON is the plan with additional fields.
type Compiled struct {
	*policy.Plan
	Edits      []string             `json:"edits,omitempty"`      // applied to the input
	WhatIf     []string             `json:"what_if,omitempty"`    // Edits by their former name
	Notices    []policy.Finding     `json:"notices,omitempty"`    // findings about the edits
	Before     *PlanShares          `json:"before,omitempty"`     // the plan compared with
	Difference *policy.Difference   `json:"difference,omitempty"` // from Before to this plan
	Simulation *evaluate.Simulation `json:"simulation,omitempty"`
	Why        []policy.Explanation `json:"-"` // with --explain: the reasons that match its filters
}

// PlanShares is the name and the tenant shares of a plan.
type PlanShares struct {
	Name    string               `json:"name"`
	Tenants []policy.TenantShare `json:"tenants"`
}

func (a *app) runCompile(ctx context.Context, f compileFlags) error {
	edits, err := f.edits()
	if err != nil {
		return err
	}
	in, err := f.input()
	if err != nil {
		return err
	}
	out, in, err := f.compile(in, edits)
	if err != nil {
		return inputError(err)
	}
	if f.explain || f.explainPort != "" || f.explainTenant != "" {
		if out.Why, err = out.Explain(policy.ExplainFilter{Port: f.explainPort, Tenant: f.explainTenant}); err != nil {
			return usage.Wrap(cmp.Or(unknownPort(in.Fabric, f.explainPort), err))
		}
	}
	if f.simulate {
		p := progress.On(a.Stderr)
		out.Simulation, err = evaluate.Simulate(ctx, in, out.Plan, evaluate.Options{
			Seed: f.seed, Progress: func(done float64) { p.Show(a.T("simulate.progress", "done", cmdline.Percent(done))) },
		})
		p.Clear()
		if err != nil {
			return err
		}
	}
	if f.json {
		return cmdline.PrintJSON(a.Stdout, out)
	}
	return a.printCompiled(a.Stdout, out, f)
}

// unknownPort returns an error with similar names if name matches no node and no port; nil for "".
func unknownPort(f *subnet.Fabric, name string) error {
	if name == "" || len(f.NodesByName(name)) > 0 {
		return nil
	}
	if guid, err := ident.ParseGUID(name); err == nil {
		if _, ok := f.NodeByGUID(guid); ok {
			return nil
		}
	}
	_, err := f.ResolvePort(name)
	return err
}

// inputError turns policy.ErrInput into an error of usage.
func inputError(err error) error {
	if errors.Is(err, policy.ErrInput) {
		return usage.Wrap(err)
	}
	return err
}

func (f compileFlags) edits() ([]policy.Edit, error) {
	var out []policy.Edit
	for _, text := range f.editTexts {
		x, err := policy.ParseEdit(text)
		if err != nil {
			return nil, usage.Wrap(phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "edit", "reason", err)))
		}
		out = append(out, x)
	}
	return out, nil
}

// compile compiles the edited input. The baseline is the plan of --against or, with edits, the plan of the unedited input;
// its placements are kept where they are still valid. It returns the input of the plan as well.
func (f compileFlags) compile(in policy.Input, edits []policy.Edit) (*Compiled, policy.Input, error) {
	out := &Compiled{Edits: f.editTexts, WhatIf: f.editTexts}
	var before *policy.Plan
	var err error
	if f.against != "" {
		if before, err = readPlan(f.against, in.Options.Plane); err != nil {
			return nil, in, err
		}
	} else if len(edits) > 0 {
		if before, err = policy.Compile(in); err != nil {
			return nil, in, err
		}
	}
	if len(edits) > 0 {
		if in, out.Notices, err = policy.Apply(in, edits...); err != nil {
			return nil, in, phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "edit", "reason", err))
		}
	}
	if err := f.simulable(in); err != nil {
		return nil, in, err
	}
	in.InForce = before
	if out.Plan, err = policy.Compile(in); err != nil {
		return nil, in, err
	}
	if before != nil {
		d := policy.Diff(before, out.Plan)
		out.Difference, out.Before = &d, &PlanShares{before.Name, before.Tenants}
	}
	return out, in, nil
}

// simulable rejects --simulate, before anything is compiled, if the flows exceed fabric.MaxQPs.
func (f compileFlags) simulable(in policy.Input) error {
	if !f.simulate || in.Options.Plane != policy.PlaneIB {
		return nil
	}
	qps := 0
	for i := range in.Flows {
		qps += in.Flows[i].QPs
	}
	if qps > fabric.MaxQPs {
		return usage.Of(phrase.Of("usage.simulate-too-large", "qps", qps, "max", fabric.MaxQPs))
	}
	return nil
}

// readPlan reads a plan as compile --json and the service give it.
func readPlan(path string, plane policy.Plane) (*policy.Plan, error) {
	b, err := cmdline.ReadFile(phrase.Of("kind.plan"), path, maxPlanBytes)
	if err != nil {
		return nil, err
	}
	p, err := policy.Decode(b)
	if err != nil {
		return nil, usage.Wrap(phrase.Because(err, phrase.Of("usage.plan-file", "file", path+cmdline.JSONLine(b, err), "reason", err)))
	}
	if want := cmp.Or(plane, policy.PlaneIB); p.Plane != want {
		return nil, usage.Of(phrase.Of("usage.plan-plane", "file", path, "plane", string(p.Plane), "want", string(want)))
	}
	return p, nil
}

// input reads everything that the plan depends on.
func (f compileFlags) input() (policy.Input, error) {
	topo, err := site.ReadFabric(f.fabric)
	if err != nil {
		return policy.Input{}, err
	}
	return f.inputOn(topo)
}

// inputOn reads everything but the fabric.
func (f compileFlags) inputOn(topo *subnet.Fabric) (policy.Input, error) {
	ts, flows, err := cmdline.ReadTenants(f.tenants, topo)
	if err != nil {
		return policy.Input{}, err
	}
	if f.flows != "" {
		r, err := os.Open(f.flows)
		if err != nil {
			return policy.Input{}, usage.Wrap(err)
		}
		defer func() { _ = r.Close() }() // read only
		known := ts
		if f.beside != "" {
			known = append(slices.Clone(ts), tenants.Tenant{Name: f.beside, Weight: quantity.WeightOne})
		}
		if flows, err = tenantfile.ReadFlows(f.flows, r, topo, known); err != nil {
			return policy.Input{}, usage.Wrap(err)
		}
	}
	var reserved []ident.SL // nil: the compiler's default
	if f.reserved != nil {
		reserved = []ident.SL{}
		for _, sl := range f.reserved {
			reserved = append(reserved, ident.SL(sl))
		}
	}
	profiles, name, err := readProfile(f.profile)
	if err != nil {
		return policy.Input{}, err
	}
	models, err := site.ReadIBProfiles(f.ibProfiles)
	if err != nil {
		return policy.Input{}, err
	}
	return policy.Input{
		Fabric: topo, Tenants: tenants.Attach(ts, flows), Flows: flows, Profiles: profiles, IBProfiles: models,
		Options: policy.Options{
			Plane: policy.Plane(f.plane), Profile: name, Lever: policy.Lever(f.lever), Classes: f.classes, VLArbitration: f.arbs,
			Mode: policy.Mode(f.mode), CCTLaw: policy.CCTLaw(f.law), PerQP: policy.PerQPMode(f.perQP), TimerRestart: f.restart,
			ReservedSLs: reserved, TableEntries: f.entries,
		},
	}, nil
}

// readProfile takes the name of an embedded device profile, or the path of a .json file that calibrate --out wrote.
func readProfile(text string) (own []profile.Profile, name string, err error) {
	if !strings.HasSuffix(text, ".json") {
		return nil, text, nil
	}
	b, err := cmdline.ReadFile(phrase.Of("kind.profile"), text, profile.MaxBytes)
	if err != nil {
		return nil, "", err
	}
	p, err := profile.Decode(b)
	if err != nil {
		return nil, "", usage.Wrap(phrase.Because(err, phrase.Of("usage.profile-file", "file", text+cmdline.JSONLine(b, err), "reason", err)))
	}
	return []profile.Profile{*p}, p.Name, nil
}
