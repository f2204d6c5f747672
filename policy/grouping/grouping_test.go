package grouping_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/policy/grouping"
)

// worst is the largest error of an assignment, by the definition.
func worst(links []grouping.Link, class []int32) float64 {
	out := 0.0
	for _, l := range links {
		for _, p := range l.Parts {
			share, flows := 0.0, 0.0
			for _, q := range l.Parts {
				if class[q.Tenant] == class[p.Tenant] {
					share += q.Share
					flows += q.Flows
				}
			}
			out = max(out, math.Abs(share*p.Flows/flows-p.Share)/p.Share)
		}
	}
	return out
}

// least is the exact search: the worst error of the best of all assignments.
func least(n, classes int, links []grouping.Link) float64 {
	best, class := math.Inf(1), make([]int32, n)
	var try func(t, used int)
	try = func(t, used int) {
		if t == n {
			best = min(best, worst(links, class))
			return
		}
		for c := range min(used+1, classes) { // classes are interchangeable: a new one is the next
			class[t] = int32(c)
			try(t+1, max(used, c+1))
		}
	}
	try(0, 0)
	return best
}

// drawLinks draws links on which some of n tenants meet, each with few or many flows.
func drawLinks(r *rand.Rand, n int) []grouping.Link {
	weight, flows := make([]float64, n), make([]float64, n)
	for t := range n {
		weight[t], flows[t] = float64(1+r.IntN(16)), float64(1+r.IntN(32))
	}
	links := make([]grouping.Link, 1+r.IntN(6))
	for i := range links {
		for t := range int32(n) {
			if r.IntN(3) > 0 {
				links[i].Parts = append(links[i].Parts, grouping.Part{Tenant: t, Share: weight[t], Flows: max(1, math.Round(flows[t]*r.Float64()))})
			}
		}
	}
	return links
}

func TestSearchIsNearTheExactOptimum(t *testing.T) {
	t.Parallel()
	const cases = 200
	ratios := make([]float64, 0, cases)
	for i := range uint64(cases) {
		r := rand.New(rand.NewPCG(20261130, i))
		n := 4 + r.IntN(5)
		classes := 2 + r.IntN(min(4, n-2))
		links := drawLinks(r, n)
		a := grouping.Assign(n, classes, links, nil)
		if got := worst(links, a.Class); math.Abs(got-a.Worst) > 1e-9 {
			t.Fatalf("case %d: worst error %g, reported %g", i, got, a.Worst)
		}
		best := least(n, classes, links)
		ratio := 1.0
		if best > 1e-9 {
			ratio = a.Worst / best
		} else if a.Worst > 1e-9 {
			ratio = math.Inf(1)
		}
		ratios = append(ratios, ratio)
	}
	slices.Sort(ratios)
	p95 := ratios[cases*95/100]
	t.Logf("worst error by the exact optimum's: median %.3f, p95 %.3f, largest %.3f", ratios[cases/2], p95, ratios[cases-1])
	if p95 > 1.1 {
		t.Errorf("at p95 %.3f times the exact optimum, want at most 1.1", p95)
	}
}

func TestTenantsHaveClassesOfTheirOwnWhileThereAreEnough(t *testing.T) {
	t.Parallel()
	links := []grouping.Link{{Parts: []grouping.Part{{0, 5, 1}, {1, 1, 9}, {2, 3, 2}}}}
	a := grouping.Assign(3, 4, links, []int32{3, -1, 3})
	if !slices.Equal(a.Class, []int32{3, 0, 1}) || a.Worst != 0 {
		t.Errorf("classes %v with error %g, want 3 kept by the first tenant, and the lowest free ones", a.Class, a.Worst)
	}
}

func TestTenantsThatNeverMeetShareAClass(t *testing.T) {
	t.Parallel()
	links := []grouping.Link{
		{Parts: []grouping.Part{{0, 16, 1}, {1, 1, 16}}},
		{Parts: []grouping.Part{{2, 16, 1}, {3, 1, 16}}},
	}
	if a := grouping.Assign(4, 2, links, nil); a.Worst > 1e-12 {
		t.Errorf("classes %v leave an error of %g, want none", a.Class, a.Worst)
	}
}

// TestAFormerAssignmentIsKept covers that tenants do not change their class, and so the settings of their applications, for a small gain.
func TestAFormerAssignmentIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := 5 + r.IntN(20)
		links := drawLinks(r, n)
		first := grouping.Assign(n, 3, links, nil)
		again := grouping.Assign(n, 3, links, first.Class)
		if !slices.Equal(first.Class, again.Class) {
			t.Fatalf("the same links move tenants from %v to %v", first.Class, again.Class)
		}
		before := slices.Clone(first.Class)
		before[n-1] = -1
		if added := grouping.Assign(n, 3, links, before); added.Worst <= first.Worst*1.1 && !slices.Equal(added.Class[:n-1], first.Class[:n-1]) {
			same := 0
			for t := range n - 1 {
				if added.Class[t] == first.Class[t] {
					same++
				}
			}
			if same < (n-1)/3 {
				t.Fatalf("only %d of %d tenants keep their class", same, n-1)
			}
		}
		for _, c := range again.Class {
			if c < 0 || c >= 3 {
				t.Fatalf("class %d of 3", c)
			}
		}
	})
}

func BenchmarkAssign(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	const n = 64
	var links []grouping.Link
	for range 3000 {
		links = append(links, drawLinks(r, 8)...)
	}
	for i := range links {
		for k := range links[i].Parts {
			links[i].Parts[k].Tenant += int32(8 * (i % (n / 8)))
		}
	}
	for b.Loop() {
		grouping.Assign(n, 7, links, nil)
	}
}
