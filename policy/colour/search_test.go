package colour

import (
	"math/rand/v2"
	"testing"
)

// hard is a random problem near the number of colours that it needs. inForce adds a plan in force, in which a third of the nodes have a random
// colour.
func hard(seed uint64, n, k int, density float64, inForce bool) *Colouring {
	r := rand.New(rand.NewPCG(seed, 1))
	c := New(n)
	c.order = order(k)
	for v := range n {
		c.Domain[v] = 1<<k - 1
		for u := range v {
			if r.Float64() < density {
				ports := int32(1 + r.IntN(3))
				c.Meet[v] = append(c.Meet[v], Edge{int32(u), ports})
				c.Meet[u] = append(c.Meet[u], Edge{int32(v), ports})
			}
		}
	}
	if !inForce {
		return c
	}
	c.Greedy(c.order)
	c.Move = make([][Colours]int32, n)
	for v, has := range c.Colour {
		if r.IntN(3) == 0 {
			has = int8(r.IntN(k))
		}
		ports := int32(1 + r.IntN(4))
		for j := range Colours {
			if int8(j) != has {
				c.Move[v][j] += ports
			}
		}
	}
	return c
}

// Each case needs one part of the search: without it there are more conflicts, or more moves.
func TestEverySearchStageIsNeeded(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		c                *Colouring
		conflicts, moves int
	}{
		"keepers: heaviest keep their colour":       {hard(1, 30, 15, 0.8, true), 0, 21},   // without: 34 moves
		"tabuFrom: tabu search for fewer moves":     {hard(0, 100, 4, 0.04, true), 0, 39},  // 76
		"takeCheaper: colours that came free":       {hard(1, 100, 8, 0.192, true), 0, 75}, // 89
		"fewestMoves: branch and bound":             {hard(1, 20, 4, 0.32, true), 0, 9},    // 28
		"greedy: keepers where conflicts remain":    {hard(0, 30, 8, 0.64, true), 1, 21},   // 37
		"tabu: steps that make matters worse first": {hard(0, 12, 4, 0.8, false), 6, 0},    // 7 conflicts
		"descend: cheapest colours in turn":         {hard(1, 30, 8, 0.64, true), 1, 27},   // 31
		"descend: more nodes than steps":            {ring(4096, 10), 700, 0},              // 726 conflicts
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if x.c.Move == nil || !x.c.Adapt(x.c.order) {
				if x.c.order == nil {
					x.c.order = order(10)
				}
				x.c.Greedy(x.c.order)
			}
			if got, moves := x.c.Conflicts(), x.c.Moved(); got > x.conflicts || got == x.conflicts && moves > x.moves {
				t.Errorf("%d ports in conflict and %d moves, want at most %d and %d", got, moves, x.conflicts, x.moves)
			}
		})
	}
	t.Run("ranked: the bound of colours ends the search for a clique", func(t *testing.T) {
		t.Parallel()
		if got, exact := hard(1, 100, 15, 0.7, false).Clique(nil, CliqueSearch); len(got) != 15 || !exact {
			t.Errorf("clique of %d (exact %v), want 15 and that it is exact", len(got), exact)
		}
	})
	t.Run("crowded: a clique larger than the colours is seen before a search", func(t *testing.T) {
		t.Parallel()
		if ring(400, 14).Overconstrained() || !ring(400, 15).Overconstrained() {
			t.Error("want a ring with cliques of 16 crowded for 15 colours, and one of 15 not")
		}
	})
}
