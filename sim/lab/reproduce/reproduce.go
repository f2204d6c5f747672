// Package reproduce repeats published experiments in the packet simulator and reports the published value, ours and their
// ratio.
//
// No constant is fitted to a table. Values that a paper does not give are parameters with documented values. If a text has
// two readings, both are run. Published values that the model misses are reported as missed.
package reproduce

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/internal/phrase"
	"fairlane/internal/suggest"
)

// Row is one value of an experiment.
type Row struct {
	Name   string `json:"name"`   // name of the experiment
	Metric string `json:"metric"` // stable, such as "becns-increase2.free-running"
	// Published is the paper's value; nil if it gives none.
	Published *float64 `json:"published,omitempty"`
	Ours      float64  `json:"ours"`
	// Ratio is Ours / Published; it is nil without a published value, or if that value is zero.
	Ratio *float64 `json:"ratio,omitempty"`
	Unit  string   `json:"unit,omitempty"` // "" means a pure number
	Note  string   `json:"note,omitempty"`
}

// Experiment describes an experiment for Run.
type Experiment struct {
	Name        string
	Description string
}

// ErrUnknown is the error for an unknown experiment, for errors.Is.
var ErrUnknown = errors.New("unknown experiment")

// Progress receives the completed fraction of a run, 0 to 1, in increasing order.
type Progress func(done float64)

// Options are the options of a repetition.
type Options struct {
	Seed uint64
	// Full runs experiments with the duration of the paper. The default is a shorter duration with the same result. The rows of
	// an experiment state the duration.
	Full     bool
	Progress Progress // may be nil
}

// Result is the result of experiments.
type Result struct {
	Rows    []Row    `json:"rows"`
	Figures []Figure `json:"figures,omitempty"`
	// Finished is the number of experiments in Rows.
	Finished int `json:"-"`
}

// experiment is an Experiment with its implementation. plan returns the simulations and a function that computes the result
// after all have run.
type experiment struct {
	Experiment
	plan planner
}

// planner returns the simulations of an experiment and a function for its result.
type planner func(o Options) ([]job, func() Result)

// withFigures returns the planner of an experiment with one length and with figures made from its rows.
func withFigures(plan func(seed uint64) ([]job, func() []Row), figures func(rows []Row) []Figure) planner {
	return func(o Options) ([]job, func() Result) {
		jobs, rows := plan(o.Seed)
		return jobs, func() Result {
			r := rows()
			return Result{Rows: r, Figures: figures(r)}
		}
	}
}

// job is one simulation; it stores its result for the plan's function.
type job func(ctx context.Context) error

func experiments() []experiment {
	return []experiment{
		{Experiment{"s0-table3", "S0, table 3: WRCC, DCQCN, HPCC and BiCC over two data centres at three loads"}, planS0Table3},
		{Experiment{"s0-table4", "S0, table 4: three sampling periods of WRCC's switches"}, planS0Table4},
		{Experiment{"s0-motivation", "S0, figure 2: a long-haul flow and a local flow share a receiver"}, planS0Motivation},
		{Experiment{"s0-pfc", "S0, figures 8 and 9: queues and pauses"}, planS0PFC},
		{Experiment{"s1-tenants", "S1, experiment E3: a tenant of one flow against a tenant of one to three"}, withFigures(planTenants, tenantFigures)},
		{Experiment{"s1-fairness", "S1, experiment E1: incast over a parking lot, congestion control off and on"}, planFairness},
		{Experiment{"s1-ratelimit", "S1, experiment E2: a fixed injection rate delay as a rate limit"}, withFigures(planRateLimit, rateLimitFigures)},
		{Experiment{"s1-sensitivity", "E1 and E3 over what S1 leaves open: marking rate, threshold, reading of the table"}, withFigures(planSensitivity, sensitivityFigures)},
		{Experiment{"s2-recovery", "S2, figure 4: recovery of one sender by send opportunity, DCQCN and DCQCN-p"}, planRecovery},
		{Experiment{"s2-table4", "S2, table 4: four congestion controls in an 80-to-1 incast"}, planTable4},
		{Experiment{"s3-table6", "S3, table 6: five congestion controls in a 20-to-1 incast"}, planTable6},
		{Experiment{"s3-targets", "S3, tables 4 and 5: the neural control with targets of 5, 6 and 7 us"}, planTargets},
		{Experiment{"s3-slowdown", "S3, table 8: slowdown by flow size in a fat tree of 320 hosts, seven congestion controls"}, planSlowdown},
		{Experiment{"s3-predictor", "S3, table 1 and 4.3.2: training of the RTT predictor, and what it adds"}, planPredictor},
		{Experiment{"s4-clamp", "S4: target and current rate with CLAMP_TARGET_RATE 0 and 1"}, planClamp},
		{Experiment{"s4-levers", "what nine changes of the vendor's DCQCN do to shares, against a small model of the same rules"}, planLevers},
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

// Names returns the known names.
func Names() []string {
	var out []string
	for _, e := range experiments() {
		out = append(out, e.Name)
	}
	return out
}

// Check returns an error for an unknown name, which wraps ErrUnknown and lists the known names.
func Check(names ...string) error {
	_, err := choose(names)
	return err
}

// Run repeats the named experiments, or all of them without names, and returns their rows in order. Duplicate names count once.
// The same seed gives the same rows. Run returns an error that wraps ErrUnknown for an unknown name, and the context's error
// when ctx ends. progress may be nil.
func Run(ctx context.Context, seed uint64, progress Progress, names ...string) ([]Row, error) {
	r, err := Repeat(ctx, Options{Seed: seed, Progress: progress}, names...)
	if err != nil {
		return nil, err
	}
	return r.Rows, nil
}

// Repeat is Run with options, and also returns figures. The same options give the same result. When the context ends, it
// returns the completed experiments with the error.
func Repeat(ctx context.Context, o Options, names ...string) (*Result, error) {
	chosen, err := choose(names)
	if err != nil {
		return nil, err
	}
	var jobs []job
	var works []work
	for _, e := range chosen {
		j, result := e.plan(o)
		works = append(works, work{e.Name, result, len(jobs), len(jobs) + len(j)})
		jobs = append(jobs, j...)
	}
	done, err := runJobs(ctx, jobs, o.Progress)
	out := &Result{}
	for _, w := range works {
		if slices.Contains(done[w.from:w.to], false) {
			continue
		}
		out.Finished++
		out.add(w.name, w.result())
	}
	if err != nil {
		return out, fmt.Errorf("%d of %d experiments finished: %w", out.Finished, len(chosen), err)
	}
	return out, nil
}

// work is a running experiment: the range of its jobs, and the function for its result.
type work struct {
	name     string
	result   func() Result
	from, to int
}

// add appends an experiment's result.
func (out *Result) add(experiment string, r Result) {
	for _, row := range r.Rows {
		row.Name = experiment
		if row.Published != nil && *row.Published != 0 {
			ratio := row.Ours / *row.Published
			row.Ratio = &ratio
		}
		out.Rows = append(out.Rows, row)
	}
	for _, f := range r.Figures {
		f.Experiment = experiment
		out.Figures = append(out.Figures, f)
	}
}

// choose returns the named experiments in the order of the names, without duplicates. Without names it returns all
// experiments.
func choose(names []string) ([]experiment, error) {
	all := experiments()
	if len(names) == 0 {
		return all, nil
	}
	var out []experiment
	for i, name := range names {
		at := slices.IndexFunc(all, func(e experiment) bool { return e.Name == name })
		if at < 0 {
			return nil, phrase.Because(ErrUnknown, phrase.Meant(phrase.Of("usage.unknown-experiment", "name", strconv.Quote(name), "names", Names()), suggest.Quoted(name, Names())))
		}
		if !slices.Contains(names[:i], name) {
			out = append(out, all[at])
		}
	}
	return out, nil
}

// runJobs runs independent simulations on all processors, and reports for each whether it is complete.
func runJobs(ctx context.Context, jobs []job, progress Progress) ([]bool, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	done, count := make([]bool, len(jobs)), 0
	for i, j := range jobs {
		g.Go(func() error {
			if err := j(ctx); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done[i] = true
			count++
			if progress != nil {
				progress(float64(count) / float64(len(jobs)))
			}
			return nil
		})
	}
	err := g.Wait()
	return done, err
}

// published returns a row with a published value.
func published(metric string, figure, ours float64, unit, note string) Row {
	return Row{Metric: metric, Published: &figure, Ours: ours, Unit: unit, Note: note}
}

// unpublished returns a row without a published value.
func unpublished(metric string, ours float64, unit, note string) Row {
	return Row{Metric: metric, Ours: ours, Unit: unit, Note: note}
}
