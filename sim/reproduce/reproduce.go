// Package reproduce repeats published experiments in the packet simulator and puts the published
// figure, ours and their ratio side by side.
//
// No constant is fitted to a table. What a paper leaves open is a parameter with a documented value,
// and where a text has two readings both are run. A figure the model misses is reported as missed.
package reproduce

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Row is one figure of an experiment.
type Row struct {
	Name   string `json:"name"`   // of the experiment
	Metric string `json:"metric"` // stable, such as "becns-increase2.free-running"
	// Published is the paper's figure; nil where it gives none.
	Published *float64 `json:"published,omitempty"`
	Ours      float64  `json:"ours"`
	// Ratio is Ours by Published; nil without a published figure or where that is zero.
	Ratio *float64 `json:"ratio,omitempty"`
	Unit  string   `json:"unit,omitempty"` // "" is a pure number
	Note  string   `json:"note,omitempty"`
}

// Experiment is one that Run can repeat.
type Experiment struct {
	Name        string
	Description string
}

// ErrUnknown marks a name that Run does not know, for errors.Is.
var ErrUnknown = errors.New("unknown experiment")

// Progress is told the part of a run that is done, 0 to 1, in rising order.
type Progress func(done float64)

// experiment is an Experiment with its work. plan returns the simulations and what turns them into
// rows once all have run.
type experiment struct {
	Experiment
	plan func(seed uint64) ([]job, func() []Row)
}

// job is one simulation; it writes its result where the plan's rows look for it.
type job func(ctx context.Context) error

func experiments() []experiment {
	return []experiment{
		{Experiment{"s1-tenants", "S1, experiment E3: a tenant of one flow against a tenant of one to three"}, planTenants},
		{Experiment{"s1-fairness", "S1, experiment E1: incast over a parking lot, congestion control off and on"}, planFairness},
		{Experiment{"s1-ratelimit", "S1, experiment E2: a fixed injection rate delay as a rate limit"}, planRateLimit},
		{Experiment{"s1-sensitivity", "E1 and E3 over what S1 leaves open: marking rate, threshold, reading of the table"}, planSensitivity},
	}
}

// List returns the experiments in the order in which they run.
func List() []Experiment {
	var out []Experiment
	for _, e := range experiments() {
		out = append(out, e.Experiment)
	}
	return out
}

// Names returns the names that Run knows.
func Names() []string {
	var out []string
	for _, e := range experiments() {
		out = append(out, e.Name)
	}
	return out
}

// Check returns an error, wrapping ErrUnknown and listing the known names, when Run does not know
// one of the names.
func Check(names ...string) error {
	_, err := choose(names)
	return err
}

// Run repeats the named experiments, all of them without names, and returns their rows in order. The
// same seed gives the same rows. It fails, wrapping ErrUnknown, on an unknown name, and with the
// context's error when ctx ends. progress may be nil.
func Run(ctx context.Context, seed uint64, progress Progress, names ...string) ([]Row, error) {
	chosen, err := choose(names)
	if err != nil {
		return nil, err
	}
	var jobs []job
	var collect []func() []Row
	for _, e := range chosen {
		j, rows := e.plan(seed)
		jobs = append(jobs, j...)
		collect = append(collect, rows)
	}
	if err := runJobs(ctx, jobs, progress); err != nil {
		return nil, err
	}
	var out []Row
	for i, rows := range collect {
		for _, r := range rows() {
			r.Name = chosen[i].Name
			if r.Published != nil && *r.Published != 0 {
				ratio := r.Ours / *r.Published
				r.Ratio = &ratio
			}
			out = append(out, r)
		}
	}
	return out, nil
}

func choose(names []string) ([]experiment, error) {
	all := experiments()
	if len(names) == 0 {
		return all, nil
	}
	var out []experiment
	for _, name := range names {
		found := false
		for _, e := range all {
			if e.Name == name {
				out, found = append(out, e), true
			}
		}
		if !found {
			return nil, fmt.Errorf("%w %q: want %s", ErrUnknown, name, strings.Join(Names(), ", "))
		}
	}
	return out, nil
}

// runJobs runs independent simulations on all processors.
func runJobs(ctx context.Context, jobs []job, progress Progress) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	done := 0
	for _, j := range jobs {
		g.Go(func() error {
			if err := j(ctx); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if progress != nil {
				progress(float64(done) / float64(len(jobs)))
			}
			return nil
		})
	}
	return g.Wait()
}

// published makes a row with a published figure.
func published(metric string, figure, ours float64, unit, note string) Row {
	return Row{Metric: metric, Published: &figure, Ours: ours, Unit: unit, Note: note}
}

// own makes a row for which the paper gives no figure.
func own(metric string, ours float64, unit, note string) Row {
	return Row{Metric: metric, Ours: ours, Unit: unit, Note: note}
}
