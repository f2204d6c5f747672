package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
)

type evaluateFlags struct {
	cases, jobs, one int
	seed             uint64
	plane, out       string
	lever            string
	classes          cmdline.TrafficClasses
	json             bool
}

func (a *app) evaluateCommand() *cobra.Command {
	var f evaluateFlags
	cmd := &cobra.Command{
		Use: "evaluate", Short: a.T("evaluate.short"), Long: a.T("evaluate.long"), Args: cobra.NoArgs,
		Example: `  fairlane evaluate --cases 200 --seed 7
  fairlane evaluate --cases 20 --plane wrcc --json
  fairlane evaluate --cases 200 --out results.jsonl
  fairlane evaluate --plane ib --seed 7 --case 31
  fairlane evaluate --plane roce --lever both --classes 26:3,34:4`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			planes, err := cmdline.ParsePlanes(f.plane)
			if err == nil {
				err = f.check(cmd.Flags().Changed("case"), cmd.Flags().Changed("cases"))
			}
			if err != nil {
				return usage.Wrap(err)
			}
			if cmd.Flags().Changed("case") {
				return a.runEvaluateOne(cmd.Context(), f, planes)
			}
			return a.runEvaluate(cmd.Context(), f, planes)
		},
	}
	cmd.Flags().IntVar(&f.cases, "cases", 200, a.T("evaluate.flag.cases"))
	a.SeedFlag(cmd, &f.seed, 1)
	cmd.Flags().StringVar(&f.plane, "plane", "all", a.T("evaluate.flag.plane"))
	cmd.Flags().StringVar(&f.lever, "lever", "", a.T("flag.lever"))
	cmd.Flags().Var(&f.classes, "classes", a.T("flag.classes"))
	cmd.Flags().IntVar(&f.jobs, "jobs", min(runtime.GOMAXPROCS(0), evaluate.MaxJobs), a.T("evaluate.flag.jobs"))
	cmd.Flags().StringVar(&f.out, "out", "", a.T("evaluate.flag.out"))
	cmd.Flags().IntVar(&f.one, "case", 0, a.T("evaluate.flag.case"))
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	return cmd
}

func (f *evaluateFlags) check(one, cases bool) error {
	switch {
	case f.cases < 1 || f.cases > evaluate.MaxCases:
		return &phrase.Error{Text: phrase.Of("usage.flag-range", "flag", "cases", "value", f.cases, "min", 1, "max", evaluate.MaxCases)}
	case f.jobs < 1 || f.jobs > evaluate.MaxJobs:
		return &phrase.Error{Text: phrase.Of("usage.flag-range", "flag", "jobs", "value", f.jobs, "min", 1, "max", evaluate.MaxJobs)}
	case f.one < 0 || f.one >= evaluate.MaxCases:
		return &phrase.Error{Text: phrase.Of("usage.flag-range", "flag", "case", "value", f.one, "min", 0, "max", evaluate.MaxCases-1)}
	case one && (cases || f.out != ""):
		return &phrase.Error{Text: phrase.Of("usage.single-case")}
	}
	return nil
}

func (f *evaluateFlags) levers() evaluate.Levers {
	return evaluate.Levers{Lever: policy.Lever(f.lever), Classes: f.classes}
}

// Evaluation is the output of `evaluate --json`.
type Evaluation struct {
	Cases       int                                  `json:"cases"`
	Seed        uint64                               `json:"seed"`
	Interrupted bool                                 `json:"interrupted,omitempty"` // planes contain only the finished cases
	Planes      map[policy.Plane]evaluate.PlaneScore `json:"planes"`
}

// runEvaluate evaluates random cases and prints a report, even if it is interrupted.
func (a *app) runEvaluate(ctx context.Context, f evaluateFlags, planes []policy.Plane) (err error) {
	req := evaluate.Request{Cases: f.cases, Seed: f.seed, Planes: planes, Jobs: f.jobs, RoCE: f.levers()}
	if f.out != "" {
		file, createErr := os.Create(f.out)
		if createErr != nil {
			return usage.Wrap(createErr)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		lines := json.NewEncoder(file)
		req.Done = func(r *evaluate.Result) error { return lines.Encode(r) }
	}
	p, begun := progress.On(a.Stderr), time.Now()
	req.Progress = func(done, all int) {
		p.Show(a.T("evaluate.progress", "done", done, "total", all, "left", progress.Left(begun, float64(done)/float64(all))))
	}
	results, err := evaluate.Run(ctx, req)
	p.Clear()
	stopped := err != nil
	if stopped && ctx.Err() == nil {
		return err
	}
	out := Evaluation{Cases: f.cases, Seed: f.seed, Interrupted: stopped, Planes: make(map[policy.Plane]evaluate.PlaneScore)}
	for _, plane := range planes {
		s := evaluate.ScoreOf(plane, results)
		out.Planes[plane] = s
		if !stopped {
			err = errors.Join(err, s.Missed(plane))
		}
	}
	if stopped {
		err = fmt.Errorf("evaluation: %d of %d runs done: %w", len(results), f.cases*len(planes), err)
	} else if err != nil {
		err = fmt.Errorf("%w: %w", cmdline.ErrBoundMissed, err)
	}
	if f.json {
		return errors.Join(cmdline.PrintJSON(a.Stdout, out), err)
	}
	return errors.Join(a.printEvaluation(&out, planes), err)
}

// printEvaluation prints one row for each plane, and the tenants with the largest deviations.
func (a *app) printEvaluation(e *Evaluation, planes []policy.Plane) error {
	tw := cmdline.NewTable(a.Stdout, 0)
	_, _ = fmt.Fprintln(tw, a.T("evaluate.head"))
	for _, plane := range planes {
		s := e.Planes[plane]
		printScore(tw, string(plane), &s.Score)
		printScore(tw, a.T("evaluate.within", "plane", plane), s.Within)
		printScore(tw, a.T("evaluate.beyond", "plane", plane), s.Beyond)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := a.printCauses(e, planes); err != nil {
		return err
	}
	for _, plane := range planes {
		for _, w := range e.Planes[plane].Worst {
			_, _ = fmt.Fprintln(a.Stdout, a.T("evaluate.worst", "plane", plane, "tenant", w.Tenant, "case", w.Case, "error", fine(w.Error),
				"bound", fine(w.Bound), "seed", e.Seed))
		}
	}
	return nil
}

// printCauses prints the findings that name the tenants far from their entitlements.
func (a *app) printCauses(e *Evaluation, planes []policy.Plane) error {
	tw := cmdline.NewTable(a.Stdout, 0)
	head := true
	for _, plane := range planes {
		for _, c := range e.Planes[plane].Causes {
			if head {
				_, _ = fmt.Fprintln(tw, "\n"+a.T("evaluate.causes.head"))
				head = false
			}
			code := c.Code
			if code == "" {
				code = a.T("evaluate.causes.none")
			}
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", plane, cmdline.Percent(policy.MissLimit(plane)), c.Tenants, fine(c.EntitledMax), code)
		}
	}
	if !head {
		_, _ = fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func printScore(w io.Writer, name string, s *evaluate.Score) {
	_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", name, s.Cases, s.Tenants, fine(s.ShareErrorP50), fine(s.ShareErrorP95),
		fine(s.ShareErrorMax), fine(s.EntitledP50), fine(s.EntitledP95), fine(s.EntitledMax), cmdline.Percent(s.BoundCoverage), fine(s.BoundP50), s.Unannounced,
		cmdline.Percent(s.Utilisation), cmdline.Percent(s.UtilisationMin))
}

// fine is percent with two decimals.
func fine(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) }

// runEvaluateOne evaluates one case and prints all of its results.
func (a *app) runEvaluateOne(ctx context.Context, f evaluateFlags, planes []policy.Plane) error {
	p := progress.On(a.Stderr)
	var results []*evaluate.Result
	for _, plane := range planes {
		c, err := evaluate.Generate(f.seed, f.one, plane)
		if err != nil {
			return err
		}
		c.Use(f.levers())
		r, plan, err := c.Evaluate(ctx, func(done float64) { p.Show(a.T("simulate.progress", "done", cmdline.Percent(done))) })
		p.Clear()
		if err != nil {
			return err
		}
		results = append(results, r)
		if !f.json {
			if err := a.printCase(c, r, plan); err != nil {
				return err
			}
		}
	}
	if f.json {
		return cmdline.PrintJSON(a.Stdout, results)
	}
	return nil
}

func (a *app) printCase(c *evaluate.Case, r *evaluate.Result, plan *policy.Plan) error {
	_, _ = fmt.Fprintln(a.Stdout, a.T("evaluate.case", "case", c.Index, "seed", c.Seed, "plane", c.Plane, "kind", c.Kind,
		"rate", c.Input.Fabric.Links[0].Rate, "ratio", fmt.Sprintf("%.1f", r.Ratio)))
	if r.Failed != "" {
		_, _ = fmt.Fprintln(a.Stdout, a.T("evaluate.failed", "error", r.Failed))
		return nil
	}
	tw := cmdline.NewTable(a.Stdout, 0)
	_, _ = fmt.Fprintln(tw, a.T("evaluate.case.head"))
	for _, t := range r.Tenants {
		_, _ = fmt.Fprintf(tw, "%s\t%g\t%d\t%.3f\t%.3f\t%.3f\t%s\t%s\t%s\t%s\n", t.Tenant, t.Weight, t.QPs, t.Entitled/1e9, t.Predicted/1e9, t.Simulated/1e9,
			fine(t.Entitle), fine(t.Error), fine(t.Bound), fine(t.Drift))
	}
	_, _ = fmt.Fprintln(tw, "\n"+a.T("evaluate.case.links"))
	for i, l := range plan.Links {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\n", l.Name, l.Capacity, len(l.Tenants), cmdline.Percent(r.Links[i].Use), cmdline.Percent(r.Links[i].Before))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i := range plan.Findings {
		_, _ = fmt.Fprintln(a.Stdout, a.Finding(&plan.Findings[i]))
	}
	return nil
}
