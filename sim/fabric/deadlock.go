package fabric

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Deadlock is a credit loop: a cycle of switch output lanes in which each lane waits for buffer space in the next switch.
// Packets that wait for the next lane occupy this space. Without intervention no packet of the loop ever moves again (Dally and
// Seitz, "Deadlock-free message routing in multiprocessor interconnection networks", 1987).
type Deadlock struct {
	// Cycle is the loop. Each lane waits for the next one, and the last lane waits for the first. The first lane is the lowest
	// by node and port.
	Cycle []StuckLane
	// Packets is the number of packets queued in switches that can never move, in the loop and behind it.
	Packets int
}

// StuckLane is one output lane of a switch with packets that can never leave.
type StuckLane struct {
	Port    subnet.PortRef
	Name    string // name of the port, as subnet.Fabric.PortName returns it
	VL      ident.VL
	Packets int // packets that can never leave by this lane
	Bytes   int
}

// String lists the lanes of the loop.
func (d *Deadlock) String() string {
	var b strings.Builder
	b.WriteString("credit loop: ")
	for i := range d.Cycle {
		fmt.Fprintf(&b, "%s VL %d waits for ", d.Cycle[i].Name, d.Cycle[i].VL)
	}
	fmt.Fprintf(&b, "%s VL %d; %d packets can never move", d.Cycle[0].Name, d.Cycle[0].VL, d.Packets)
	return b.String()
}

// Deadlock returns a current credit loop, or nil when there is none. It does not change the network.
//
// The cost is a walk over the packets queued in switches, about ten nanoseconds each, times the number of switches in a chain
// of waiting lanes.
func (n *Network) Deadlock() *Deadlock {
	if n.pool.used == 0 {
		return nil
	}
	return n.search().deadlock()
}

// search determines the packets that may still move.
func (n *Network) search() *progress {
	p := n.newProgress()
	for i := 0; i < len(n.hosts) && !p.alive; i++ {
		p.alive = p.mayHostSend(&n.hosts[i])
	}
	for changed := true; changed; {
		changed = false
		for i := range p.lanes {
			changed = p.step(&p.lanes[i]) || changed
		}
	}
	return p
}

// progress is the search for packets that may still move.
type progress struct {
	n      *Network
	lanes  []waiter // switch lanes with packets, by port and VL
	first  []int32  // index in lanes of each port's first lane, with one more entry at the end
	credit []int32  // largest number of credit blocks that each transmitting (port, VL) can have
	// alive means that some packet may still move, so new packets may arrive anywhere and change the round robin order.
	alive bool
}

// waiter is an output lane of a switch, with a cursor into each input's queue for it. Packets before the cursor may move.
type waiter struct {
	port   int32
	vl     uint8
	queues []cursor
}

type cursor struct {
	in int   // input port number
	pk int32 // first packet not known to be able to leave; none when all can leave
}

// newProgress counts the credits that will certainly return.
func (n *Network) newProgress() *progress {
	p := &progress{n: n, first: make([]int32, len(n.ports)+1), credit: make([]int32, len(n.ports)*ident.NumVLs)}
	for pi := range n.ports {
		p.first[pi] = int32(len(p.lanes))
		if o := &n.ports[pi]; o.carries {
			p.countCredits(int32(pi), o)
			p.addLanes(int32(pi), o)
		}
	}
	p.first[len(n.ports)] = int32(len(p.lanes))
	return p
}

// countCredits starts with the credits that a port has, the returning credits, and the credits of packets on the link.
// Whether these packets can leave the next switch becomes known only after their arrival.
func (p *progress) countCredits(pi int32, o *port) {
	p.alive = p.alive || o.flight.n > 0
	credit := p.credit[pi*ident.NumVLs:][:ident.NumVLs]
	if p.n.ports[o.peer].host != none {
		for vl := range o.lanes {
			credit[vl] = p.n.creditBlocks // a channel adapter consumes packets immediately
		}
		return
	}
	for vl := range o.lanes {
		credit[vl] = o.lanes[vl].credit
	}
	for i := range o.credits.n {
		c := o.credits.at(i)
		credit[c.vl] += c.blocks
	}
	for i := range o.flight.n {
		k := &p.n.pool.all[o.flight.at(i).pkt]
		credit[k.vl] += int32(k.blocks)
	}
}

// addLanes adds the lanes of a switch port that hold packets.
func (p *progress) addLanes(pi int32, o *port) {
	if o.sw == none {
		return
	}
	s := &p.n.switches[o.sw]
	for vl := range o.lanes {
		if o.pending>>vl&1 == 0 {
			continue
		}
		w := waiter{port: pi, vl: uint8(vl)}
		for in := range s.ports {
			if q := s.queue(vl, in, int(o.num)); !q.empty() {
				w.queues = append(w.queues, cursor{in, q.head})
			}
		}
		p.lanes = append(p.lanes, w)
	}
}

// mayHostSend reports whether any packet that waits at a channel adapter fits the credits of its lane, without counting
// answers to packets that may still arrive.
func (p *progress) mayHostSend(h *host) bool {
	n := p.n
	o := &n.ports[h.port]
	if !o.carries {
		return false
	}
	credit := p.credit[h.port*ident.NumVLs:][:ident.NumVLs]
	for vl := range o.lanes {
		if o.pending>>vl&1 != 0 && n.headBlocks(o, &o.lanes[vl], vl) <= credit[vl] {
			return true
		}
	}
	now := n.eng.Now()
	for _, qi := range h.qps {
		q := &n.qps[qi]
		vl := h.sl2vl[q.sl]
		if !q.queued || n.finished(q, now) || !o.usable(vl) || o.pending>>vl&1 != 0 || n.lids[q.src].base == 0 || n.lids[q.dst].base == 0 {
			continue // nothing to send, no path, or waiting behind other packets
		}
		if q.nextBlocks() <= credit[vl] {
			return true
		}
	}
	return false
}

// step advances the cursors of a lane as far as its credits can ever allow, and reports whether any cursor moved. A lane
// without new arrivals waits for the packet selected by round robin, even if another packet would fit.
func (p *progress) step(w *waiter) (moved bool) {
	n := p.n
	o := &n.ports[w.port]
	credit := p.credit[w.port*ident.NumVLs+int32(w.vl)]
	if !p.alive {
		turn := nextInput(&o.lanes[w.vl])
		if n.blocksOf(n.switches[o.sw].queue(int(w.vl), int(turn), int(o.num)).head) > credit {
			return false
		}
	}
	for i := range w.queues {
		c := &w.queues[i]
		up := n.ports[n.first[o.node]+int32(c.in)].peer * ident.NumVLs
		for c.pk != none && n.blocksOf(c.pk) <= credit {
			k := &n.pool.all[c.pk]
			p.credit[up+int32(k.vl)] += int32(k.blocks)
			c.pk = k.next
			moved = true
		}
	}
	p.alive = p.alive || moved
	return moved
}

func (n *Network) blocksOf(pk int32) int32 { return int32(n.pool.all[pk].blocks) }

// deadlock follows the lanes that wait for one another until a lane repeats. Every lane with stuck packets has a successor,
// because stuck packets hold its credits.
func (p *progress) deadlock() *Deadlock {
	at := slices.IndexFunc(p.lanes, func(w waiter) bool { return w.stuck() })
	if at < 0 {
		return nil
	}
	var path []int
	seen := make([]bool, len(p.lanes))
	for !seen[at] {
		seen[at] = true
		path = append(path, at)
		next := p.waitsFor(&p.lanes[at])
		if next < 0 {
			return nil // the credits are inconsistent: report no loop rather than a wrong one
		}
		at = next
	}
	path = path[slices.Index(path, at):]
	start := slices.Index(path, slices.Min(path))
	d := &Deadlock{}
	for _, i := range slices.Concat(path[start:], path[:start]) {
		d.Cycle = append(d.Cycle, p.describe(&p.lanes[i]))
	}
	for i := range p.lanes {
		d.Packets += p.describe(&p.lanes[i]).Packets
	}
	return d
}

func (w *waiter) stuck() bool {
	return slices.ContainsFunc(w.queues, func(c cursor) bool { return c.pk != none })
}

// waitsFor returns the first lane at the other end of w's link with stuck packets that arrived over w's link, or -1.
func (p *progress) waitsFor(w *waiter) int {
	n := p.n
	in := &n.ports[n.ports[w.port].peer]
	if in.sw == none {
		return -1
	}
	for i := p.first[n.first[in.node]]; i < p.first[n.first[in.node+1]]; i++ {
		for _, c := range p.lanes[i].queues {
			if c.in != int(in.num) {
				continue
			}
			for pk := c.pk; pk != none; pk = n.pool.all[pk].next {
				if n.pool.all[pk].vl == ident.VL(w.vl) {
					return int(i)
				}
			}
		}
	}
	return -1
}

func (p *progress) describe(w *waiter) StuckLane {
	o := &p.n.ports[w.port]
	ref := subnet.PortRef{Node: o.node, Port: o.num}
	s := StuckLane{Port: ref, Name: p.n.topo.PortName(ref), VL: ident.VL(w.vl)}
	for _, c := range w.queues {
		for pk := c.pk; pk != none; pk = p.n.pool.all[pk].next {
			s.Packets++
			s.Bytes += int(p.n.pool.all[pk].size)
		}
	}
	return s
}
