package fabric

import (
	"fmt"
	"slices"
	"strings"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Deadlock is a credit loop: output lanes of switches of which each waits for room in the
// switch at the other end of its link, where packets hold that room which wait for the next
// lane of the loop. Without outside help none of them ever moves again (Dally and Seitz,
// "Deadlock-free message routing in multiprocessor interconnection networks", 1987).
type Deadlock struct {
	// Cycle is the loop: each lane waits for the next, and the last for the first. It starts
	// with the lane that comes first by node and port.
	Cycle []StuckLane
	// Packets counts all packets queued in switches that can never move, in the loop and
	// behind it.
	Packets int
}

// StuckLane is one output lane of a switch with packets that can never leave.
type StuckLane struct {
	Port    subnet.PortRef
	Name    string // of the port, as subnet.Fabric.PortName gives it
	VL      ident.VL
	Packets int // that can never leave by this lane
	Bytes   int
}

// String names the loop, lane by lane.
func (d *Deadlock) String() string {
	var b strings.Builder
	b.WriteString("credit loop: ")
	for i := range d.Cycle {
		fmt.Fprintf(&b, "%s VL %d waits for ", d.Cycle[i].Name, d.Cycle[i].VL)
	}
	fmt.Fprintf(&b, "%s VL %d; %d packets can never move", d.Cycle[0].Name, d.Cycle[0].VL, d.Packets)
	return b.String()
}

// Deadlock returns a credit loop when there is one now, and else nil. It changes nothing.
//
// It finds the packets that may still move, as a least fixed point: a packet may leave its
// switch when its lane's credits, with all that are on their way and all that packets which may
// move will give back, are enough for it. Whatever is left can never move, whichever way
// arbiters and sources decide, as long as no link or table is changed; so a reported loop is
// real. While other packets move on, a loop may go unreported for as long as they might still
// open it: the credits of packets on links count as free until these have arrived, and a short
// packet may pass where a long one waits. In a fabric in which no packet can move, a loop is
// always found.
//
// The cost is a walk over the packets queued in switches, some ten nanoseconds each, times the
// number of switches that a chain of waiting lanes goes through.
func (n *Network) Deadlock() *Deadlock {
	if n.pool.used == 0 {
		return nil
	}
	return n.search().deadlock()
}

// search finds what may still move.
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
	first  []int32  // of each port: its first lane in lanes, and one more at the end
	credit []int32  // of each (port, VL) that transmits: the most blocks it can ever have
	// alive says that a packet may still move somewhere, and so that new ones may come
	// anywhere: they can change whose turn it is.
	alive bool
}

// waiter is an output lane of a switch, with a cursor into each input's queue for it: what is
// behind the cursor may move.
type waiter struct {
	port   int32
	vl     uint8
	queues []cursor
}

type cursor struct {
	in int   // input port number
	pk int32 // the first packet that, as far as is known, stays; none when all may leave
}

// newProgress counts the credits that come back whatever happens.
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

// countCredits starts with the credits that a port has, that are coming, and that packets on
// the link stand for: whether these can move on is known when they have arrived.
func (p *progress) countCredits(pi int32, o *port) {
	p.alive = p.alive || o.flight.n > 0
	credit := p.credit[pi*ident.NumVLs:][:ident.NumVLs]
	if p.n.ports[o.peer].host != none {
		for vl := range o.lanes {
			credit[vl] = p.n.creditBlocks // a channel adapter consumes at once
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

// mayHostSend reports whether anything that waits at a channel adapter fits the credits of its
// lane, when nothing comes that it would answer.
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
			continue // it has nothing to send, no way, or waits behind others
		}
		if q.nextBlocks() <= credit[vl] {
			return true
		}
	}
	return false
}

// step moves the cursors of a lane as far as its credits can ever go, and reports whether any
// moved. A lane to which nothing new comes waits for the packet whose turn it is, whatever else
// might fit.
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

// deadlock follows lanes that wait for one another until one comes again. Every lane with
// packets that never leave has a next one: its credits are held by such packets.
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
			return nil // the credits do not add up: rather no report than a wrong one
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

// waitsFor returns the first lane at the other end of w's link with packets that came by w and
// never leave, or -1.
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
