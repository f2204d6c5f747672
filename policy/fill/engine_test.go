package fill

import (
	"math"
	"slices"
	"testing"
)

// outcome solves a problem as one part with a budget.
func outcome(p *Problem, budget int) (*Solution, *part) {
	pt := &part{}
	pt.flows = numbered(p.flows())
	e := runAsOne(p, budget)
	sol := newSolution(p.flows())
	e.write(sol)
	e.note(pt)
	return sol, pt
}

func TestUnconvergedCyclesApproximateFairSharing(t *testing.T) {
	t.Parallel()
	for _, flat := range []bool{false, true} {
		p := treeProblem(fatTree{8}, 128, 8, 1280, scattered, flat)
		exact, pt := outcome(p, 10_000_000)
		if pt.approximate {
			t.Fatalf("flat %v: 1280 flows did not come to rest", flat)
		}
		approximate, pt := outcome(p, 20_000)
		if !pt.approximate {
			t.Fatalf("flat %v: the budget was not used up: the test has checked nothing", flat)
		}
		load := make([]float64, len(p.Capacity))
		var misses []float64
		for f, r := range approximate.Rates {
			for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
				load[l] += r
			}
			misses = append(misses, math.Abs(r-exact.Rates[f])/exact.Rates[f])
		}
		for l, x := range load {
			if x > p.Capacity[l]*(1+1e-9) {
				t.Errorf("flat %v: link %d carries %.0f of %.0f", flat, l, x, p.Capacity[l])
			}
		}
		slices.Sort(misses)
		if m := misses[len(misses)*95/100]; m > 0.02 {
			t.Errorf("flat %v: 95 %% of the flows are within %.4f of their fair rates, want 0.02", flat, m)
		}
	}
}

func TestLeavingOutLinksThatCannotBindChangesNoRate(t *testing.T) {
	t.Parallel()
	for _, where := range []placement{compact, scattered} {
		p := treeProblem(fatTree{8}, 128, 8, 640, where, false)
		use := p.binding()
		if !slices.Contains(use, false) {
			t.Fatal("all links are counted: the test has checked nothing")
		}
		some, _ := outcome(p, 10_000_000)
		all := newSolution(p.flows())
		e := newEngine(p, numbered(p.flows()), slices.Repeat([]bool{true}, len(use)), newScratch(len(use)))
		e.run(10_000_000)
		e.write(all)
		for f := range some.Rates {
			if d := math.Abs(some.Rates[f] - all.Rates[f]); d > 1e-7*all.Rates[f] {
				t.Errorf("flow %d has %.3f, and %.3f with all links", f, some.Rates[f], all.Rates[f])
			}
		}
	}
}

func numbered(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func TestMembersWithinRoundingOfTheCapacityKeepTheirUse(t *testing.T) {
	t.Parallel()
	ms := []member{{weight: 1}, {weight: 1}, {weight: 1}}
	u := []float64{52133, 1000, 46867}
	for _, short := range []float64{0, 5e-14, 1e-13, 2e-13} {
		for _, guess := range []float64{0, 33333, 52133, 60000, 1e9} {
			out := make([]float64, len(ms))
			total := 100000 * (1 + short)
			divideMembers(ms, u, out, total, u[0]+u[1]+u[2], guess)
			for i, x := range out {
				if x < u[i]*(1-1e-9) {
					t.Errorf("%g short, guess %g: member %d uses %g and is offered %g", short, guess, i, u[i], x)
				}
			}
		}
	}
}
