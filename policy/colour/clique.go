package colour

import (
	"math/bits"
	"slices"

	"fairlane/internal/disjoint"
)

// Bounds of the search for the largest clique, in steps: for a finding, and for the early check that colours are too few.
const (
	CliqueSearch = 100_000
	cliqueCheck  = 1_000
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

// first returns the lowest node of the set, or -1.
func (s set) first() int32 {
	for i, w := range s {
		if w != 0 {
			return int32(i*64 + bits.TrailingZeros64(w))
		}
	}
	return -1
}

// maxCliqueNodes bounds the nodes of one search, for the memory of their neighbours: 32 MB.
const maxCliqueNodes = 16_384

// cliques searches the largest set of pairwise neighbours.
type cliques struct {
	neighbours []set
	best       []int32
	budget     int
}

// Clique returns the largest set of pairwise neighbours that it finds, ascending: a lower bound of the colours needed. It starts from known,
// and exact reports whether the search ended within the given number of steps. Nodes that no path of neighbours joins are searched separately.
func (c *Colouring) Clique(known []int32, steps int) (members []int32, exact bool) {
	x := &cliques{best: slices.Clone(known), budget: steps}
	exact = true
	for _, nodes := range c.components() {
		nodes = slices.DeleteFunc(nodes, func(v int32) bool { return len(c.Meet[v]) < len(x.best) }) // in no larger clique
		if len(nodes) > maxCliqueNodes {
			slices.SortStableFunc(nodes, func(a, b int32) int { return len(c.Meet[b]) - len(c.Meet[a]) })
			nodes, exact = nodes[:maxCliqueNodes], false
			slices.Sort(nodes)
		}
		if len(nodes) > len(x.best) && x.budget >= 0 {
			x.search(c, nodes)
		}
	}
	slices.Sort(x.best)
	return x.best, exact && x.budget >= 0
}

// components returns the nodes, ascending, by connected component.
func (c *Colouring) components() [][]int32 {
	sets := disjoint.New(len(c.Meet))
	for v, es := range c.Meet {
		for _, e := range es {
			sets.Join(int32(v), e.To)
		}
	}
	var out [][]int32
	at := make([]int32, len(c.Meet)) // place in out + 1, by first member
	for v := range c.Meet {
		r := sets.Find(int32(v))
		if at[r] == 0 {
			out = append(out, nil)
			at[r] = int32(len(out))
		}
		out[at[r]-1] = append(out[at[r]-1], int32(v))
	}
	return out
}

// search looks for a larger clique than the best among some nodes, ascending.
func (x *cliques) search(c *Colouring, nodes []int32) {
	n := len(nodes)
	words := (n + 63) / 64
	bitsOf := make([]uint64, n*words)
	all := make(set, words)
	x.neighbours = make([]set, n)
	for i, v := range nodes {
		x.neighbours[i] = bitsOf[i*words : (i+1)*words]
		all.add(int32(i))
		for _, e := range c.Meet[v] {
			if j, ok := slices.BinarySearch(nodes, e.To); ok {
				x.neighbours[i].add(int32(j))
			}
		}
	}
	best := x.best
	x.best = make([]int32, len(best)) // only a larger one replaces it
	x.grow(nil, all)
	if len(x.best) == len(best) {
		x.best = best
		return
	}
	for i, v := range x.best {
		x.best[i] = nodes[v]
	}
}

// Overconstrained reports whether some clique has more nodes than colours in their domains together.
func (c *Colouring) Overconstrained() bool {
	members, _ := c.Clique(nil, cliqueCheck)
	all := uint16(0)
	for _, v := range members {
		all |= c.Domain[v]
	}
	return len(members) > bits.OnesCount16(all)
}

// grow extends a clique by candidates that are neighbours of all of it. It first colours candidates greedily: of those with the first k
// colours at most k can join (Tomita and Seki, An efficient branch-and-bound algorithm for finding a maximum clique, 2003).
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
			rest[w] &= x.neighbours[v][w]
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
				class[w] &^= x.neighbours[v][w]
			}
			order, bound = append(order, v), append(bound, colour)
		}
	}
	return order, bound
}
