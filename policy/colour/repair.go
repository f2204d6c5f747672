package colour

import (
	"cmp"
	"slices"
)

// Bounds of the search for few conflicts and few moves. They count work, not time, so that the result is the same on every machine.
const (
	tabuWork          = 20_000_000 // colours evaluated, in total
	tabuIdle          = 4_000      // steps without a better solution
	maxExactMoveNodes = 512        // nodes up to which the fewest moves are searched exactly
)

// InForce returns the colour that most of a node's ports have in force, or -1 when it has none or may not keep it.
func (c *Colouring) InForce(v int) int8 {
	best, most := int8(-1), int32(0)
	for _, m := range c.Move[v] {
		most = max(most, m)
	}
	for _, k := range c.order {
		if c.Move[v][k] < most && c.Domain[v]&(1<<k) != 0 && c.Forbidden[v][k] == 0 && (best < 0 || c.Move[v][k] < c.Move[v][best]) {
			best = k
		}
	}
	return best
}

// Adapt colours all nodes with as few moves from the colours in force as it finds. Nodes first keep their colours, heaviest first, unless an
// earlier neighbour has it; only the others are coloured. If that takes moves or fails, the fewest moves are searched exactly in small
// problems, and by tabu search from the colours in force in large ones. It returns false when no valid colouring was found.
func (c *Colouring) Adapt(order []int8) bool {
	c.order = order
	kept := c.keptColours()
	c.Start(kept)
	solved := c.extend()
	if solved && c.Moved() == 0 {
		return true
	}
	var best []int8
	if solved {
		best = slices.Clone(c.Colour)
	}
	if t := c.tabuFrom(kept); t != nil && (best == nil || c.movesOf(t) < c.movesOf(best)) {
		best = t
	}
	if len(c.Colour) <= maxExactMoveNodes {
		if b := c.fewestMoves(best); b != nil {
			best = b
		}
	}
	if best == nil {
		return false
	}
	c.Start(best)
	return true
}

// keptColours chooses the nodes that keep their colour in force, -1 for the others.
func (c *Colouring) keptColours() []int8 {
	n := len(c.Colour)
	kept, byWeight := make([]int8, n), make([]int32, n)
	weight := make([]int32, n)
	for v := range n {
		kept[v], byWeight[v] = -1, int32(v)
		weight[v] = slices.Max(c.Move[v][:])
	}
	slices.SortStableFunc(byWeight, func(a, b int32) int { return cmp.Compare(weight[b], weight[a]) })
	for _, v := range byWeight {
		k := c.InForce(int(v))
		if k >= 0 && !slices.ContainsFunc(c.Meet[v], func(e Edge) bool { return kept[e.To] == k }) {
			kept[v] = k
		}
	}
	return kept
}

func (c *Colouring) movesOf(colour []int8) int {
	sum := 0
	for v, k := range colour {
		sum += int(c.Move[v][k])
	}
	return sum
}

// tabuFrom runs the tabu search from the kept colours and returns a valid result, or nil.
func (c *Colouring) tabuFrom(kept []int8) []int8 {
	c.Start(kept)
	c.complete()
	if c.tabu() > 0 {
		return nil
	}
	c.takeCheaper()
	return slices.Clone(c.Colour)
}

// takeCheaper gives nodes cheaper colours that have become free.
func (c *Colouring) takeCheaper() {
	for v := range c.Colour {
		for _, k := range c.choices(int32(v)) {
			if c.Move[v][k] < c.Move[v][c.Colour[v]] && c.Free(int32(v))&(1<<k) != 0 {
				c.Unassign(int32(v))
				c.Assign(int32(v), k)
				break
			}
		}
	}
}

// fewestMoves searches all colourings for one with fewer moves than best (nil: any), within the budget.
func (c *Colouring) fewestMoves(best []int8) []int8 {
	bound := 1 << 30
	if best != nil {
		bound = c.movesOf(best)
	}
	c.Start(nil)
	var found []int8
	c.branch(0, &bound, &found)
	return found
}

// branch is a depth-first search with the bound that every open node moves as few ports as its free colours allow.
func (c *Colouring) branch(moves int, bound *int, found *[]int8) {
	if len(c.left) == 0 {
		*bound, *found = moves, slices.Clone(c.Colour)
		return
	}
	at, free, rest := c.nextBounded()
	if moves+rest >= *bound || c.budget < 0 {
		return
	}
	v := c.take(at)
	for _, k := range c.choices(v) {
		if free&(1<<k) == 0 || moves+int(c.Move[v][k]) >= *bound {
			continue
		}
		c.Assign(v, k)
		c.branch(moves+int(c.Move[v][k]), bound, found)
		c.Unassign(v)
	}
	c.undoTake(v, at)
}

// nextBounded is next, and also returns the least number of moves of the open nodes.
func (c *Colouring) nextBounded() (at int, free uint16, rest int) {
	for _, v := range c.left {
		least, f := int32(-1), c.Free(v)
		for _, k := range c.order {
			if f&(1<<k) != 0 && (least < 0 || c.Move[v][k] < least) {
				least = c.Move[v][k]
			}
		}
		if least < 0 {
			return 0, 0, 1 << 30
		}
		rest += int(least)
	}
	at, free = c.next()
	return at, free, rest
}

// complete gives every node without a colour the one with the fewest conflicting ports, in DSATUR order.
func (c *Colouring) complete() {
	for len(c.left) > 0 {
		at, _ := c.next()
		v := c.left[at]
		best, cost := int8(-1), 0
		for _, k := range c.choices(v) {
			if c.Domain[v]&(1<<k) == 0 {
				continue
			}
			if x := c.costAt(v, k); best < 0 || x < cost {
				best, cost = k, x
			}
		}
		if best < 0 { // pinned to a level outside of the order
			best = lowest(c.Domain[v])
		}
		c.Assign(v, best)
		c.left = slices.Delete(c.left, at, at+1)
	}
}

// costAt returns the number of ports on which a node would have the colour of a neighbour or a pin.
func (c *Colouring) costAt(v int32, k int8) int {
	sum := int(c.Forbidden[v][k])
	for _, e := range c.Meet[v] {
		if c.Colour[e.To] == k {
			sum += int(e.Cost)
		}
	}
	return sum
}

// Greedy colours all nodes with few conflicts: DSATUR order, then tabu search.
func (c *Colouring) Greedy(order []int8) {
	c.order = order
	var kept []int8
	if c.Move != nil {
		kept = c.keptColours()
	}
	c.Start(kept)
	c.complete()
	c.tabu()
}
