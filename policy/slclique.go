package policy

import (
	"math/bits"
	"slices"
)

// Bounds of the search for the largest clique, in steps: for a finding, and to see early that colours are too few.
const (
	cliqueSearch = 100_000
	cliqueGlance = 1_000
)

// set is a set of nodes, one bit each.
type set []uint64

func (s set) add(v int32)    { s[v>>6] |= 1 << (v & 63) }
func (s set) remove(v int32) { s[v>>6] &^= 1 << (v & 63) }

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// first is the lowest node of the set, or -1.
func (s set) first() int32 {
	for i, w := range s {
		if w != 0 {
			return int32(i*64 + bits.TrailingZeros64(w))
		}
	}
	return -1
}

// cliques searches the largest set of nodes that are all neighbours of each other.
type cliques struct {
	near   []set
	best   []int32
	budget int
}

// clique returns the largest set of pairwise neighbours that it finds, ascending: the number of colours that are
// needed at least. It starts from known, and is exact when the search ends within so many steps, which it
// says.
func (c *colouring) clique(known []int32, steps int) (members []int32, exact bool) {
	n := len(c.colour)
	words := (n + 63) / 64
	x := &cliques{near: make([]set, n), best: slices.Clone(known), budget: steps}
	bitsOf := make([]uint64, n*words)
	all := make(set, words)
	for v := range n {
		x.near[v] = bitsOf[v*words : (v+1)*words]
		all.add(int32(v))
		for _, e := range c.meet[v] {
			x.near[v].add(e.to)
		}
	}
	x.grow(nil, all)
	slices.Sort(x.best)
	return x.best, x.budget >= 0
}

// crowded reports that some nodes which are all neighbours have together fewer colours than they are many.
func (c *colouring) crowded() bool {
	members, _ := c.clique(nil, cliqueGlance)
	all := uint16(0)
	for _, v := range members {
		all |= c.domain[v]
	}
	return len(members) > bits.OnesCount16(all)
}

// grow extends a clique by candidates that are neighbours of all of it. Candidates are coloured greedily
// first: of those with the first k colours at most k can come in (Tomita and Seki, An efficient
// branch-and-bound algorithm for finding a maximum clique, 2003).
func (x *cliques) grow(have []int32, candidates set) {
	if len(have) > len(x.best) {
		x.best = slices.Clone(have)
	}
	order, bound := x.ranked(candidates)
	for i := len(order) - 1; i >= 0; i-- {
		if x.budget--; len(have)+bound[i] <= len(x.best) || x.budget < 0 {
			return
		}
		v := order[i]
		rest := slices.Clone(candidates)
		for w := range rest {
			rest[w] &= x.near[v][w]
		}
		x.grow(append(have, v), rest)
		candidates.remove(v)
	}
}

// ranked lists the candidates by greedy colour, with the number of colours up to each.
func (x *cliques) ranked(candidates set) (order []int32, bound []int) {
	open := slices.Clone(candidates)
	for colour := 1; !open.empty(); colour++ {
		class := slices.Clone(open)
		for v := class.first(); v >= 0; v = class.first() {
			open.remove(v)
			class.remove(v)
			for w := range class {
				class[w] &^= x.near[v][w]
			}
			order, bound = append(order, v), append(bound, colour)
		}
	}
	return order, bound
}
