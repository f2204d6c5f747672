package subnet

import (
	"slices"

	"fairlane/subnet/ident"
)

// loadUnit is the load that one source-destination pair adds to a port. Every table entry also adds 1, which spreads
// entries without pairs and never outweighs a pair.
const loadUnit = 1 << 20

// choice is a next hop on a shortest legal path to the destination. alike is the first choice of the same switch that
// leads to the same neighbour.
type choice struct {
	hop
	alike int32
}

// router fills the tables of all switches, destination switch by destination switch. Its
// slices are reused from one destination to the next.
type router struct {
	g    *graph
	pos  []int32 // height in the order, by switch; nil for shortest paths
	ord  []int32 // switches from the bottom up
	lfts [][]ident.PortNum
	rows [][]ident.PortNum // lfts by switch number
	load [][]int64         // by switch and port: pairs routed so far

	dist    []int32 // hops of the shortest legal path to the destination
	descend []bool  // whether that path only descends
	detours []bool  // whether there is no legal path, only one that goes down and up
	queue   []int32
	spread  bool    // whether a port on the destination switch has several LIDs
	visit   []int32 // switches in the order in which traffic passes them
	first   []int32 // first[s]..last[s] are the choices of switch s
	last    []int32
	choices []choice
	// How often the current port's LIDs used a choice, and one that leads to its neighbour.
	used, usedNode []uint8
	inflow         []int64 // pairs that arrive at each switch from others
}

func newRouter(g *graph, ord []int32) *router {
	n := g.size()
	r := &router{
		g: g, ord: ord,
		lfts: make([][]ident.PortNum, len(g.f.Nodes)),
		rows: make([][]ident.PortNum, n),
		load: make([][]int64, n),
		dist: make([]int32, n), descend: make([]bool, n), detours: make([]bool, n),
		first: make([]int32, n), last: make([]int32, n), inflow: make([]int64, n),
	}
	if ord != nil {
		r.pos = make([]int32, n)
		for at, s := range ord {
			r.pos[s] = int32(at)
		}
	}
	for s, node := range g.f.Switches() {
		row := slices.Repeat([]ident.PortNum{ident.DropPort}, int(g.f.TopLID())+1)
		r.lfts[node], r.rows[s] = row, row
		r.load[s] = make([]int64, len(g.f.Nodes[node].Ports))
	}
	return r
}

// run routes all LIDs: those of hosts first, so that those of switches do not disturb the balance of host traffic.
func (r *router) run() error {
	for _, hosts := range [2]bool{true, false} {
		for d := int32(0); int(d) < r.g.size(); d++ {
			ends := r.g.ends[r.g.endAt[d]:r.g.endAt[d+1]]
			ends = slices.DeleteFunc(slices.Clone(ends), func(e endport) bool { return (e.port != 0) != hosts })
			if len(ends) == 0 {
				continue
			}
			r.spread = slices.ContainsFunc(ends, func(e endport) bool { return e.lids > 1 })
			if err := r.towards(d, hosts); err != nil {
				return err
			}
			for _, e := range ends {
				r.endport(e)
			}
		}
	}
	return nil
}

// up reports whether the hop from s climbs.
func (r *router) up(s int32, h hop) bool { return r.pos[h.to] > r.pos[s] }

// towards computes the choices of every switch for destinations on switch d: its hosts, or the switch itself.
func (r *router) towards(d int32, hosts bool) error {
	r.searchDown(d)
	if r.pos != nil {
		r.searchUp()
		if err := r.detour(hosts); err != nil {
			return err
		}
	}
	r.collect(d)
	r.orderVisits()
	return nil
}

// searchDown finds the switches that reach the destination by descending only, or, for shortest paths, all that reach it.
func (r *router) searchDown(d int32) {
	for s := range r.dist {
		r.dist[s], r.descend[s], r.detours[s] = unreached, false, false
	}
	r.dist[d], r.descend[d] = 0, true
	r.queue = append(r.queue[:0], d)
	for i := 0; i < len(r.queue); i++ {
		s := r.queue[i]
		for _, h := range r.g.from(s) {
			if r.dist[h.to] == unreached && (r.pos == nil || r.up(s, h)) {
				r.dist[h.to], r.descend[h.to] = r.dist[s]+1, true
				r.queue = append(r.queue, h.to)
			}
		}
	}
}

// searchUp finds, from the top down, the shortest legal path of the switches that must climb first. A switch that can
// descend to the destination never climbs. A forwarding table has only the destination, so this rule keeps every path
// legal, whatever its earlier hops.
func (r *router) searchUp() {
	for i := len(r.ord) - 1; i >= 0; i-- {
		s := r.ord[i]
		if r.descend[s] {
			continue
		}
		for _, h := range r.g.from(s) {
			if r.up(s, h) && r.dist[h.to] != unreached {
				r.dist[s] = min(r.dist[s], r.dist[h.to]+1)
			}
		}
	}
}

// detour gives a path to switches without a legal one, over the neighbour with the shortest path. Legal paths never
// use such a switch, so only its own traffic goes down and up again. In every tree this occurs for management traffic
// between switches of the top tier. For traffic to or from a host the order would be unsuitable, and detour returns
// errPartial.
func (r *router) detour(hosts bool) error {
	for again := true; again; {
		again = false
		for s := range r.dist {
			if r.dist[s] != unreached && !r.detours[s] {
				continue
			}
			for _, h := range r.g.from(int32(s)) {
				if r.dist[h.to] == unreached || r.dist[h.to]+1 >= r.dist[s] {
					continue
				}
				if hosts || r.g.sources[s] > 0 {
					return errPartial
				}
				r.dist[s], r.detours[s], again = r.dist[h.to]+1, true, true
			}
		}
	}
	return nil
}

// collect lists each switch's hops that are on a shortest legal path.
func (r *router) collect(d int32) {
	r.choices = r.choices[:0]
	for s := range r.dist {
		at := int32(s)
		r.first[s] = int32(len(r.choices))
		if at != d && r.dist[s] != unreached {
			for _, h := range r.g.from(at) {
				if r.legal(at, h) {
					r.addChoice(r.first[s], h)
				}
			}
		}
		r.last[s] = int32(len(r.choices))
	}
	r.used = slices.Grow(r.used[:0], len(r.choices))[:len(r.choices)]
	r.usedNode = slices.Grow(r.usedNode[:0], len(r.choices))[:len(r.choices)]
}

func (r *router) legal(s int32, h hop) bool {
	if r.dist[h.to] != r.dist[s]-1 {
		return false
	}
	switch {
	case r.pos == nil, r.detours[s]:
		return true
	case r.detours[h.to]:
		return false
	case r.descend[s]:
		return r.descend[h.to] && !r.up(s, h)
	default:
		return r.up(s, h)
	}
}

func (r *router) addChoice(first int32, h hop) {
	c := choice{h, int32(len(r.choices))}
	for i := first; r.spread && int(i) < len(r.choices); i++ {
		if r.choices[i].to == h.to {
			c.alike = i
			break
		}
	}
	r.choices = append(r.choices, c)
}

// orderVisits orders the switches so that each comes after all that send to it: farthest first, because every choice is
// one hop closer.
func (r *router) orderVisits() {
	r.visit = r.visit[:0]
	counts := make([]int32, len(r.dist)+1)
	for _, d := range r.dist {
		if d != unreached {
			counts[d]++
		}
	}
	at := make([]int32, len(counts))
	for d := len(counts) - 2; d >= 0; d-- {
		at[d] = at[d+1] + counts[d+1]
	}
	r.visit = slices.Grow(r.visit, len(r.dist))[:at[0]+counts[0]]
	for s, d := range r.dist {
		if d != unreached {
			r.visit[at[d]] = int32(s)
			at[d]++
		}
	}
}

// endport routes the LIDs of one port.
func (r *router) endport(e endport) {
	clear(r.used)
	clear(r.usedNode)
	for lid := e.lid; lid < e.lid+ident.LID(e.lids); lid++ {
		clear(r.inflow)
		for _, s := range r.visit {
			if s == e.sw {
				r.rows[s][lid] = e.port
				continue
			}
			c := r.pick(s)
			pairs := r.inflow[s] + r.g.sources[s]
			r.load[s][c.port] += pairs*loadUnit + 1
			r.inflow[c.to] += pairs
			r.rows[s][lid] = c.port
		}
	}
}

// pick returns the choice that the port's earlier LIDs used least, by neighbour and then by link, and among those the one
// with the least load; the lowest port among equals.
func (r *router) pick(s int32) hop {
	if !r.spread {
		return r.lightest(s)
	}
	best := r.first[s]
	for i := best + 1; i < r.last[s]; i++ {
		if r.better(s, i, best) {
			best = i
		}
	}
	c := &r.choices[best]
	r.used[best]++
	r.usedNode[c.alike]++
	return c.hop
}

// lightest returns the choice with the least load, the lowest port among equals.
func (r *router) lightest(s int32) hop {
	choices, load := r.choices[r.first[s]:r.last[s]], r.load[s]
	best, low := 0, load[choices[0].port]
	for i := 1; i < len(choices); i++ {
		if l := load[choices[i].port]; l < low {
			best, low = i, l
		}
	}
	return choices[best].hop
}

func (r *router) better(s, i, than int32) bool {
	a, b := &r.choices[i], &r.choices[than]
	if x, y := r.usedNode[a.alike], r.usedNode[b.alike]; x != y {
		return x < y
	}
	if r.used[i] != r.used[than] {
		return r.used[i] < r.used[than]
	}
	return r.load[s][a.port] < r.load[s][b.port]
}
