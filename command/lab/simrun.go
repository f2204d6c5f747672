package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/quantity"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

type simRunFlags struct {
	json, dryRun       bool
	seed               uint64
	threads            int
	out                string
	duration, interval string
	series             scenario.SeriesText
}

func (a *app) simRunCommand() *cobra.Command {
	var f simRunFlags
	cmd := &cobra.Command{
		Use: "run SCENARIO", Short: a.T("sim.run.short"), Long: a.T("sim.run.long"), Args: cmdline.OneArgument("SCENARIO"),
		Example: `  fairlane sim run ib16
  fairlane sim run fattree320 --dry-run
  fairlane sim run fattree320 --out results      # flows.csv, rates.csv, queues.csv, result.json, charts
  fairlane sim run fattree320 --threads 2
  fairlane sim run incast20 --out results --series rate,target,alpha,queue,pfc --series-every 20us
  fairlane sim run my-scenario.yaml --json --seed 7 --duration 20ms --interval 100us`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := scenario.Load(args[0])
			if err != nil {
				return usage.Wrap(err)
			}
			if cmd.Flags().Changed("seed") {
				s.Config.Seed = f.seed
			}
			if err := f.times(s); err != nil {
				return usage.Wrap(err)
			}
			if cmd.Flags().Changed("threads") {
				if err := s.SetThreads(f.threads); err != nil {
					return usage.Wrap(phrase.Because(err, phrase.Of("scenario.reason", "scenario", s.Name, "reason", err)))
				}
			}
			if err := f.chooseSeries(s); err != nil {
				return usage.Wrap(err)
			}
			if err := s.ReadTraces(); err != nil {
				return usage.Wrap(err)
			}
			if f.dryRun {
				return a.dryRun(s, f.json)
			}
			if same := s.Unscaled(); len(same) > 0 {
				_, _ = fmt.Fprintln(a.Stderr, a.T("sim.run.unscaled", "settings", strings.Join(same, ", ")))
			}
			return a.runSim(cmd.Context(), s, f)
		},
	}
	cmd.Flags().BoolVar(&f.json, "json", false, a.T("flag.json"))
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, a.T("sim.run.flag.dryrun"))
	a.SeedFlag(cmd, &f.seed, 0)
	cmd.Flags().IntVar(&f.threads, "threads", 1, a.T("sim.run.flag.threads"))
	cmd.Flags().StringVar(&f.out, "out", "", a.T("sim.run.flag.out"))
	cmd.Flags().StringVar(&f.duration, "duration", "", a.T("sim.run.flag.duration"))
	cmd.Flags().StringVar(&f.interval, "interval", "", a.T("sim.run.flag.interval"))
	a.seriesFlags(cmd, &f.series)
	return cmd
}

// times replaces times of the scenario by those of the flags.
func (f *simRunFlags) times(s *scenario.Scenario) error {
	duration, interval := s.Duration, s.Interval
	for _, v := range []struct {
		name, text string
		to         *quantity.Picoseconds
	}{{"duration", f.duration, &duration}, {"interval", f.interval, &interval}} {
		if v.text == "" {
			continue
		}
		t, err := quantity.ParsePicoseconds(v.text)
		if err != nil {
			return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", v.name, "reason", err))
		}
		*v.to = t
	}
	return s.SetTimes(duration, interval)
}

// runSim runs a scenario of either plane and prints a report.
func (a *app) runSim(ctx context.Context, s *scenario.Scenario, f simRunFlags) error {
	p := progress.On(a.Stderr)
	begun := time.Now()
	show := func(now quantity.Picoseconds, part float64) {
		p.Show(a.T("sim.run.progress", "done", cmdline.Percent(part), "now", now, "end", s.Duration, "left", progress.Left(begun, part)))
	}
	if s.Ethernet != nil {
		return a.runEthernet(ctx, s, f, p, show)
	}
	r, err := scenario.Run(ctx, s, func(now, end quantity.Picoseconds) { show(now, float64(now)/float64(end)) })
	p.Clear()
	if r == nil {
		return err
	}
	if f.out != "" {
		err = errors.Join(err, saveInfiniBand(f.out, r))
	}
	if f.json {
		return errors.Join(err, cmdline.PrintJSON(a.Stdout, r))
	}
	return errors.Join(err, a.printRun(a.Stdout, r))
}

// runEthernet runs an Ethernet scenario. It keeps and prints the measurements even if the run is interrupted or ends in
// a deadlock.
func (a *app) runEthernet(ctx context.Context, s *scenario.Scenario, f simRunFlags, p *progress.Line, show func(quantity.Picoseconds, float64)) error {
	o := scenario.EtherOptions{Progress: show}
	var files *simFiles
	if f.out != "" {
		var err error
		if files, err = newSimFiles(f.out, s); err != nil {
			return err
		}
		o.Recorder = files
		if files.series != nil {
			o.Series = files.series
		}
	}
	r, err := scenario.RunEthernet(ctx, s, o)
	p.Clear()
	var input *scenario.InputError
	if errors.As(err, &input) {
		r, err = nil, usage.Wrap(err) // the results before an input error do not count
	}
	if files != nil {
		err = errors.Join(err, files.finish(r, err))
		if files.series != nil {
			for _, line := range files.series.missing(a) {
				_, _ = fmt.Fprintln(a.Stderr, line)
			}
		}
	}
	if r == nil {
		return err
	}
	if f.json {
		return errors.Join(err, cmdline.PrintJSON(a.Stdout, r))
	}
	return errors.Join(err, a.printEtherRun(a.Stdout, r))
}
