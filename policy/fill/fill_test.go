package fill_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/policy/fill"
)

// tolerance is the largest error of a rate: in cycles that are nearly undetermined, rates may converge this far from the fair ones.
const tolerance = 1e-7

// off returns the relative difference of two rates; differences below one bit per second count as none.
func off(a, b float64) float64 {
	if d := math.Abs(a - b); d > 1 {
		return d / max(a, b)
	}
	return 0
}

func solve(t testing.TB, p *fill.Problem) *fill.Solution {
	t.Helper()
	s, err := fill.Solve(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// both runs a property for trees and for flat problems.
func both(t *testing.T, property func(rt *rapid.T, p *fill.Problem)) {
	for _, kind := range []struct {
		name string
		flat bool
	}{{"tree", false}, {"flat", true}} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { property(rt, problem(rt, kind.flat)) })
		})
	}
}

// nonConvergence counts problems that do not converge: cycles in which all rates drift, one in many thousands.
type nonConvergence struct {
	mu           sync.Mutex
	solved, many int
	one          *fill.Problem
}

func (r *nonConvergence) note(p *fill.Problem, s *fill.Solution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.solved++; s.Approximate > 0 {
		r.many, r.one = r.many+1, p
	}
}

// judge allows one problem, and one more in a thousand.
func (r *nonConvergence) judge(t *testing.T) {
	if r.many > 1+r.solved/1000 {
		t.Errorf("%d of %d problems did not come to rest, among them %+v", r.many, r.solved, r.one)
	}
}

func TestEveryRateEqualsTheOfferOfItsLinks(t *testing.T) {
	t.Parallel()
	var drifts nonConvergence
	t.Cleanup(func() { drifts.judge(t) })
	both(t, func(rt *rapid.T, p *fill.Problem) {
		s := solve(t, p)
		near := tolerance
		if drifts.note(p, s); s.Approximate > 0 {
			near = 1e-2 // rest in the first phase
		}
		j := newJudge(p)
		for f, r := range s.Rates {
			if want := j.bestResponse(f, s.Rates); off(r, want) > near {
				rt.Fatalf("flow %d has %.3f bit/s, its links offer %.3f\n%+v\n%+v", f, r, want, p, s)
			}
		}
	})
}

func TestLinksStayWithinCapacityAndLimitingLinksAreFull(t *testing.T) {
	t.Parallel()
	both(t, func(rt *rapid.T, p *fill.Problem) {
		s, j := solve(t, p), newJudge(p)
		load := make([]float64, len(p.Capacity))
		for f, r := range s.Rates {
			for _, l := range j.path(f) {
				load[l] += r
			}
		}
		for l, c := range p.Capacity {
			if load[l] > c*(1+1e-9)+1 {
				rt.Fatalf("link %d carries %.0f of %.0f", l, load[l], c)
			}
		}
		for f, r := range s.Rates {
			b := s.Bottleneck[f]
			switch s.Limits[f] {
			case fill.LimitDemand:
				if off(r, p.Demand[f]) > 1e-8 || b != -1 {
					rt.Fatalf("flow %d is limited by its demand of %.0f to %.0f, at link %d", f, p.Demand[f], r, b)
				}
			case fill.LimitCeiling:
				if off(r, p.Ceiling[f]) > 1e-8 || b != -1 {
					rt.Fatalf("flow %d is limited by its ceiling of %.0f to %.0f, at link %d", f, p.Ceiling[f], r, b)
				}
			case fill.LimitCap:
				have := 0.0
				for _, g := range j.users[b] {
					if p.Tenant[g] == p.Tenant[f] {
						have += s.Rates[g]
					}
				}
				if off(have, p.Cap[p.Tenant[f]]) > 1e-8 {
					rt.Fatalf("flow %d is limited by a cap of %.0f at link %d where its tenant has %.0f", f, p.Cap[p.Tenant[f]], b, have)
				}
			case fill.LimitLink, fill.LimitGuarantee, fill.LimitFloor:
				if off(load[b], p.Capacity[b]) > 1e-8 || !slices.Contains(j.path(f), b) {
					rt.Fatalf("flow %d is limited by link %d, which carries %.0f of %.0f", f, b, load[b], p.Capacity[b])
				}
			default:
				rt.Fatalf("flow %d has no limit", f)
			}
		}
	})
}

func TestTheScaleOfWeightsIsIrrelevant(t *testing.T) {
	t.Parallel()
	both(t, func(rt *rapid.T, p *fill.Problem) {
		before := solve(t, p)
		by := rapid.SampledFrom([]float64{2, 0.125, 3, 1000}).Draw(rt, "by")
		scale := func(s []float64) {
			for i := range s {
				s[i] *= by
			}
		}
		for _, s := range [][]float64{p.TenantWeight, p.ClassWeight, p.Units, p.Sending} {
			scale(s)
		}
		after := solve(t, p)
		for f := range before.Rates {
			if off(before.Rates[f], after.Rates[f]) > 1e-8 {
				rt.Fatalf("flow %d: %.3f becomes %.3f", f, before.Rates[f], after.Rates[f])
			}
		}
	})
}

// star puts tenants with the given weights and demands on one link, one flow each.
func star(capacity float64, weights, demands []float64) *fill.Problem {
	p := &fill.Problem{Capacity: []float64{capacity}, First: []int32{0}, TenantWeight: weights, Demand: demands}
	for i := range weights {
		p.Hops, p.First = append(p.Hops, 0), append(p.First, int32(i+1))
		p.Units, p.ClassWeight = append(p.Units, 1), append(p.ClassWeight, 1)
		p.Tenant, p.Class = append(p.Tenant, int32(i)), append(p.Class, int32(i))
	}
	return p
}

func TestTheOrderOfTenantsIsIrrelevant(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(rt, "tenants")
		order := rapid.Permutation(numbers(n)).Draw(rt, "order")
		var w, d, w2, d2 []float64
		for range n {
			w = append(w, float64(rapid.IntRange(1, 16).Draw(rt, "weight")))
			d = append(d, gbps*float64(rapid.IntRange(0, 30).Draw(rt, "demand")))
		}
		for _, i := range order {
			w2, d2 = append(w2, w[i]), append(d2, d[i])
		}
		a, b := solve(t, star(100*gbps, w, d)), solve(t, star(100*gbps, w2, d2))
		for k, i := range order {
			if off(a.Rates[i], b.Rates[k]) > 1e-9 {
				rt.Fatalf("tenant %d has %.3f, and %.3f in another order", i, a.Rates[i], b.Rates[k])
			}
		}
	})
}

func TestMoreWeightNeverMeansLessOnOneLink(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "tenants")
		var w, d []float64
		for range n {
			w = append(w, float64(rapid.IntRange(1, 16).Draw(rt, "weight")))
			d = append(d, gbps*float64(rapid.IntRange(0, 30).Draw(rt, "demand")))
		}
		who := rapid.IntRange(0, n-1).Draw(rt, "who")
		before := solve(t, star(100*gbps, slices.Clone(w), d)).Rates[who]
		w[who] += float64(rapid.IntRange(1, 9).Draw(rt, "more"))
		if after := solve(t, star(100*gbps, w, d)).Rates[who]; after < before*(1-1e-9) {
			rt.Fatalf("tenant %d falls from %.0f to %.0f", who, before, after)
		}
	})
}

// tree builds a problem of tenants with one class each from flows given as tenant and links.
func tree(capacity, weights []float64, flows []struct {
	tenant int32
	links  []int32
}) *fill.Problem {
	p := &fill.Problem{Capacity: capacity, First: []int32{0}, TenantWeight: weights, ClassWeight: make([]float64, len(weights))}
	for i := range p.ClassWeight {
		p.ClassWeight[i] = 1
	}
	for _, f := range flows {
		p.Hops = append(p.Hops, f.links...)
		p.First = append(p.First, int32(len(p.Hops)))
		p.Units = append(p.Units, 1)
		p.Tenant, p.Class = append(p.Tenant, f.tenant), append(p.Class, f.tenant)
	}
	return p
}

// Across a network a tenant can lose by a higher weight: a takes 25 Gbit/s from b on link 0; b's flow then leaves 25 Gbit/s on each of links 1
// and 2 to c's flows, and these take them from a's other two flows, on links 3 and 4.
func TestMoreWeightCanMeanLessAcrossANetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ weight, first, others, b, c float64 }{
		{1, 50, 250, 50, 150},
		{3, 75, 225, 25, 175},
	} {
		p := tree([]float64{100e9, 200e9, 200e9, 400e9, 400e9}, []float64{c.weight, 1, 3}, []struct {
			tenant int32
			links  []int32
		}{
			{0, []int32{0}}, {0, []int32{3}}, {0, []int32{4}}, // a
			{1, []int32{0, 1, 2}},                  // b
			{2, []int32{1, 3}}, {2, []int32{2, 4}}, // c
		})
		s := solve(t, p)
		for f, want := range []float64{c.first, c.others, c.others, c.b, c.c, c.c} {
			if off(s.Rates[f], want*gbps) > 1e-9 {
				t.Errorf("weight %g: flow %d has %.3f Gbit/s, want %.3f", c.weight, f, s.Rates[f]/gbps, want)
			}
		}
	}
}

func TestGuaranteesComeFirstAndCapsAreKept(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		weights, demand []float64
		guarantee, cap  []float64
		want            []float64
		limits          []fill.Limit
		over            []int32
	}{
		{name: "by weight", weights: []float64{1, 3}, want: []float64{25, 75}},
		{name: "guarantee above the weight", weights: []float64{1, 3}, guarantee: []float64{40, 0}, want: []float64{40, 60},
			limits: []fill.Limit{fill.LimitGuarantee, fill.LimitLink}},
		{name: "guarantee below the weight", weights: []float64{1, 3}, guarantee: []float64{20, 0}, want: []float64{25, 75}},
		{name: "a guarantee that is not used goes on", weights: []float64{1, 3}, guarantee: []float64{40, 0}, demand: []float64{10, 0}, want: []float64{10, 90},
			limits: []fill.Limit{fill.LimitDemand, fill.LimitLink}},
		{name: "cap below the weight", weights: []float64{1, 3}, cap: []float64{0, 30}, want: []float64{70, 30},
			limits: []fill.Limit{fill.LimitLink, fill.LimitCap}},
		{name: "caps below the link", weights: []float64{1, 1}, cap: []float64{20, 30}, want: []float64{20, 30},
			limits: []fill.Limit{fill.LimitCap, fill.LimitCap}},
		{name: "guarantee above its cap", weights: []float64{1, 9}, guarantee: []float64{50, 0}, cap: []float64{30, 0}, want: []float64{30, 70},
			limits: []fill.Limit{fill.LimitCap, fill.LimitLink}},
		{name: "guarantees above the link", weights: []float64{1, 1, 2}, guarantee: []float64{150, 50, 0}, want: []float64{74.25, 24.75, 1},
			limits: []fill.Limit{fill.LimitGuarantee, fill.LimitGuarantee, fill.LimitLink}, over: []int32{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bits := func(s []float64) []float64 {
				var out []float64
				for _, x := range s {
					out = append(out, x*gbps)
				}
				return out
			}
			p := star(100*gbps, c.weights, bits(c.demand))
			p.Guarantee, p.Cap = bits(c.guarantee), bits(c.cap)
			s := solve(t, p)
			for i, want := range c.want {
				if off(s.Rates[i], want*gbps) > 1e-9 {
					t.Errorf("tenant %d has %.3f Gbit/s, want %.3f", i, s.Rates[i]/gbps, want)
				}
			}
			if c.limits != nil && !slices.Equal(s.Limits, c.limits) {
				t.Errorf("limits are %v, want %v", s.Limits, c.limits)
			}
			if !slices.Equal(s.Overbooked, c.over) {
				t.Errorf("overbooked links are %v, want %v", s.Overbooked, c.over)
			}
		})
	}
}

func TestUnlimitedFlowIsReported(t *testing.T) {
	t.Parallel()
	p := star(fill.Boundless, []float64{1}, nil)
	if s := solve(t, p); s.Limits[0] != fill.LimitNone || !math.IsInf(s.Rates[0], 1) {
		t.Errorf("a greedy flow over a boundless link has %g bit/s and limit %d", s.Rates[0], s.Limits[0])
	}
}

func TestProblemsThatDoNotFitTogetherAreRefused(t *testing.T) {
	t.Parallel()
	for name, corrupt := range map[string]func(*fill.Problem){
		"hops":          func(p *fill.Problem) { p.Hops = p.Hops[1:] },
		"first":         func(p *fill.Problem) { p.First[1] = 9 },
		"link":          func(p *fill.Problem) { p.Hops[0] = 7 },
		"units":         func(p *fill.Problem) { p.Units[0] = 0 },
		"not a number":  func(p *fill.Problem) { p.Capacity[0] = math.NaN() },
		"tenant":        func(p *fill.Problem) { p.Tenant[1] = 5 },
		"order":         func(p *fill.Problem) { p.Tenant[0], p.Tenant[1] = 1, 0 },
		"demand":        func(p *fill.Problem) { p.Demand = []float64{1} },
		"weight":        func(p *fill.Problem) { p.TenantWeight[0] = math.Inf(1) },
		"link twice":    func(p *fill.Problem) { p.Hops, p.First = []int32{0, 0, 0}, []int32{0, 2, 3} },
		"guarantee":     func(p *fill.Problem) { p.Guarantee = []float64{1, -1} },
		"nominal":       func(p *fill.Problem) { p.Nominal = []float64{0} },
		"count":         func(p *fill.Problem) { p.Count = []float64{1} },
		"no class list": func(p *fill.Problem) { p.Class = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := star(100*gbps, []float64{1, 2}, nil)
			corrupt(p)
			if _, err := fill.Solve(p); !errors.Is(err, fill.ErrProblem) {
				t.Errorf("error is %v, want ErrProblem", err)
			}
		})
	}
}

func TestSolverEqualsSolveBitForBit(t *testing.T) {
	t.Parallel()
	both(t, func(rt *rapid.T, p *fill.Problem) {
		var s, keeping fill.Solver
		keeping.Eager = true
		for range 5 {
			want := solve(t, p)
			for _, s := range []*fill.Solver{&s, &keeping} {
				got, err := s.Solve(p)
				if err != nil {
					rt.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					rt.Fatalf("the solver's result differs (-cold +solver):\n%s", d)
				}
			}
			p = edited(rt, p)
		}
	})
}

// edited changes a value of a problem, in a copy.
func edited(t *rapid.T, p *fill.Problem) *fill.Problem {
	q := *p
	n := len(p.Units)
	change := func(s []float64, to []float64) []float64 {
		if len(s) == 0 {
			return s
		}
		s = slices.Clone(s)
		s[rapid.IntRange(0, len(s)-1).Draw(t, "at")] = rapid.SampledFrom(to).Draw(t, "to")
		return s
	}
	switch rapid.IntRange(0, 7).Draw(t, "edit") {
	case 7:
		if p.LinkWeight != nil {
			q.LinkWeight = linkWeights(p, func() float64 { return float64(rapid.SampledFrom([]int{1, 7}).Draw(t, "weight on the link")) })
		}
	case 0:
		q.TenantWeight = change(p.TenantWeight, []float64{1, 2, 3, 16})
	case 1:
		q.Capacity = change(p.Capacity, []float64{0, 10e9, 400e9, fill.Boundless})
	case 2:
		q.Demand = change(p.Demand, []float64{0, 1e9, 50e9})
	case 3:
		q.Units = change(p.Units, []float64{1, 2, 9})
	case 4:
		q.Cap = change(p.Cap, []float64{0, 3e9})
		q.Floor = change(p.Floor, []float64{0, 3e9})
	case 5:
		q.ClassWeight = change(p.ClassWeight, []float64{1, 5})
		q.Sending = change(p.Sending, []float64{1, 5})
	case 6:
		if n > 0 {
			return without(p, rapid.IntRange(0, n-1).Draw(t, "flow"))
		}
	}
	return &q
}

// without removes a flow.
func without(p *fill.Problem, f int) *fill.Problem {
	q := *p
	a, b := p.First[f], p.First[f+1]
	q.Hops = slices.Delete(slices.Clone(p.Hops), int(a), int(b))
	if p.LinkWeight != nil {
		q.LinkWeight = slices.Delete(slices.Clone(p.LinkWeight), int(a), int(b))
	}
	q.First = slices.Clone(p.First[:f+1])
	for _, x := range p.First[f+2:] {
		q.First = append(q.First, x-(b-a))
	}
	drop := func(s []float64) []float64 {
		if len(s) == 0 {
			return s
		}
		return slices.Delete(slices.Clone(s), f, f+1)
	}
	q.Units, q.Demand, q.Ceiling, q.Floor, q.Sending = drop(p.Units), drop(p.Demand), drop(p.Ceiling), drop(p.Floor), drop(p.Sending)
	if p.Tenant != nil {
		q.Tenant, q.Class = slices.Delete(slices.Clone(p.Tenant), f, f+1), slices.Delete(slices.Clone(p.Class), f, f+1)
	}
	return &q
}

func TestASolverComputesOnlyThePartsThatChanged(t *testing.T) {
	t.Parallel()
	flows := []struct {
		tenant int32
		links  []int32
	}{{0, []int32{0}}, {0, []int32{1}}, {1, []int32{0}}, {2, []int32{1}}}
	capacity := []float64{100e9, 100e9}
	var s fill.Solver
	for _, step := range []struct {
		weights  []float64
		computed int
	}{{[]float64{1, 1, 1}, 4}, {[]float64{1, 1, 1}, 0}, {[]float64{1, 2, 1}, 2}, {[]float64{3, 2, 1}, 4}} {
		if _, err := s.Solve(tree(capacity, step.weights, flows)); err != nil {
			t.Fatal(err)
		}
		if s.Computed != step.computed {
			t.Errorf("weights %v: %d flows computed, want %d", step.weights, s.Computed, step.computed)
		}
	}
}
