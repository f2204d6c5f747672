package fill

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edit changes values of a problem, in a copy, without changing its flows.
func (d *splitMix) edit(p *Problem) *Problem {
	q := *p
	change := func(s []float64, n, times int, to ...float64) []float64 {
		if s = slices.Clone(s); s == nil {
			s = make([]float64, n)
		}
		for range times {
			if i := d.below(n); to != nil {
				s[i] = to[d.below(len(to))]
			} else {
				s[i] *= []float64{0.25, 0.5, 3, 1.3, 0.7}[d.below(5)]
			}
		}
		return s
	}
	n, times := p.flows(), 1+d.below(6)
	kind := d.below(4)
	switch {
	case kind == 0:
		q.Demand = change(p.Demand, n, times, 0, 1e9, 3e9, 20e9)
	case kind == 1 && p.flat() && p.Sending != nil && d.below(2) == 0:
		q.Sending = change(p.Sending, n, times)
	case kind == 1:
		q.Capacity = change(p.Capacity, len(p.Capacity), times, 0, 50e9, 100e9, 100e9, 200e9)
	case kind == 2:
		q.Units = change(p.Units, n, times)
	case p.flat() && d.below(2) == 0 && p.Floor != nil:
		q.Floor = change(p.Floor, n, times, 0, 1e8, 5e9)
	case p.flat() && d.below(2) == 0 && p.Sending != nil:
		q.Sending = change(p.Sending, n, times)
	case p.flat():
		q.Ceiling = change(p.Ceiling, n, times, 0, 2e9, 8e9)
	case p.LinkWeight != nil && d.below(2) == 0:
		q.LinkWeight = slices.Clone(p.LinkWeight)
		f, times := d.below(n), []float64{0.25, 0.5, 3, 1.3}[d.below(4)]
		for h := p.First[f]; h < p.First[f+1]; h++ { // the weight of a tenant on a link changes for all its flows there
			was := p.LinkWeight[h]
			for g := range p.Tenant {
				for k := p.First[g]; k < p.First[g+1]; k++ {
					if p.Tenant[g] == p.Tenant[f] && p.Hops[k] == p.Hops[h] {
						q.LinkWeight[k] = was * times
					}
				}
			}
		}
	case d.below(3) == 0:
		q.Guarantee = change(p.Guarantee, len(p.TenantWeight), times, 0, 5e9, 60e9)
	case d.below(3) == 0:
		q.Cap = change(p.Cap, len(p.TenantWeight), times, 0, 8e9, 40e9)
	case d.below(3) == 0:
		q.ClassWeight = change(p.ClassWeight, len(p.ClassWeight), times)
	default:
		q.TenantWeight = change(p.TenantWeight, len(p.TenantWeight), 1+times/3)
	}
	return &q
}

// linkWeights draws a weight for each tenant on each link.
func (d *splitMix) linkWeights(p *Problem) []float64 {
	type place struct{ tenant, link int32 }
	weights, out := make(map[place]float64), make([]float64, len(p.Hops))
	for f, t := range p.Tenant {
		for h := p.First[f]; h < p.First[f+1]; h++ {
			at := place{t, p.Hops[h]}
			if weights[at] == 0 {
				weights[at] = float64(1 + d.below(16))
			}
			out[h] = weights[at]
		}
	}
	return out
}

// solveBoth solves a problem with memory, and from scratch with the same budget, and compares the complete results.
func solveBoth(t *testing.T, s *Solver, p *Problem, where string) *Solution {
	t.Helper()
	got, err := s.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	want, err := (&Solver{once: true, effort: s.effort}).Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(want, got) {
		t.Fatalf("%s: the solver's result differs (-cold +solver):\n%s", where, cmp.Diff(want, got))
	}
	return got
}

// ratesAgree solves two problems and compares the rates of each flow, to a relative difference.
func ratesAgree(t *testing.T, p, q *Problem, within float64, where string) {
	t.Helper()
	want, err := Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Solve(q)
	if err != nil {
		t.Fatal(err)
	}
	for f, r := range got.Rates {
		if math.Abs(r-want.Rates[f]) > within*want.Rates[f] {
			t.Fatalf("%s: flow %d has %.12g instead of %.12g", where, f, r, want.Rates[f])
		}
	}
}

func TestReplayEqualsSolveBitForBit(t *testing.T) {
	t.Parallel()
	for _, where := range []placement{compact, scattered} {
		for _, flat := range []bool{false, true} {
			t.Run(fmt.Sprintf("placement %d flat %v", where, flat), func(t *testing.T) {
				t.Parallel()
				followed := 0
				for seed := range splitMix(3) {
					p, d0 := treeProblem(fatTree{8}, 128, 8, 1280, where, flat), seed
					if flat && seed%2 == 1 {
						p.Floor = make([]float64, p.flows())
					}
					if !flat && seed == 1 {
						p.LinkWeight = d0.linkWeights(p)
					}
					if seed == 2 { // links keep their order at any load, and rates have a coarse precision
						p.Nominal, p.Precision = slices.Clone(p.Capacity), 1e-8
					}
					if !flat && seed > 0 { // also when units change
						p.Count = slices.Clone(p.Units)
					}
					d, s, p0 := 77+seed, Solver{Eager: true}, p
					for step := range 25 {
						solveBoth(t, &s, p, fmt.Sprintf("seed %d step %d", seed, step))
						followed += s.Followed
						if d.below(3) == 0 {
							p = p0
						}
						p = d.edit(p)
					}
				}
				if followed < 30 {
					t.Errorf("only %d histories were followed in 75 steps: the test has checked nothing", followed)
				}
			})
		}
	}
}

// TestHistoriesAreFollowedWithinTheSameBudget covers parts that converge, parts that only settle within the budget, and parts that do not
// settle: the case determines the result.
func TestHistoriesAreFollowedWithinTheSameBudget(t *testing.T) {
	t.Parallel()
	followed, approximate := 0, 0
	for seed := range splitMix(45) {
		p := treeProblem(fatTree{8}, 128, 8, 1280, scattered, seed%2 == 0)
		d, s := 900+seed, Solver{Eager: true}
		s.effort = settlingOf(p) + 1 + d.below(500) // barely enough: after some of the changes it is too little
		for step := range 6 {
			got := solveBoth(t, &s, p, fmt.Sprintf("seed %d step %d, budget %d", seed, step, s.effort))
			followed += s.Followed
			if got.Approximate > 0 {
				approximate++
			}
			p = d.edit(p)
		}
	}
	if followed < 30 || approximate < 30 {
		t.Errorf("%d histories were replayed and %d searches abandoned: the test has checked nothing", followed, approximate)
	}
}

// TestReplayThatReachesACycleIsAbandoned covers a change after which a small cycle never converges: however long the replay would
// take, it stops at the work of a solution from scratch.
func TestReplayThatReachesACycleIsAbandoned(t *testing.T) {
	t.Parallel()
	const seed = 100485
	p := treeProblem(fatTree{4}, 16, 2+seed%7, 40+seed%200, scattered, seed%3 == 0)
	d, s := splitMix(7777+seed*13), Solver{Eager: true}
	if first := solveBoth(t, &s, p, "before"); first.Approximate > 0 {
		t.Fatal("the first solution is in a cycle: the test has checked nothing")
	}
	if after := solveBoth(t, &s, d.edit(p), "after"); after.Approximate == 0 {
		t.Fatal("it converges: the test has checked nothing")
	}
}

func TestSettledRatesConverge(t *testing.T) {
	t.Parallel()
	p := treeProblem(fatTree{8}, 128, 8, 1280, scattered, false)
	run := func(budget int) *engine { return runAsOne(p, budget) }
	whole := run(10_000_000)
	if whole.approximate || whole.settling == 0 || whole.work < 3*whole.settling/2 {
		t.Fatalf("approximate %v, settled after %d of %d: the test has checked nothing", whole.approximate, whole.settling, whole.work)
	}
	if e := run(whole.settling + 1); e.approximate || e.work != whole.work {
		t.Errorf("with %d: approximate %v after %d, want all %d", whole.settling+1, e.approximate, e.work, whole.work)
	}
	if e := run(whole.settling - 1); !e.approximate {
		t.Errorf("with %d it came to rest", whole.settling-1)
	}
}

// runAsOne runs an engine of all flows and links with a budget.
func runAsOne(p *Problem, budget int) *engine {
	e := newEngine(p, numbered(p.flows()), p.binding(), newScratch(len(p.Capacity)))
	e.run(budget)
	return e
}

// settlingOf returns the largest work that a part of a problem takes to settle.
func settlingOf(p *Problem) int {
	use := p.binding()
	parts, _ := p.split(use)
	most := 0
	for i := range parts {
		e := newEngine(p, parts[i].flows, use, newScratch(len(p.Capacity)))
		e.run(10_000_000)
		most = max(most, e.settling)
	}
	return most
}

func TestChangedCapacitiesAreFollowedWhereLinksHaveNominalOnes(t *testing.T) {
	t.Parallel()
	p := treeProblem(fatTree{8}, 128, 8, 1280, compact, true)
	p.Nominal = slices.Clone(p.Capacity)
	s, d := Solver{Eager: true}, splitMix(5)
	if _, err := s.Solve(p); err != nil {
		t.Fatal(err)
	}
	for step := range 10 {
		q := *p
		q.Capacity = slices.Clone(p.Capacity)
		q.Capacity[d.below(len(q.Capacity))] *= 0.97
		q.Capacity[d.below(len(q.Capacity))] = Boundless
		p = &q
		solveBoth(t, &s, p, fmt.Sprintf("step %d", step))
		if s.Followed == 0 || s.Computed > p.flows()/2 {
			t.Errorf("step %d: %d parts followed again and %d flows of %d computed", step, s.Followed, s.Computed, p.flows())
		}
	}
}

func TestOrderOfLinksDoesNotChangeFairRates(t *testing.T) {
	t.Parallel()
	for seed := range splitMix(20) {
		p := treeProblem(fatTree{8}, 128, 8, 1280, compact, seed%2 == 0)
		p.Sends, p.Sending = nil, nil // with them there can be several fair allocations
		d, q := 40+seed, *p
		q.Nominal, q.Count = slices.Clone(p.Capacity), slices.Clone(p.Units)
		for i := range q.Nominal {
			q.Nominal[i] *= float64(1 + d.below(9))
		}
		for i := range q.Count {
			q.Count[i] *= float64(1 + d.below(9))
		}
		ratesAgree(t, p, &q, 1e-9, fmt.Sprintf("seed %d, in another order", seed))
	}
}

func TestRatesReachTheRequestedPrecision(t *testing.T) {
	t.Parallel()
	for seed := range splitMix(10) {
		p := treeProblem(fatTree{8}, 128, 8+int(seed), 1280, compact, seed%2 == 0)
		p.Sends, p.Sending = nil, nil // with them there can be several fair allocations
		q := *p
		q.Precision = 1e-8
		ratesAgree(t, p, &q, 1e-6, fmt.Sprintf("seed %d, at a precision of 1e-8", seed))
	}
	for _, wrong := range []float64{-1, 1, math.NaN()} {
		if _, err := Solve(&Problem{Precision: wrong}); !errors.Is(err, ErrProblem) {
			t.Errorf("precision %g: error %v, want ErrProblem", wrong, err)
		}
	}
}

// TestAHistoryDoesNotGrow makes many changes: the memory keeps the size of one solution from scratch.
func TestAHistoryDoesNotGrow(t *testing.T) {
	t.Parallel()
	p := treeProblem(fatTree{8}, 128, 8, 1280, compact, false)
	d, s := splitMix(9), Solver{Eager: true}
	for step := range 40 {
		if _, err := s.Solve(p); err != nil {
			t.Fatal(err)
		}
		s.Settle()
		for i := range s.parts {
			m := s.parts[i].memory
			if m == nil {
				continue
			}
			fresh, kept := newEngine(p, s.parts[i].flows, s.use, newScratch(len(p.Capacity))), 0
			fresh.recorder = newRecorder(0)
			fresh.run(s.budget(fresh))
			for l := range m.h.of {
				kept += len(m.h.of[l].offers)
			}
			if kept != m.h.kept || kept != fresh.recorder.kept || m.e.work != fresh.work || m.e.settling != fresh.settling {
				t.Fatalf("step %d, part %d: %d offers kept, counted as %d, work %d, settled after %d; from scratch %d, %d, %d",
					step, i, kept, m.h.kept, m.e.work, m.e.settling, fresh.recorder.kept, fresh.work, fresh.settling)
			}
			again := fresh.recorder.history(fresh.links)
			if !cmp.Equal(again.of, m.h.of, cmp.AllowUnexported(record{}, visit{}, change{})) {
				t.Fatalf("step %d, part %d: the history is not that of a solution from scratch", step, i)
			}
		}
		p = d.edit(p)
	}
}
