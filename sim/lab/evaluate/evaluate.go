package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlane/ccconfig/qos"
	"fairlane/policy"
	"fairlane/subnet"
)

// Limits of an evaluation.
const (
	MaxCases = 100_000
	MaxJobs  = 64
)

// hopBudget limits the packet hops of a counted window that is longer than its minimum, so that 200 cases on all planes take
// less than 15 minutes on two cores.
const hopBudget = 12e6

// Request specifies an evaluation.
type Request struct {
	Cases  int            // 1 to MaxCases
	Seed   uint64         // random seed of cases and traffic
	Planes []policy.Plane // in the order of results; empty means all three
	Jobs   int            // concurrent simulations, 1 to MaxJobs; results do not depend on it
	RoCE   Levers
	// Progress receives the number of completed runs and of all runs. Calls are sequential. It may be nil.
	Progress func(done, all int)
	// Done receives the results in order. Calls are sequential. It may be nil.
	Done func(*Result) error
}

// Result is the result of one case on one plane.
type Result struct {
	Case   int          `json:"case"`
	Seed   uint64       `json:"seed"`
	Plane  policy.Plane `json:"plane"`
	Kind   string       `json:"kind"`
	Form   Form         `json:"form"`
	Shared bool         `json:"shared"` // tenants share sending ports
	// Ratio is the largest ratio of entitled rates among queue pairs limited by the same link.
	Ratio   float64        `json:"ratio"`
	Tenants []TenantResult `json:"tenants"`
	// Use and UseBefore are the mean utilization of the contended links, with the plan and on the unmanaged fabric.
	Use       float64         `json:"use"`
	UseBefore float64         `json:"use_before"`
	Links     []SimulatedLink `json:"links"`
	Findings  []string        `json:"findings"` // codes of the plan's findings
	SettledS  float64         `json:"settled_s"`
	CountedS  float64         `json:"counted_s"`
	// Failed is the reason for a missing result; normally empty.
	Failed string `json:"failed,omitempty"`
}

// TenantResult is the result of one tenant of a case. Each error is relative to the rate in its name.
type TenantResult struct {
	Tenant    string  `json:"tenant"`
	Weight    float64 `json:"weight"`
	QPs       int     `json:"qps"`
	Contended bool    `json:"contended"` // the tenant uses a contended link; other tenants do not count
	Entitled  float64 `json:"entitled_bps"`
	Predicted float64 `json:"predicted_bps"`
	Simulated float64 `json:"simulated_bps"`
	Error     float64 `json:"error"`          // difference of simulated and predicted rate, relative to the predicted rate
	Entitle   float64 `json:"entitled_error"` // difference of simulated and entitled rate, relative to the entitled rate
	Bound     float64 `json:"bound"`
	Drift     float64 `json:"drift"` // relative difference between the halves of the window
	// Findings are the codes of the findings that name the tenant, sorted, without duplicates.
	Findings []string `json:"findings"`
}

// Run evaluates the cases. When the context ends it returns the completed results, from the first case on without gaps, with
// the context's error. A case that cannot be compiled or simulated is a result with Failed set, not an error.
func Run(ctx context.Context, r Request) ([]*Result, error) {
	if len(r.Planes) == 0 {
		r.Planes = policy.Planes()
	}
	if r.Cases < 1 || r.Cases > MaxCases {
		return nil, fmt.Errorf("%d cases: want 1 to %d", r.Cases, MaxCases)
	}
	if r.Jobs < 1 || r.Jobs > MaxJobs {
		return nil, fmt.Errorf("%d jobs: want 1 to %d", r.Jobs, MaxJobs)
	}
	ordered := &ordered{results: make([]*Result, r.Cases*len(r.Planes)), request: &r}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.Jobs)
	for i := range ordered.results {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			c, err := Generate(r.Seed, i/len(r.Planes), r.Planes[i%len(r.Planes)])
			if err != nil {
				return err
			}
			c.Use(r.RoCE)
			res, _, err := c.Evaluate(gctx, nil)
			if err != nil {
				return err
			}
			return ordered.add(i, res)
		})
	}
	err := g.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return ordered.results[:ordered.passed], err
}

// ordered passes on results in the order of their cases.
type ordered struct {
	mu      sync.Mutex
	results []*Result
	request *Request
	passed  int // number of results passed on
	done    int
}

func (o *ordered) add(i int, res *Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results[i] = res
	if o.done++; o.request.Progress != nil {
		o.request.Progress(o.done, len(o.results))
	}
	for ; o.passed < len(o.results) && o.results[o.passed] != nil; o.passed++ {
		if o.request.Done == nil {
			continue
		}
		if err := o.request.Done(o.results[o.passed]); err != nil {
			return err
		}
	}
	return nil
}

// Levers are the options of plans for the RoCE plane: see policy.Options.
type Levers struct {
	Lever   policy.Lever
	Classes []qos.TrafficClass
}

// Use sets the levers of the case's plan, if the case is on the RoCE plane.
func (c *Case) Use(l Levers) {
	if c.Plane == policy.PlaneRoCE {
		c.Input.Options.Lever, c.Input.Options.Classes = l.Lever, l.Classes
	}
}

// Evaluate compiles the case and simulates the plan, which it also returns. It returns an error only when the context ends;
// other errors are in the result's Failed. progress may be nil.
func (c *Case) Evaluate(ctx context.Context, progress func(float64)) (*Result, *policy.Plan, error) {
	res := &Result{
		Case: c.Index, Seed: c.Seed, Plane: c.Plane, Kind: c.Kind, Form: c.Form, Shared: c.Shared,
		Tenants: []TenantResult{}, Links: []SimulatedLink{}, Findings: []string{},
	}
	plan, err := c.fill(ctx, res, progress)
	if ended := ctx.Err(); ended != nil && errors.Is(err, ended) {
		return nil, nil, err
	}
	if err != nil {
		res.Failed = err.Error()
	}
	return res, plan, nil
}

// fill implements Evaluate.
func (c *Case) fill(ctx context.Context, res *Result, progress func(float64)) (*policy.Plan, error) {
	plan, err := policy.Compile(c.Input)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	for _, f := range plan.Findings {
		res.Findings = append(res.Findings, f.Code)
	}
	if res.Ratio, err = c.ratio(); err != nil {
		return plan, err
	}
	o := Options{Seed: c.Traffic(), Before: true, MaxHops: hopBudget, Progress: progress}
	if c.Plane == policy.PlaneIB {
		o.MinSeconds = policy.BoundTime // bounds do not apply to means over shorter windows
	}
	s, err := Simulate(ctx, c.Input, plan, o)
	if err != nil {
		return plan, err
	}
	res.take(plan, s)
	return plan, nil
}

// take stores the results of a simulation of the plan.
func (r *Result) take(plan *policy.Plan, s *Simulation) {
	contended := make(map[string]bool)
	for _, l := range plan.Links {
		for _, t := range l.Tenants {
			contended[t.Tenant] = true
		}
	}
	named := namedBy(plan.Findings)
	r.SettledS, r.CountedS = s.SettledS, s.SimulatedS
	for i, t := range plan.Tenants {
		x := s.Tenants[i]
		r.Tenants = append(r.Tenants, TenantResult{
			Tenant: t.Tenant, Weight: t.Weight.Float(), QPs: t.QPs, Contended: contended[t.Tenant],
			Entitled: float64(t.Entitled), Predicted: float64(t.Predicted), Simulated: float64(x.Delivered),
			Error: round6(x.PredictionError), Entitle: round6(x.ShareError), Bound: t.Bound, Drift: round6(x.Drift),
			Findings: named[t.Tenant],
		})
	}
	for _, l := range s.Links {
		l.Use, l.Before = round6(l.Use), round6(l.Before)
		r.Links = append(r.Links, l)
		r.Use += l.Use / float64(len(s.Links))
		r.UseBefore += l.Before / float64(len(s.Links))
	}
	r.Use, r.UseBefore = round6(r.Use), round6(r.UseBefore)
}

// namedBy returns, by tenant, the codes of the findings that name it.
func namedBy(findings []policy.Finding) map[string][]string {
	out := make(map[string][]string)
	for i := range findings {
		for _, t := range findings[i].Tenants {
			out[t] = append(out[t], findings[i].Code)
		}
	}
	for t := range out {
		slices.Sort(out[t])
		out[t] = slices.Compact(out[t])
	}
	return out
}

func round6(x float64) float64 { return math.Round(x*1e6) / 1e6 }

// ratio returns the largest ratio of entitled rates among queue pairs limited by the same link.
func (c *Case) ratio() (float64, error) {
	target, err := policy.Entitle(c.Input)
	if err != nil {
		return 0, fmt.Errorf("entitlements: %w", err)
	}
	type span struct{ low, high float64 }
	at := make(map[subnet.PortRef]span)
	worst := 1.0
	for i, e := range target.Flows {
		if e.Bottleneck.Node < 0 || e.Rate <= 0 {
			continue
		}
		each := float64(e.Rate) / float64(c.Input.Flows[i].QPs)
		s, ok := at[e.Bottleneck]
		if !ok {
			s = span{each, each}
		}
		s = span{min(s.low, each), max(s.high, each)}
		at[e.Bottleneck] = s
		worst = max(worst, s.high/s.low)
	}
	return round6(worst), nil
}
