package lab

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

type simSweepFlags struct {
	json  bool
	seeds string
	set   []string
	out   string
	jobs  int
}

func (a *app) simSweepCommand() *cobra.Command {
	var f simSweepFlags
	cmd := &cobra.Command{
		Use: "sweep SCENARIO", Short: a.T("sim.sweep.short"), Long: a.T("sim.sweep.long", "most", scenario.MaxSweepRuns), Args: cmdline.OneArgument("SCENARIO"),
		Example: `  fairlane sim sweep incast20 --seeds 1..8
  fairlane sim sweep incast20 --seeds 1..4 --set model.ecn.max=400000 --set model.ecn.min=50000,100000,200000 --out results
  fairlane sim sweep fattree320 --set workload.0.load=0.1,0.2,0.3 --set duration=1ms --json
  fairlane sim sweep my-scenario.yaml --set 'fabric={topology: star, hosts: 4},{topology: star, hosts: 8}'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			sweep, err := newSweep(args[0], &f, cmd.Flags().Changed("jobs"))
			if err != nil {
				return usage.Wrap(err)
			}
			return a.runSweep(cmd.Context(), args[0], sweep, f)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	cmd.Flags().StringVar(&f.seeds, "seeds", "", a.T("sim.sweep.flag.seeds"))
	cmd.Flags().StringArrayVar(&f.set, "set", nil, a.T("sim.sweep.flag.set"))
	cmd.Flags().StringVar(&f.out, "out", "", a.T("sim.sweep.flag.out"))
	cmd.Flags().IntVar(&f.jobs, "jobs", min(runtime.GOMAXPROCS(0), scenario.MaxJobs), a.T("sim.sweep.flag.jobs"))
	return cmd
}

// newSweep parses the command line. Unless the number of jobs is given, runs with several threads get fewer jobs.
func newSweep(name string, f *simSweepFlags, jobsGiven bool) (*scenario.Sweep, error) {
	if f.jobs < 1 || f.jobs > scenario.MaxJobs {
		return nil, &phrase.Error{Text: phrase.Of("usage.flag-range", "flag", "jobs", "value", f.jobs, "min", 1, "max", scenario.MaxJobs)}
	}
	file, err := scenario.Open(name)
	if err != nil {
		return nil, err
	}
	base, err := file.Scenario()
	if err != nil {
		return nil, err
	}
	if base.Ethernet != nil && !jobsGiven {
		f.jobs = max(1, f.jobs/max(1, base.Ethernet.Threads))
	}
	var seeds []uint64
	if f.seeds != "" {
		if seeds, err = scenario.ParseSeeds(f.seeds); err != nil {
			return nil, phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "seeds", "reason", err))
		}
	}
	var axes []scenario.Axis
	for _, text := range f.set {
		path, values, err := scenario.ParseSettings(text)
		if err != nil {
			return nil, phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "set", "reason", err))
		}
		axes = append(axes, scenario.Axis{Path: path, Values: values})
	}
	return scenario.NewSweep(file, axes, seeds)
}

// runSweep executes the runs and prints a report. It keeps and prints finished runs even if the sweep is interrupted or
// runs fail.
func (a *app) runSweep(ctx context.Context, name string, sweep *scenario.Sweep, f simSweepFlags) error {
	p := progress.On(a.Stderr)
	p.Show(a.T("sim.sweep.checking"))
	err := sweep.Check(ctx, f.jobs)
	p.Clear()
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return usage.Wrap(err)
	}
	total, begun := sweep.Runs(), time.Now()
	p.Show(a.T("sim.sweep.progress", "done", 0, "total", total, "left", "?"))
	var record scenario.RunRecorder
	if f.out != "" {
		record = sweepFlows(f.out, sweep)
	}
	points, err := sweep.Run(ctx, f.jobs, record, func(done int) {
		p.Show(a.T("sim.sweep.progress", "done", done, "total", total, "left", progress.Left(begun, float64(done)/float64(total))))
	})
	p.Clear()
	finished, failed := countRuns(points)
	if err != nil {
		err = fmt.Errorf("sweep of %s: %d of %d runs finished: %w", name, finished, total, err)
	} else if failed != nil {
		err = fmt.Errorf("sweep of %s: %w", name, failed)
	}
	if f.out != "" {
		err = errors.Join(err, saveSweep(f.out, name, sweep, points))
	}
	if f.json {
		return errors.Join(err, cmdline.PrintJSON(a.Stdout, points))
	}
	return errors.Join(err, a.printSweep(a.Stdout, sweep, points))
}

// countRuns counts the runs, and returns messages about those that failed.
func countRuns(points []scenario.SweepPoint) (finished int, failed error) {
	bad, first := 0, ""
	for i := range points {
		for k := range points[i].Runs {
			finished++
			if r := &points[i].Runs[k]; r.Error != "" {
				if bad++; bad == 1 {
					first = fmt.Sprintf("%sseed %d: %s", settingsText(points[i].Settings), r.Seed, r.Error)
				}
			}
		}
	}
	if bad == 0 {
		return finished, nil
	}
	return finished, fmt.Errorf("%d of %d runs ended with an error; the first: %s", bad, finished, first)
}

func settingsText(settings []scenario.Setting) string {
	text := ""
	for _, s := range settings {
		text += s.String() + ", "
	}
	return text
}
