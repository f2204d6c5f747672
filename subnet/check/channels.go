package check

import (
	"math/bits"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// channels is the channel dependency graph of Dally and Seitz ("Deadlock-free message routing in multiprocessor
// interconnection networks", 1987). A channel is one direction of a link between two switches, on one lane. A channel
// depends on another when a host's packet may hold the first while it requests the second. Packets can deadlock if
// and only if the graph has a cycle.
//
// A packet's SL is constant, and each switch determines the lane of the next channel from the SL and the ports of
// entry and exit. SLs with equal entries in all tables form one class. A table that was not read counts as mapping
// every SL to lane 0.
type channels struct {
	c       *checker
	r       *routeGraph
	classes []ident.SL // one SL of each class
	vls     int        // lanes in use, 1 to 15
	// nth is, by port, its index among the ports of its switch that lead to switches; -1 for other ports.
	nth   []int32
	count []int32 // by switch: the number of its ports that lead to switches
	total int
	// next[ch] is a bit set over each following port and pair of lanes. Bit (nth*vls + lane)*vls + following lane is
	// set when the dependency exists. Nil: no packet continues from the channel.
	next      [][]uint64
	hostLanes [][]uint16 // by class and port: the lanes that packets of the switch's own hosts get there

	lanes [][]uint16 // for the current destination: by class and switch, the lanes on its egress channel
}

func newChannels(c *checker) *channels {
	r := c.routeGraph
	g := &channels{c: c, r: r, nth: slices.Repeat([]int32{-1}, len(r.far)), count: make([]int32, len(r.sw))}
	for s := range r.sw {
		for at := r.base[s]; at < r.base[s+1]; at++ {
			if r.far[at] >= 0 {
				g.nth[at] = g.count[s]
				g.count[s]++
				g.total++
			}
		}
	}
	g.next = make([][]uint64, len(r.far))
	g.classify()
	for _, sl := range g.classes {
		g.lanes, g.hostLanes = append(g.lanes, make([]uint16, len(r.sw))), append(g.hostLanes, g.computeHostLanes(sl))
	}
	return g
}

// judgedSLs returns the SLs that packets may have: those of tenants, and SL 0 for all other traffic; every SL when no
// tenant is known.
func (c *checker) judgedSLs() []ident.SL {
	var in [ident.NumSLs]bool
	for _, u := range c.x.Uses {
		if u.HasSL && u.SL < ident.NumSLs {
			in[u.SL] = true
		}
	}
	all := !slices.Contains(in[:], true)
	in[0] = true
	var sls []ident.SL
	for sl := range ident.SL(ident.NumSLs) {
		if in[sl] || all {
			sls = append(sls, sl)
		}
	}
	return sls
}

// classify finds the SLs that differ in any table of a port between switches.
func (g *channels) classify() {
	top := ident.VL(0)
	seen := make(map[[2]uint64]bool)
	for _, sl := range g.c.judgedSLs() {
		const prime1, prime2 = 0x100000001b3, 0x9E3779B97F4A7C15
		sum := [2]uint64{0xcbf29ce484222325, 0}
		for s, node := range g.r.sw {
			ports := len(g.c.f.Nodes[node].Ports)
			for out := 1; out < ports; out++ {
				if g.nth[g.r.at(int32(s), ident.PortNum(out))] < 0 {
					continue
				}
				for in := range ports {
					vl := g.lane(int32(s), ident.PortNum(in), ident.PortNum(out), sl)
					if vl < ident.ManagementVL {
						top = max(top, vl)
					}
					sum[0] = (sum[0] ^ uint64(vl)) * prime1
					sum[1] = (sum[1] + uint64(vl) + 1) * prime2
				}
			}
		}
		if !seen[sum] {
			seen[sum] = true
			g.classes = append(g.classes, sl)
		}
	}
	g.vls = int(top) + 1
}

func (g *channels) lane(s int32, in, out ident.PortNum, sl ident.SL) ident.VL {
	vl, _ := g.c.x.Details.Lane(subnet.PortRef{Node: g.r.sw[s], Port: out}, in, sl)
	return vl
}

// enter adds the dependencies of packets to the graph's current destination.
func (g *channels) enter() {
	r := g.r
	for k, sl := range g.classes {
		lanes := g.lanes[k]
		for _, s := range r.order {
			lanes[s] = 0
		}
		for _, s := range r.order {
			if r.outcome[s] != outcomeForwarded {
				continue
			}
			at := r.at(s, r.egress[s])
			lanes[s] |= g.hostLanes[k][at]
			t, in := r.far[at], r.back[at]
			if r.outcome[t] != outcomeForwarded || lanes[s] == 0 {
				continue
			}
			out := r.egress[t]
			vl := g.lane(t, in, out, sl)
			if vl >= ident.ManagementVL {
				continue
			}
			lanes[t] |= 1 << vl
			g.depend(at, t, out, lanes[s], vl)
		}
	}
}

// computeHostLanes computes, for each port that leads to a switch, the lanes that packets of the SL from the switch's own hosts
// get.
func (g *channels) computeHostLanes(sl ident.SL) []uint16 {
	lanes := make([]uint16, len(g.r.far))
	for s := range g.r.sw {
		for at := g.r.base[s]; at < g.r.base[s+1]; at++ {
			if g.nth[at] < 0 {
				continue
			}
			for _, in := range g.r.hosts[s] {
				if vl := g.lane(int32(s), in, ident.PortNum(at-g.r.base[s]), sl); vl < ident.ManagementVL {
					lanes[at] |= 1 << vl
				}
			}
		}
	}
	return lanes
}

func (g *channels) depend(at, t int32, out ident.PortNum, held uint16, vl ident.VL) {
	if g.next[at] == nil {
		g.next[at] = make([]uint64, (int(g.count[t])*g.vls*g.vls+63)/64)
	}
	base := int(g.nth[g.r.at(t, out)]) * g.vls
	for ; held != 0; held &= held - 1 {
		bit := (base+bits.TrailingZeros16(held))*g.vls + int(vl)
		g.next[at][bit/64] |= 1 << (bit % 64)
	}
}

// follow calls f with each channel and lane that the given one depends on, until f returns false.
func (g *channels) follow(v int32, f func(w int32) bool) {
	at, lane := v/int32(g.vls), int(v)%g.vls
	row := g.next[at]
	if row == nil {
		return
	}
	t := g.r.far[at]
	for port := g.r.base[t]; port < g.r.base[t+1]; port++ {
		if g.nth[port] < 0 {
			continue
		}
		first := (int(g.nth[port])*g.vls + lane) * g.vls
		for vl := range g.vls {
			if bit := first + vl; row[bit/64]>>(bit%64)&1 != 0 && !f(port*int32(g.vls)+int32(vl)) {
				return
			}
		}
	}
}

// cycle returns a short cycle of channels and lanes, or nil. A depth-first search without recursion finds one, and a
// breadth-first search from its first channel shortens it.
func (g *channels) cycle() []int32 {
	const closed, open = 1, 2
	state := make([]uint8, len(g.next)*g.vls)
	type visit struct {
		v   int32
		out []int32
	}
	outs := func(v int32) []int32 {
		var w []int32
		g.follow(v, func(x int32) bool { w = append(w, x); return true })
		return w
	}
	for v := range state {
		if state[v] != 0 || g.next[v/g.vls] == nil {
			continue
		}
		state[v] = open
		stack := []visit{{int32(v), outs(int32(v))}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.out) == 0 {
				state[top.v] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			w := top.out[0]
			top.out = top.out[1:]
			switch state[w] {
			case open:
				return g.shorten(w)
			case 0:
				state[w] = open
				stack = append(stack, visit{w, outs(w)})
			}
		}
	}
	return nil
}

// shorten finds a shortest cycle through a channel that is on some cycle.
func (g *channels) shorten(v int32) []int32 {
	from := make(map[int32]int32)
	queue := []int32{v}
	for i := 0; i < len(queue); i++ {
		u, found := queue[i], false
		g.follow(u, func(w int32) bool {
			if w == v {
				found = true
				return false
			}
			if _, seen := from[w]; !seen {
				from[w] = u
				queue = append(queue, w)
			}
			return true
		})
		if found {
			loop := []int32{u}
			for u != v {
				u = from[u]
				loop = append(loop, u)
			}
			slices.Reverse(loop)
			low := slices.Index(loop, slices.Min(loop))
			return append(slices.Clone(loop[low:]), loop[:low]...)
		}
	}
	return nil
}

// creditLoops reports a cycle of channels that wait for each other.
func (c *checker) creditLoops() {
	t := c.tally[GroupLoops]
	g := c.channels
	if g == nil {
		t.Skipped = SkipNoRoutes
		return
	}
	t.Of = g.total
	loop := g.cycle()
	if loop == nil {
		return
	}
	var p places
	var names []phrase.Text
	for _, v := range loop {
		ref := c.switchPort(v / int32(g.vls))
		p.port(c.f, ref)
		if len(names) < 12 {
			names = append(names, phrase.Of("on-lane", "list", c.f.PortName(ref), "lane", v%int32(g.vls)))
		}
	}
	if len(loop) > len(names) {
		names = append(names, phrase.Verbatim("…"))
	}
	t.Bad = len(loop)
	chain := phrase.Of("check.again", "place", names[0])
	for _, name := range slices.Backward(names) {
		chain = phrase.Of("check.waits-for", "place", name, "next", chain)
	}
	c.add(CodeCreditLoop, p, phrase.Of("check.deadlock", "chain", chain))
}

// switchPort converts the number of a switch's port into its reference.
func (c *checker) switchPort(at int32) subnet.PortRef {
	s, exact := slices.BinarySearch(c.routeGraph.base, at)
	if !exact {
		s--
	}
	return subnet.PortRef{Node: c.routeGraph.sw[s], Port: ident.PortNum(at - c.routeGraph.base[s])}
}
