package calibrate

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/profile"
)

// MaxJobs is the largest number of concurrent runs.
const MaxJobs = 256

// Options are the options of a calibration.
type Options struct {
	Profile string // one of profile.Names
	Seed    uint64 // seed of the runs; the same seed gives the same profile
	Jobs    int    // concurrent runs, 1 to MaxJobs
	Quick   bool   // use a small grid, to try the command
	Command string // command line recorded in the profile
	// Known are the results of earlier runs, by key, as passed to Finished; these runs are skipped.
	Known map[string]Measured
	// Finished receives each new result, not concurrently, in any order. An error ends the calibration.
	Finished func(key string, m *Measured) error
	// Progress receives the number of completed runs and of all runs, not concurrently.
	Progress func(done, all int)
}

// Report is the result of a calibration: the profile, and the checks from which its bounds follow.
type Report struct {
	Profile *profile.Profile `json:"profile"`
	Runs    int              `json:"runs"`
	Checks  []Check          `json:"checks"`
	// Use is the lowest link utilization of a grid run.
	Use float64 `json:"least_use"`
}

// Calibrate runs the design of a profile and fits its response. It returns an error for an unknown profile, for jobs out of
// range, when a run fails, and when ctx ends; completed runs have been passed to Finished.
func Calibrate(ctx context.Context, o Options) (*Report, error) {
	p, err := profile.Uncalibrated(o.Profile)
	if err != nil {
		return nil, err
	}
	if o.Jobs < 1 || o.Jobs > MaxJobs {
		return nil, fmt.Errorf("jobs %d: want 1 to %d", o.Jobs, MaxJobs)
	}
	g := fullGrid(p)
	if o.Quick {
		g = quickGrid()
	}
	p.Made = o.Command
	points := (&maker{p: p, g: g, seed: o.Seed}).all()
	got, err := runAll(ctx, points, &o)
	if err != nil {
		return nil, err
	}
	f := fitter{p: p, g: g, points: points, got: got}
	f.fit()
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("the fit of %s gives an invalid profile: %w", p.Name, err)
	}
	r := &Report{Profile: p, Runs: len(points), Checks: f.checks, Use: 1}
	for i := range points {
		if points[i].kind == kindGrid {
			r.Use = min(r.Use, got[i].Use)
		}
	}
	return r, nil
}

// runAll executes all runs that are not known.
func runAll(ctx context.Context, points []point, o *Options) ([]*Measured, error) {
	got := make([]*Measured, len(points))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(o.Jobs)
	var mu sync.Mutex
	done := 0
	finish := func(i int, m *Measured, fresh bool) error {
		mu.Lock()
		defer mu.Unlock()
		got[i] = m
		done++
		if o.Progress != nil {
			o.Progress(done, len(points))
		}
		if fresh && o.Finished != nil {
			return o.Finished(points[i].key, m)
		}
		return nil
	}
	for i := range points {
		if running.Err() != nil {
			break // the context ended, or a run has failed, whose error Wait returns
		}
		pt := &points[i]
		if m, ok := o.Known[pt.key]; ok && m.fits(&pt.run) {
			if err := finish(i, &m, false); err != nil {
				return nil, err
			}
			continue
		}
		group.Go(func() error {
			m, err := pt.run.Do(running)
			if err != nil {
				return fmt.Errorf("%s: %w", pt.key, err)
			}
			return finish(i, m, true)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return got, ctx.Err()
}

// fits reports whether a known result can belong to a run: a rate above 0 for each group.
func (m *Measured) fits(r *Run) bool {
	for _, rate := range m.Rates {
		if !(rate > 0 && rate <= float64(r.Rate)) {
			return false
		}
	}
	return len(m.Rates) == len(r.Groups) && m.Use > 0 && m.Use <= 1.01
}
