// Package colour gives each node of a graph one of up to sixteen colours: service levels of tenants, virtual lanes of service levels.
package colour

import (
	"math/bits"

	"fairlane/subnet/ident"
)

// Colours is the number of colours a node can have: service levels or virtual lanes.
const Colours = ident.NumSLs

// Edge leads to a node that needs another colour. cost is the number of ports on which the two are indistinguishable with the same colour.
type Edge struct {
	To   int32
	Cost int32
}

// Colouring is the problem of giving every node one of up to sixteen colours so that neighbours differ. The order of nodes does not depend on
// the order of the input and is the only tie-breaker, so the same problem always has the same solution.
type Colouring struct {
	Meet      [][]Edge         // by node, neighbours ascending
	Domain    []uint16         // colours a node may have
	Forbidden [][Colours]int32 // ports on which a colour collides with a pinned one
	Move      [][Colours]int32 // ports whose colour would differ from the preferred one, such as that in force; nil: no preference
	order     []int8           // colours in order of preference
	Colour    []int8           // the result; -1 none

	uses   [][Colours]uint16 // neighbours by colour
	taken  []uint16          // colours that a neighbour has or a pin bars
	count  [Colours]int32    // nodes by colour
	left   []int32           // nodes without a colour, ascending
	budget int               // nodes that the search may still visit
}

// maxSearch bounds the node visits of an exact search, in addition to two descents without backtracking.
const maxSearch = 2_000_000

// New returns a problem of n nodes without edges and without permitted colours.
func New(n int) *Colouring {
	return &Colouring{Meet: make([][]Edge, n), Domain: make([]uint16, n), Forbidden: make([][Colours]int32, n), Colour: make([]int8, n)}
}

// Start sets the colours of nodes to kept, where -1 is none; nil removes all colours. It sets the budget.
func (c *Colouring) Start(kept []int8) {
	n := len(c.Colour)
	c.uses, c.taken, c.count, c.left = make([][Colours]uint16, n), make([]uint16, n), [Colours]int32{}, c.left[:0]
	for v := range c.Forbidden {
		for k, ports := range c.Forbidden[v] {
			if ports > 0 {
				c.taken[v] |= 1 << k
			}
		}
	}
	c.budget = maxSearch + 2*n*n
	for v := range n {
		c.Colour[v] = -1
		if kept != nil && kept[v] >= 0 {
			c.Assign(int32(v), kept[v])
		} else {
			c.left = append(c.left, int32(v))
		}
	}
}

// Assign gives a colour to a node without one.
func (c *Colouring) Assign(v int32, k int8) {
	c.Colour[v] = k
	c.count[k]++
	for _, e := range c.Meet[v] {
		c.uses[e.To][k]++
		c.taken[e.To] |= 1 << k
	}
}

// Unassign removes the colour of a node.
func (c *Colouring) Unassign(v int32) {
	k := c.Colour[v]
	c.count[k]--
	for _, e := range c.Meet[v] {
		if c.uses[e.To][k]--; c.uses[e.To][k] == 0 && c.Forbidden[e.To][k] == 0 {
			c.taken[e.To] &^= 1 << k
		}
	}
	c.Colour[v] = -1
}

// Free returns the colours of a node's domain that no neighbour or pin takes.
func (c *Colouring) Free(v int32) uint16 { return c.Domain[v] &^ c.taken[v] }

// extend colours the remaining nodes by backtracking in DSATUR order: always the node with the fewest colours left, then the one with most
// neighbours, then the first (Brélaz, New methods to color the vertices of a graph, 1979). It returns false when there is no solution, or none
// within the budget; it then leaves the remaining nodes without colours.
func (c *Colouring) extend() bool {
	if len(c.left) == 0 {
		return true
	}
	at, free := c.next()
	v := c.take(at)
	for _, k := range c.choices(v) {
		if free&(1<<k) == 0 {
			continue
		}
		c.Assign(v, k)
		if c.extend() {
			return true
		}
		c.Unassign(v)
		if c.budget < 0 {
			break
		}
	}
	c.undoTake(v, at)
	return false
}

// take removes the node at an index of left; the last node moves there.
func (c *Colouring) take(at int) int32 {
	v, last := c.left[at], len(c.left)-1
	c.left[at] = c.left[last]
	c.left = c.left[:last]
	return v
}

// undoTake undoes take.
func (c *Colouring) undoTake(v int32, at int) {
	last := len(c.left)
	c.left = c.left[:last+1]
	c.left[last] = c.left[at]
	c.left[at] = v
}

// next picks the node to colour, by its index in left, and the colours it may have.
func (c *Colouring) next() (at int, free uint16) {
	best := -1
	most := 0
	for i, v := range c.left {
		f := c.Free(v)
		n := bits.OnesCount16(f)
		b := int32(0)
		if best >= 0 {
			b = c.left[best]
		}
		if best < 0 || n < most || n == most && (len(c.Meet[v]) > len(c.Meet[b]) || len(c.Meet[v]) == len(c.Meet[b]) && v < b) {
			best, most, free = i, n, f
		}
	}
	c.budget -= len(c.left)
	return best, free
}

// choices lists the colours in the order to try: the one in force first; with a plan in force, then the colours that the fewest nodes have,
// since they leave most room; else the order of preference.
func (c *Colouring) choices(v int32) []int8 {
	if c.Move == nil {
		return c.order
	}
	out := make([]int8, len(c.order))
	copy(out, c.order)
	for i := 1; i < len(out); i++ {
		for j := i; j > 0 && c.before(v, out[j], out[j-1]); j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func (c *Colouring) before(v int32, a, b int8) bool {
	if x, y := c.Move[v][a], c.Move[v][b]; x != y {
		return x < y
	}
	return c.unused(a) && !c.unused(b)
}

// unused reports that no node has a colour yet. Colour 0 never counts as unused: it is reserved for unmanaged traffic while other colours
// suffice.
func (c *Colouring) unused(k int8) bool { return k != 0 && c.count[k] == 0 }

func lowest(set uint16) int8 { return int8(bits.TrailingZeros16(set | 1<<(Colours-1))) }

// Solve recolours all nodes, with the colours in the given order.
func (c *Colouring) Solve(order []int8) bool {
	c.order = order
	c.Start(nil)
	return c.extend()
}

// Conflicts returns the cost of the colours: ports on which neighbours have the same colour, and ports that collide with pins.
func (c *Colouring) Conflicts() int {
	sum := 0
	for v, es := range c.Meet {
		if c.Colour[v] < 0 {
			continue
		}
		sum += int(c.Forbidden[v][c.Colour[v]])
		for _, e := range es {
			if int(e.To) > v && c.Colour[e.To] == c.Colour[v] {
				sum += int(e.Cost)
			}
		}
	}
	return sum
}

// Moved returns the number of ports whose colour differs from the one in force.
func (c *Colouring) Moved() int {
	sum := 0
	for v, k := range c.Colour {
		if c.Move != nil && k >= 0 {
			sum += int(c.Move[v][k])
		}
	}
	return sum
}
