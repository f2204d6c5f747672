package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/service/placement"
	"fairlane/service/placement/smfile"
	"fairlane/service/site"
	"fairlane/subnet"
	"fairlane/subnet/discover"
	"fairlane/subnet/opensm"
	"fairlane/subnet/opensm/osmfile"
)

// opensmFlags are the flags of the commands that manage an OpenSM's files.
type opensmFlags struct {
	manager, from string
	mKey          string // file
	fabric        string // file; empty: sweep the source
	plan          string // file
	tenants       string // file
	flows         string // file
	lanes         bool
	force         []string
	prepare       bool
	standby       bool
	asJSON        bool
}

// opensmCommand returns the command `opensm`, which accesses an OpenSM and its fabric without the service.
func (a *app) opensmCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "opensm", Short: a.T("opensm.short"), Long: a.T("opensm.long"), Args: cobra.NoArgs}
	cmd.AddCommand(a.opensmShow(), a.opensmDiff(), a.opensmApply(), a.opensmVerify())
	return cmd
}

func (a *app) opensmVerb(use, key, example string, f *opensmFlags, run func(context.Context, *opensmFlags, *opensmAt) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: a.T(key + ".short"), Long: a.T(key + ".long"), Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.attachOpenSM(cmd.Context(), f)
			if err != nil {
				return err
			}
			defer func() { _ = at.mads.Close() }() // the connection is released even when Close fails
			return run(cmd.Context(), f, at)
		},
	}
	cmd.Flags().StringVar(&f.manager, "sm", "", a.T("opensm.flag.sm"))
	cmd.Flags().StringVar(&f.from, "from", "", a.T("opensm.flag.from"))
	a.MKeyFlag(cmd, &f.mKey)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("sm"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	return cmd
}

// desiredFlags defines the flags for the desired contents of the files.
func (a *app) desiredFlags(cmd *cobra.Command, f *opensmFlags) {
	cmd.Flags().StringVar(&f.plan, "plan", "", a.T("opensm.flag.plan"))
	cmd.Flags().StringVar(&f.tenants, "tenants", "", a.T("opensm.flag.tenants"))
	cmd.Flags().StringVar(&f.flows, "flows", "", a.T("compile.flag.flows"))
	cmd.Flags().StringVar(&f.fabric, "fabric", "", a.T("opensm.flag.fabric"))
	cmd.Flags().BoolVar(&f.lanes, "vl-arbitration", false, a.T("compile.flag.arbitration"))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.plan == "" && f.tenants == "":
			return usage.Of(phrase.Of("usage.plan-or-tenants"))
		case f.plan != "" && (f.tenants != "" || f.flows != "" || f.lanes):
			return usage.Of(phrase.Of("usage.plan-alone", "file", f.plan))
		}
		return run(cmd, args)
	}
}

func (a *app) forceFlags(cmd *cobra.Command, f *opensmFlags) {
	cmd.Flags().StringSliceVar(&f.force, "force", nil, a.T("opensm.flag.force"))
	cmd.Flags().BoolVar(&f.prepare, "prepare", false, a.T("opensm.flag.prepare"))
}

func (a *app) opensmShow() *cobra.Command {
	return a.opensmVerb("show --sm FILE --from SOURCE", "opensm.show", `  fairlane opensm show --sm sm.yaml --from umad:mlx5_0:1
  fairlane opensm show --sm sm.yaml --from ibsim:unix:lab --json`, &opensmFlags{}, a.showOpenSM)
}

func (a *app) opensmDiff() *cobra.Command {
	f := &opensmFlags{}
	cmd := a.opensmVerb("diff --sm FILE --from SOURCE --plan FILE", "opensm.diff", `  fairlane opensm diff --sm sm.yaml --from ibsim:unix:lab --tenants tenants.yaml
  fairlane opensm diff --sm sm.yaml --from umad:mlx5_0:1 --plan plan.json --prepare`, f, a.diffOpenSM)
	a.desiredFlags(cmd, f)
	a.forceFlags(cmd, f)
	return cmd
}

func (a *app) opensmApply() *cobra.Command {
	f := &opensmFlags{}
	cmd := a.opensmVerb("apply --sm FILE --from SOURCE --plan FILE", "opensm.apply", `  fairlane opensm apply --sm sm.yaml --from umad:mlx5_0:1 --plan plan.json --prepare
  fairlane opensm apply --sm sm.yaml --from umad:mlx5_0:1 --plan plan.json
  fairlane opensm apply --sm sm.yaml --from ibsim:unix:lab --tenants tenants.yaml --force edited-by-hand
  fairlane opensm apply --sm standby.yaml --from umad:mlx5_0:1 --plan plan.json --standby`, f, a.applyOpenSM)
	a.desiredFlags(cmd, f)
	a.forceFlags(cmd, f)
	cmd.Flags().BoolVar(&f.standby, "standby", false, a.T("opensm.flag.standby"))
	return cmd
}

func (a *app) opensmVerify() *cobra.Command {
	f := &opensmFlags{}
	cmd := a.opensmVerb("verify --sm FILE --from SOURCE --plan FILE", "opensm.verify", `  fairlane opensm verify --sm sm.yaml --from umad:mlx5_0:1 --plan plan.json
  fairlane opensm verify --sm sm.yaml --from ibsim:unix:lab --tenants tenants.yaml --json`, f, a.verifyOpenSM)
	a.desiredFlags(cmd, f)
	return cmd
}

// opensmAt is an OpenSM on its fabric.
type opensmAt struct {
	manager *opensm.Manager
	file    *smfile.OpenSM
	force   []osmfile.Code // from the file and the command line
	mads    site.Transport
}

// attachOpenSM reads the file that describes OpenSM and attaches to its fabric.
func (a *app) attachOpenSM(ctx context.Context, f *opensmFlags) (*opensmAt, error) {
	file, err := smfile.Load(f.manager)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	if file.OpenSM == nil {
		return nil, usage.Of(phrase.Of("usage.sm-ufm", "file", f.manager))
	}
	out := &opensmAt{file: file.OpenSM, force: slices.Clone(file.OpenSM.Accept)}
	if err := placement.CheckOptions(file.OpenSM); err != nil {
		return nil, usage.Wrap(fmt.Errorf("%s: %w", f.manager, err))
	}
	for _, text := range f.force {
		code, err := osmfile.ParseCode(text)
		if err != nil {
			return nil, usage.Wrap(phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "force", "reason", err)))
		}
		out.force = append(out.force, code)
	}
	if out.mads, err = site.Dial(ctx, f.from, f.mKey); err != nil {
		return nil, err
	}
	if out.manager, err = placement.OpenSM(file.OpenSM, out.mads); err != nil {
		return nil, errors.Join(usage.Wrap(fmt.Errorf("%s: %w", f.manager, err)), out.mads.Close())
	}
	return out, nil
}

// desired returns the contents of the files for the plan in the flags. The problems are those of the plan itself.
func (a *app) desired(ctx context.Context, f *opensmFlags, at *opensmAt) (osmfile.Desired, []osmfile.Problem, error) {
	topo, err := a.opensmFabric(ctx, f, at)
	if err != nil {
		return osmfile.Desired{}, nil, err
	}
	plan, err := f.planFor(topo)
	if err != nil {
		return osmfile.Desired{}, nil, err
	}
	d, problems := opensm.FromPlan(placement.ForOpenSM(plan), topo, placement.PlanOptions(at.file))
	return d, problems, nil
}

// opensmFabric reads the fabric from the named file or, without one, discovers it.
func (a *app) opensmFabric(ctx context.Context, f *opensmFlags, at *opensmAt) (*subnet.Fabric, error) {
	if f.fabric != "" {
		return site.ReadFabric(f.fabric)
	}
	r, err := a.sweep(ctx, f.from, at.mads, discover.Options{})
	if err != nil {
		return nil, err
	}
	return r.Fabric, nil
}

// planFor reads the plan, or compiles one from the tenants.
func (f *opensmFlags) planFor(topo *subnet.Fabric) (*policy.Plan, error) {
	if f.plan != "" {
		return readPlan(f.plan, policy.PlaneIB)
	}
	c := compileFlags{tenants: f.tenants, flows: f.flows, plane: string(policy.PlaneIB), arbs: f.lanes}
	in, err := c.inputOn(topo)
	if err != nil {
		return nil, err
	}
	plan, err := policy.Compile(in)
	return plan, inputError(err)
}

func (f *opensmFlags) phase() opensm.Phase {
	if f.prepare {
		return opensm.PhasePrepare
	}
	return opensm.PhaseFinish
}

func (a *app) showOpenSM(ctx context.Context, f *opensmFlags, at *opensmAt) error {
	state, err := at.manager.Read(ctx)
	if err != nil {
		return err
	}
	if f.asJSON {
		return cmdline.PrintJSON(a.Stdout, state)
	}
	return a.printOpenSM(&state)
}

func (a *app) diffOpenSM(ctx context.Context, f *opensmFlags, at *opensmAt) error {
	d, problems, err := a.desired(ctx, f, at)
	if err != nil {
		return err
	}
	p, err := at.manager.Diff(ctx, d, f.phase())
	if err != nil {
		return err
	}
	p.Problems = append(problems, p.Problems...)
	if f.asJSON {
		err = cmdline.PrintJSON(a.Stdout, p)
	} else {
		err = a.printDifference(p.Differences, p.Problems)
	}
	switch stop := osmfile.Blocking(p.Problems, at.force); {
	case err != nil:
		return err
	case len(stop) > 0:
		return errors.New(a.T("opensm.diff.refused", "codes", codeList(stop)))
	case len(p.Differences) > 0:
		return errors.New(a.T("opensm.diff.differs", "n", len(p.Differences)))
	}
	_, err = fmt.Fprintln(a.Stderr, a.T("opensm.diff.same"))
	return err
}

// opensmApplied is the output of `opensm apply --json`.
type opensmApplied struct {
	opensm.Report
	Refused []osmfile.Problem `json:"refused,omitempty"` // problems for which nothing was written
	Error   string            `json:"error,omitempty"`
}

func (a *app) applyOpenSM(ctx context.Context, f *opensmFlags, at *opensmAt) error {
	d, problems, err := a.desired(ctx, f, at)
	if err != nil {
		return err
	}
	out := opensmApplied{Refused: osmfile.Blocking(problems, at.force)}
	if len(out.Refused) == 0 {
		var failed error
		out.Report, failed = at.manager.Apply(ctx, d, opensm.ApplyOptions{Phase: f.phase(), Force: at.force, Standby: f.standby})
		if refused := new(opensm.RefusedError); errors.As(failed, &refused) {
			out.Refused = refused.Problems
		} else if failed != nil {
			out.Error, err = failed.Error(), failed
		}
	}
	out.Problems = append(problems, out.Problems...)
	if e := a.printApplied(&out, f.asJSON); e != nil {
		return e
	}
	if len(out.Refused) > 0 {
		return errors.New(a.T("opensm.apply.refused", "codes", codeList(out.Refused)))
	}
	return err
}

func (a *app) verifyOpenSM(ctx context.Context, f *opensmFlags, at *opensmAt) error {
	d, _, err := a.desired(ctx, f, at)
	if err != nil {
		return err
	}
	proof, err := at.manager.Prove(ctx, d)
	if err != nil {
		return err
	}
	if f.asJSON {
		err = cmdline.PrintJSON(a.Stdout, proof)
	} else {
		err = a.printProof(proof)
	}
	if err == nil && !proof.Holds() {
		err = errors.New(a.T("opensm.verify.failed"))
	}
	return err
}

// codeList returns the codes of problems without repetition, in the format of --force.
func codeList(ps []osmfile.Problem) string {
	var out []string
	seen := map[osmfile.Code]bool{}
	for _, p := range ps {
		if !seen[p.Code] {
			seen[p.Code] = true
			out = append(out, string(p.Code))
		}
	}
	return strings.Join(out, ",")
}
