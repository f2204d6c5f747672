package scenario

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"fairlane/internal/phrase"
)

// Limits of a sweep.
const (
	MaxSweepRuns = 10_000
	MaxJobs      = 256 // concurrent runs
)

// Axis is one value of a scenario's file that a sweep varies.
type Axis struct {
	Path   string // as in Setting
	Values []string
}

// Sweep is a set of runs of one scenario: every combination of the values of its axes, each with every seed. Create it with
// NewSweep.
type Sweep struct {
	Axes     []Axis
	Seeds    []uint64
	file     *File
	settings [][]Setting // settings of every combination; the last axis changes fastest
}

// SweepPoint is one combination of settings with its runs.
type SweepPoint struct {
	Settings []Setting  `json:"settings"`
	Runs     []SweepRun `json:"runs"` // in the order of the seeds; runs skipped by an interruption are missing
	// Mean and Deviation (of the sample) are over the runs without an error.
	Mean      Measures `json:"mean"`
	Deviation Measures `json:"standard_deviation"`
}

// SweepRun is one run of a sweep.
type SweepRun struct {
	Number   int      `json:"run"` // number of the run, from 1, in the order of combinations and seeds
	Seed     uint64   `json:"seed"`
	Finished bool     `json:"finished"` // all flows completed; on InfiniBand: the run reached its duration
	Measures Measures `json:"measures"`
	Digest   string   `json:"digest"` // equal digests mean the same packets at the same times
	// Error is the reason for an early end, such as a deadlock. The measures are then those until the error, if any.
	Error string `json:"error,omitempty"`
}

// ParseSeeds parses seeds: numbers and ranges such as 1..8, separated by commas. It returns an error for more than
// MaxSweepRuns seeds, and for a repeated seed.
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
			return nil, fault(phrase.Of("scenario.seeds", "seeds", strconv.Quote(text), "found", strconv.Quote(part)))
		}
		if to-from >= MaxSweepRuns || len(out)+int(to-from)+1 > MaxSweepRuns {
			return nil, fault(phrase.Of("scenario.seeds-max", "seeds", strconv.Quote(text), "max", MaxSweepRuns))
		}
		for i := range to - from + 1 {
			if seen[from+i] {
				return nil, fault(phrase.Of("scenario.seed-twice", "seeds", strconv.Quote(text), "seed", from+i))
			}
			seen[from+i] = true
			out = append(out, from+i)
		}
	}
	return out, nil
}

// NewSweep validates the axes. Without seeds it uses the scenario's seed. It returns an error for more than MaxSweepRuns
// runs, for an axis without values, and for a repeated axis. Check checks that every combination is a valid scenario.
func NewSweep(file *File, axes []Axis, seeds []uint64) (*Sweep, error) {
	if len(axes) > maxSettings {
		return nil, fault(phrase.Of("scenario.sweep-paths", "n", len(axes), "max", maxSettings))
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
			return nil, fault(phrase.Of("scenario.setting-seed"))
		case len(a.Values) == 0:
			return nil, fault(phrase.Of("scenario.setting-no-value", "path", a.Path))
		case slices.ContainsFunc(axes[:i], func(o Axis) bool { return o.Path == a.Path }):
			return nil, fault(phrase.Of("scenario.setting-again", "path", a.Path))
		}
		if runs *= len(a.Values); runs > MaxSweepRuns { // each factor is small, so the product cannot overflow
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
		return nil, fault(phrase.Of("scenario.sweep-runs", "max", MaxSweepRuns))
	}
	return s, nil
}

// Settings returns the settings of a run by its number.
func (s *Sweep) Settings(number int) []Setting { return s.settings[(number-1)/len(s.Seeds)] }

// Runs returns the number of runs.
func (s *Sweep) Runs() int { return len(s.settings) * len(s.Seeds) }

// Check parses the scenario of every combination and returns the first error in their order.
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

// Run executes all runs, up to jobs at the same time (1 to MaxJobs), each in one goroutine, and returns when all have ended.
// The result does not depend on jobs or on the order in which runs end. progress, if not nil, is called after each run; calls
// are sequential. When ctx ends, Run returns the completed runs with the context's error; the errors of single runs are in
// their results. record, if not nil, returns the recorder of each Ethernet run.
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

// each calls f with 0 to n-1, at most jobs at the same time, and waits for all. After the end of ctx it starts no more calls.
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

// RunRecorder returns a recorder for an Ethernet run of a sweep, by its number, and a function that closes the recorder with
// the error of the run. It is called concurrently.
type RunRecorder func(n int, s *Scenario) (Recorder, func(error) error, error)

// one executes the n-th run; nil means that it was interrupted.
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
