package colour

import "slices"

// moveScale makes one port in conflict weigh more than all moves that avoid it.
const moveScale = 1 << 20

// tabuSearch is the state of a search for fewer conflicts. Each step makes the best single change of a node in conflict, even if it increases
// the cost, and may not be reversed for some steps (Hertz and de Werra, Using tabu search techniques for graph coloring, 1987, with conflicts
// weighted by ports).
type tabuSearch struct {
	c          *Colouring
	cost       [][Colours]int64 // by node and colour: conflicts scaled, and moves
	tabuUntil  [][Colours]int32 // step until which a colour may not return
	conflicted []int32          // nodes in conflict
	place      []int32          // of a node in conflicted, or -1
	current    int64
}

// tabu improves a complete colouring and returns the ports left in conflict. Its work is bounded.
func (c *Colouring) tabu() int {
	t := &tabuSearch{c: c, cost: make([][Colours]int64, len(c.Colour)), tabuUntil: make([][Colours]int32, len(c.Colour)), place: make([]int32, len(c.Colour))}
	for v := range c.Colour {
		for k := range Colours {
			t.cost[v][k] = int64(c.Forbidden[v][k]) * moveScale
			if c.Move != nil {
				t.cost[v][k] += int64(c.Move[v][k])
			}
		}
	}
	for v, es := range c.Meet {
		for _, e := range es {
			t.cost[v][c.Colour[e.To]] += int64(e.Cost) * moveScale
		}
	}
	for v := range c.Colour {
		t.place[v] = -1
		t.updateConflict(int32(v))
	}
	t.current = int64(c.Conflicts())*moveScale + int64(c.Moved())
	t.descend()
	best, bestCost, idle, work := slices.Clone(c.Colour), t.current, 0, 0
	for step := int32(1); len(t.conflicted) > 0 && idle < tabuIdle && work < tabuWork; step++ {
		work += len(t.conflicted) * len(c.order)
		v, k := t.best(step, bestCost)
		if v < 0 {
			idle++
			continue
		}
		t.tabuUntil[v][c.Colour[v]] = step + 7 + step%5 + int32(len(t.conflicted))*3/5
		t.change(v, k)
		if idle++; t.current < bestCost {
			bestCost, idle = t.current, 0
			copy(best, c.Colour)
		}
	}
	for v, k := range best {
		if k != c.Colour[v] {
			c.Unassign(int32(v))
			c.Assign(int32(v), k)
		}
	}
	return c.Conflicts()
}

// sweeps bounds the passes of the descent.
const sweeps = 200

// descend lets every node in conflict in turn take its cheapest colour, as long as that helps. A colour of equal cost is taken only in every
// second round, so that nodes do not swap for ever.
func (t *tabuSearch) descend() {
	for i := range sweeps {
		moved := false
		for _, v := range slices.Clone(t.conflicted) {
			was := t.c.Colour[v]
			if k := t.cheapest(v); t.cost[v][k] < t.cost[v][was] || k != was && i%2 == 0 && t.cost[v][k] == t.cost[v][was] {
				t.change(v, k)
				moved = true
			}
		}
		if !moved && i%2 == 0 {
			return
		}
	}
}

// cheapest returns the colour of least cost; of equal ones the next after the node's own, cyclically, so that a node moves on among them.
func (t *tabuSearch) cheapest(v int32) int8 {
	was := t.c.Colour[v]
	best := was
	after := func(k int8) int8 { return (k - was + Colours) % Colours }
	for _, k := range t.c.order {
		if t.c.Domain[v]&(1<<k) == 0 || k == was {
			continue
		}
		if d := t.cost[v][k] - t.cost[v][best]; d < 0 || d == 0 && (best == was || after(k) < after(best)) {
			best = k
		}
	}
	return best
}

// best finds the cheapest permitted change; of equal ones the first by node, then by order. A change that improves on the best cost so far is
// always permitted.
func (t *tabuSearch) best(step int32, bestCost int64) (node int32, colour int8) {
	node, colour = -1, -1
	least := int64(0)
	for _, v := range t.conflicted {
		has := t.cost[v][t.c.Colour[v]]
		for _, k := range t.c.order {
			if k == t.c.Colour[v] || t.c.Domain[v]&(1<<k) == 0 {
				continue
			}
			d := t.cost[v][k] - has
			if t.tabuUntil[v][k] > step && t.current+d >= bestCost {
				continue
			}
			if node < 0 || d < least || d == least && v < node {
				node, colour, least = v, k, d
			}
		}
	}
	return node, colour
}

func (t *tabuSearch) change(v int32, k int8) {
	c := t.c
	was := c.Colour[v]
	t.current += t.cost[v][k] - t.cost[v][was]
	c.Unassign(v)
	c.Assign(v, k)
	for _, e := range c.Meet[v] {
		t.cost[e.To][was] -= int64(e.Cost) * moveScale
		t.cost[e.To][k] += int64(e.Cost) * moveScale
		t.updateConflict(e.To)
	}
	t.updateConflict(v)
}

// updateConflict updates the list of nodes in conflict.
func (t *tabuSearch) updateConflict(v int32) {
	in, at := t.cost[v][t.c.Colour[v]] >= moveScale, t.place[v]
	switch {
	case in && at < 0:
		t.place[v] = int32(len(t.conflicted))
		t.conflicted = append(t.conflicted, v)
	case !in && at >= 0:
		last := t.conflicted[len(t.conflicted)-1]
		t.conflicted[at], t.place[last] = last, at
		t.conflicted, t.place[v] = t.conflicted[:len(t.conflicted)-1], -1
	}
}
