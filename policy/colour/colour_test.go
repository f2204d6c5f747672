package colour

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawProblem draws a small problem with pins and a plan in force.
func drawProblem(t *rapid.T, inForce bool) *Colouring {
	n := rapid.IntRange(1, 7).Draw(t, "nodes")
	k := rapid.IntRange(1, 4).Draw(t, "colours")
	c := New(n)
	for i := range k {
		c.order = append(c.order, int8((i+1)%k))
	}
	for v := range n {
		c.Domain[v] = 1<<k - 1
		if rapid.IntRange(0, 5).Draw(t, "barred") == 0 {
			c.Forbidden[v][rapid.IntRange(0, k-1).Draw(t, "pin")] = 1
		}
		for u := range v {
			if rapid.IntRange(0, 2).Draw(t, "meet") > 0 {
				cost := int32(rapid.IntRange(1, 3).Draw(t, "ports"))
				c.Meet[v] = append(c.Meet[v], Edge{int32(u), cost})
				c.Meet[u] = append(c.Meet[u], Edge{int32(v), cost})
			}
		}
	}
	if inForce {
		c.Move = make([][Colours]int32, n)
		for v := range n {
			for range rapid.IntRange(0, 2).Draw(t, "placed") {
				has := rapid.IntRange(0, k-1).Draw(t, "has")
				for j := range Colours {
					if j != has {
						c.Move[v][j]++
					}
				}
			}
		}
	}
	return c
}

// judge tries every colouring and returns the fewest conflicts and the fewest moves without conflicts, -1 for none.
func judge(c *Colouring) (conflicts, moves int) {
	conflicts, moves = 1<<30, -1
	kept := slices.Clone(c.Colour)
	defer copy(c.Colour, kept)
	var try func(v int)
	try = func(v int) {
		if v == len(c.Colour) {
			n := c.Conflicts()
			conflicts = min(conflicts, n)
			if m := c.Moved(); n == 0 && (moves < 0 || m < moves) {
				moves = m
			}
			return
		}
		for _, k := range c.order {
			c.Colour[v] = k
			try(v + 1)
		}
	}
	try(0)
	return conflicts, moves
}

func TestAColouringIsFoundExactlyWhenThereIsOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawProblem(t, false)
		fewest, _ := judge(c)
		if found := c.Solve(c.order); found != (fewest == 0) || found && c.Conflicts() != 0 {
			t.Fatalf("solve returns %v with %d conflicts, and the fewest are %d", found, c.Conflicts(), fewest)
		}
	})
}

func TestAdaptingMovesAsFewPortsAsCanBe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawProblem(t, true)
		_, want := judge(c)
		found := c.Adapt(c.order)
		if found != (want >= 0) {
			t.Fatalf("adapt returns %v; the fewest moves are %d", found, want)
		}
		if found && (c.Conflicts() != 0 || c.Moved() != want) {
			t.Fatalf("adapt moves %d ports with %d conflicts, want %d and 0", c.Moved(), c.Conflicts(), want)
		}
	})
}

func TestUncolourableGraphsHaveTheFewestConflicts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawProblem(t, rapid.Bool().Draw(t, "in force"))
		want, _ := judge(c)
		c.Greedy(c.order)
		if got := c.Conflicts(); got != want {
			t.Fatalf("%d ports in conflict, the fewest are %d", got, want)
		}
		for v, k := range c.Colour {
			if c.Domain[v]&(1<<k) == 0 {
				t.Fatalf("node %d has colour %d, outside of its domain", v, k)
			}
		}
	})
}

func TestTheCliqueIsTheLargest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawProblem(t, false)
		n := len(c.Colour)
		neighbours := func(v, u int) bool {
			return slices.ContainsFunc(c.Meet[v], func(e Edge) bool { return int(e.To) == u })
		}
		want := 0
		for set := range 1 << n {
			size, ok := 0, true
			for v := range n {
				if set&(1<<v) == 0 {
					continue
				}
				size++
				for u := range v {
					ok = ok && (set&(1<<u) == 0 || neighbours(v, u))
				}
			}
			if ok {
				want = max(want, size)
			}
		}
		got, exact := c.Clique(nil, CliqueSearch)
		if len(got) != want || !exact {
			t.Fatalf("clique %v (exact %v), the largest has %d", got, exact, want)
		}
		for i, v := range got {
			for _, u := range got[:i] {
				if !neighbours(int(v), int(u)) {
					t.Fatalf("%d and %d of %v do not meet", v, u, got)
				}
			}
		}
	})
}

// ring is n nodes, each joined to the next w on both sides: w+1 in a row are a clique.
func ring(n, w int) *Colouring {
	c := New(n)
	for v := range n {
		c.Domain[v] = 1<<15 - 1
		for d := 1; d <= w; d++ {
			c.Meet[v] = append(c.Meet[v], Edge{int32((v + d) % n), 1}, Edge{int32((v + n - d) % n), 1})
		}
	}
	return c
}

// TestCliquesAreSearchedPerGroup would need 20 GB if one search covered all groups.
func TestCliquesAreSearchedPerGroup(t *testing.T) {
	t.Parallel()
	const groups, each = 100_000, 4
	c := New(groups * each)
	join := func(v, u int) {
		c.Meet[v] = append(c.Meet[v], Edge{int32(u), 1})
		c.Meet[u] = append(c.Meet[u], Edge{int32(v), 1})
	}
	for g := range groups {
		for i := range each - 1 { // a path of neighbours
			join(g*each+i, g*each+i+1)
		}
	}
	large := []int32{70_001 * each, 70_001*each + 1, 70_001*each + 2}
	join(int(large[0]), int(large[2]))
	if got, exact := c.Clique([]int32{0, 1}, CliqueSearch); !slices.Equal(got, large) || !exact {
		t.Errorf("clique %v (exact %v), want %v", got, exact, large)
	}
	if got, exact := c.Clique([]int32{0, 1}, 0); len(got) != 2 || exact {
		t.Errorf("clique %v (exact %v) within no step, want the one that is known", got, exact)
	}
}

func order(n int) []int8 {
	var out []int8
	for k := range n {
		out = append(out, int8(k))
	}
	return out
}

func TestALargeRingIsColouredAndItsCliqueFound(t *testing.T) {
	t.Parallel()
	c := ring(4099, 7)
	if !c.Solve(order(15)) || c.Conflicts() != 0 {
		t.Errorf("a ring that fifteen colours suffice for has %d ports in conflict", c.Conflicts())
	}
	if got, _ := c.Clique(nil, CliqueSearch); len(got) != 8 {
		t.Errorf("clique of %d, want 8", len(got))
	}
}

func BenchmarkColouringOf4096TenantsThatDoNotFit(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		c := ring(4096, 10) // cliques of 11, so 15 colours suffice except where the ring closes
		c.Greedy(order(10)) // 10 colours never suffice
		b.ReportMetric(float64(c.Conflicts()), "conflicts")
	}
}
