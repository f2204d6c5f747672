package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds of a sweep.
const (
	MaxSweepRuns = 10_000
	MaxJobs      = 256 // runs at once
)

// Axis is one value of a scenario's file that a sweep varies.
type Axis struct {
	Path   string // as in Setting
	Values []string
}

// Sweep is a set of runs of one scenario: every combination of the values of its axes, each with
// every seed. Make it with NewSweep.
type Sweep struct {
	Axes     []Axis
	Seeds    []uint64
	file     *File
	settings [][]Setting // of every combination, the last axis fastest
}

// SweepPoint is one combination of settings with its runs.
type SweepPoint struct {
	Settings []Setting  `json:"settings"`
	Runs     []SweepRun `json:"runs"` // in the order of the seeds; those that an interruption left out are missing
	// Mean and Deviation (of the sample) are over the runs without an error.
	Mean      Measures `json:"mean"`
	Deviation Measures `json:"standard_deviation"`
}

// SweepRun is one run of a sweep.
type SweepRun struct {
	Number   int      `json:"run"` // from 1, in the order of combinations and seeds
	Seed     uint64   `json:"seed"`
	Finished bool     `json:"finished"` // all flows completed; on InfiniBand: the run reached its duration
	Measures Measures `json:"measures"`
	Digest   string   `json:"digest"` // equal digests: the same packets at the same times
	// Error says why a run ended early, such as a deadlock; its measures are those until then, if any.
	Error string `json:"error,omitempty"`
}

// ParseSeeds reads seeds: numbers and ranges such as 1..8, with commas between. It fails for more than MaxSweepRuns,
// and for a seed given twice.
func ParseSeeds(text string) ([]uint64, error) {
	var out []uint64
	seen := make(map[uint64]bool)
	for _, part := range strings.Split(text, ",") {
		low, high, ranged := strings.Cut(strings.TrimSpace(part), "..")
		from, err := strconv.ParseUint(low, 10, 64)
		to := from
		if ranged && err == nil {
			to, err = strconv.ParseUint(high, 10, 64)
		}
		if err != nil || to < from {
			return nil, fmt.Errorf("seeds %q: found %q: want numbers and ranges such as 1..8 or 1,2,5", text, part)
		}
		if to-from >= MaxSweepRuns || len(out)+int(to-from)+1 > MaxSweepRuns {
			return nil, fmt.Errorf("seeds %q: want at most %d seeds", text, MaxSweepRuns)
		}
		for i := range to - from + 1 {
			if seen[from+i] {
				return nil, fmt.Errorf("seeds %q: %d twice: want each once", text, from+i)
			}
			seen[from+i] = true
			out = append(out, from+i)
		}
	}
	return out, nil
}

// NewSweep checks the axes. Without seeds there is one: the scenario's. It fails for more than MaxSweepRuns runs,
// for an axis without values or one given twice; that every combination makes a scenario is for Check.
func NewSweep(file *File, axes []Axis, seeds []uint64) (*Sweep, error) {
	if len(axes) > maxSettings {
		return nil, fmt.Errorf("sweep over %d paths: want at most %d", len(axes), maxSettings)
	}
	s := &Sweep{Axes: axes, Seeds: seeds, file: file, settings: [][]Setting{nil}}
	if len(seeds) == 0 {
		base, err := file.Scenario()
		if err != nil {
			return nil, err
		}
		s.Seeds = []uint64{base.Config.Seed}
	}
	runs := len(s.Seeds)
	for i, a := range axes {
		switch {
		case a.Path == "seed":
			return nil, errors.New("setting seed: want the seeds of a sweep apart from its settings: --seeds")
		case len(a.Values) == 0:
			return nil, fmt.Errorf("setting %s: no value: want at least one", a.Path)
		case slices.ContainsFunc(axes[:i], func(o Axis) bool { return o.Path == a.Path }):
			return nil, fmt.Errorf("setting %s twice: want all its values together", a.Path)
		}
		if runs *= len(a.Values); runs > MaxSweepRuns { // of factors that are each small enough
			break
		}
		var next [][]Setting
		for _, before := range s.settings {
			for _, v := range a.Values {
				next = append(next, append(slices.Clone(before), Setting{a.Path, v}))
			}
		}
		s.settings = next
	}
	if runs > MaxSweepRuns {
		return nil, fmt.Errorf("sweep of more than %d runs: want at most that: fewer seeds or values", MaxSweepRuns)
	}
	return s, nil
}

// Settings returns the settings of a run by its number.
func (s *Sweep) Settings(number int) []Setting { return s.settings[(number-1)/len(s.Seeds)] }

// Runs returns the number of runs.
func (s *Sweep) Runs() int { return len(s.settings) * len(s.Seeds) }

// Check reads the scenario of every combination and returns the first fault in their order.
func (s *Sweep) Check(ctx context.Context, jobs int) error {
	errs := make([]error, len(s.settings))
	s.each(ctx, jobs, len(errs), func(i int) {
		_, errs[i] = s.file.Scenario(s.settings[i]...)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Run makes all runs, jobs at once (1 to MaxJobs), each in one goroutine, and returns when all have ended. What it
// returns depends on neither jobs nor the order in which runs end. progress, if not nil, is called
// after each run, by one goroutine at a time. When ctx ends it returns what has finished, and the context's error; the
// errors of single runs are in their results. record, if not nil, gives the recorder of each Ethernet run.
func (s *Sweep) Run(ctx context.Context, jobs int, record RunRecorder, progress func(done int)) ([]SweepPoint, error) {
	results := make([]*SweepRun, s.Runs())
	var mu sync.Mutex
	done := 0
	s.each(ctx, jobs, len(results), func(i int) {
		r := s.one(ctx, i, record)
		if r == nil {
			return
		}
		results[i] = r
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil {
			progress(done)
		}
	})
	points := make([]SweepPoint, 0, len(s.settings))
	for i, settings := range s.settings {
		p := SweepPoint{Settings: settings, Runs: []SweepRun{}}
		var good []Measures
		for _, r := range results[i*len(s.Seeds) : (i+1)*len(s.Seeds)] {
			if r == nil {
				continue
			}
			p.Runs = append(p.Runs, *r)
			if r.Error == "" {
				good = append(good, r.Measures)
			}
		}
		if len(p.Runs) == 0 {
			continue
		}
		p.Mean, p.Deviation = summary(good)
		points = append(points, p)
	}
	return points, ctx.Err()
}

// each calls f with 0 to n-1, at most jobs at once, and waits for all. When ctx ends it starts no more.
func (s *Sweep) each(ctx context.Context, jobs, n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(max(jobs, 1), MaxJobs, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(i)
			}
		})
	}
	wg.Wait()
}

// RunRecorder returns what records an Ethernet run of a sweep, by its number, and what ends the record, with
// the error of the run. Several runs call it at once.
type RunRecorder func(n int, s *Scenario) (Recorder, func(error) error, error)

// one makes the n-th run; nil is one that was interrupted.
func (s *Sweep) one(ctx context.Context, n int, record RunRecorder) *SweepRun {
	settings, seed := s.settings[n/len(s.Seeds)], s.Seeds[n%len(s.Seeds)]
	run := &SweepRun{Number: n + 1, Seed: seed, Measures: noMeasures()}
	sc, err := s.file.Scenario(settings...)
	if err == nil {
		sc.Config.Seed = seed
		err = run.measure(ctx, sc, record)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		run.Error = err.Error()
	}
	return run
}

func (r *SweepRun) measure(ctx context.Context, sc *Scenario, record RunRecorder) error {
	if sc.Ethernet == nil {
		res, err := Run(ctx, sc, nil)
		if err != nil {
			return err
		}
		r.Finished, r.Measures, r.Digest = true, res.measures(sc), res.Totals.Digest
		return nil
	}
	var o EtherOptions
	finish := func(error) error { return nil }
	if record != nil {
		if err := sc.ReadTraces(); err != nil {
			return &InputError{err}
		}
		var err error
		if o.Recorder, finish, err = record(r.Number, sc); err != nil {
			return err
		}
	}
	res, err := RunEthernet(ctx, sc, o)
	if res != nil {
		r.Finished, r.Measures, r.Digest = res.Finished, res.Measures(), res.Totals.Digest
	}
	return errors.Join(err, finish(err))
}
