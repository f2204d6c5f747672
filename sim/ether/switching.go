package ether

import (
	"fairlane/sim"
)

// admit accepts a packet into a switch and queues it for its output.
func (n *Network) admit(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	s := &n.switches[p.sw]
	oi := n.route(p.sw, k)
	if oi == none {
		n.drop(p, none, pk)
		return
	}
	if p.codes != 0 {
		n.sort(p, k)
	}
	o := &n.ports[oi]
	if o.down {
		n.drop(p, oi, pk)
		return
	}
	if s.edge != none && k.kind != kindData && n.intercept(&n.edges[s.edge], p, o, pk) {
		return
	}
	wire := int64(k.wire)
	if n.lossy>>k.cls&1 != 0 {
		q := &n.queues[int(oi)*n.classes+int(k.cls)]
		if wire > s.shared-s.used || q.bytes+wire > s.bound() {
			n.drop(p, oi, pk)
			return
		}
		s.used += wire
	} else {
		in := &n.ingress[int(pi)*n.classes+int(k.cls)]
		if !s.take(in, wire) {
			n.drop(p, oi, pk)
			return
		}
		if !in.paused && s.over(in) && p.pfc>>k.cls&1 != 0 {
			in.paused = true
			n.sendPFC(pi, k.cls, kindPause)
		}
	}
	k.in = pi
	if n.fair != nil {
		n.fairIn(p.sw, pi, oi, k)
	}
	if p.haul && !o.haul && k.kind == kindData {
		n.hold(s.edge, pi, pk)
		return
	}
	n.enqueue(oi, o, pk)
}

// enqueue puts a packet that is already in the buffer into the queue of its output.
func (n *Network) enqueue(oi int32, o *port, pk int32) {
	k := n.pool.at(pk)
	q := &n.queues[int(oi)*n.classes+int(k.cls)]
	if n.cfg.ECN.AtEnqueue {
		n.mark(o, q, k)
	}
	q.push(&n.pool, pk)
	q.bytes += int64(k.wire)
	q.peak = max(q.peak, q.bytes)
	o.queued += int64(k.wire)
	o.stats.PeakQueue = max(o.stats.PeakQueue, o.queued)
	o.ready |= 1 << k.cls
	n.kick(oi, o)
}

// forward starts the first packet of a class on an idle switch port. The packet leaves the buffer, may get a mark according
// to the remaining queue, and gets telemetry.
func (n *Network) forward(pi int32, p *port, cls int) {
	q := &n.queues[int(pi)*n.classes+cls]
	pk := q.pop(&n.pool)
	k := n.pool.at(pk)
	wire := int64(k.wire)
	q.bytes -= wire
	q.octets += uint64(wire)
	q.frames++
	p.queued -= wire
	if q.head == none {
		p.ready &^= 1 << cls
	}
	if !n.cfg.ECN.AtEnqueue {
		n.mark(p, q, k)
	}
	if k.tel != none && k.kind == kindData {
		n.telemetry(p, k)
	}
	notify := n.fair != nil && k.kind == kindData && n.fairOut(p.sw, pi, k)
	// A mark set beyond another long-haul link does not belong to this data centre.
	answer := p.haul && k.kind == kindData && !n.ports[k.in].haul && n.outbound(p, k)
	slot, gen, seq, fair := k.flow, k.gen, k.seq, k.fair // start may pass the packet to another part
	n.unload(p, k.in, cls, wire)
	n.start(pi, p, pk)
	if notify {
		n.fastNotify(p.sw, slot, gen, seq, fair)
	}
	if answer {
		n.notifySender(p.sw, slot, gen)
	}
}

// unload frees the buffer of a departing packet, and resumes the port from which it came if possible.
func (n *Network) unload(p *port, from int32, cls int, wire int64) {
	s := &n.switches[p.sw]
	switch {
	case from == none: // the switch created the packet
	case n.lossy>>cls&1 != 0:
		s.used -= wire
	default:
		in := &n.ingress[int(from)*n.classes+cls]
		s.give(in, wire)
		if in.paused && s.clear(in) {
			in.paused = false
			n.sendPFC(from, uint8(cls), kindResume)
		}
	}
}

// mark sets ECN on a data packet, depending on the bytes in its queue.
func (n *Network) mark(p *port, q *queue, k *packet) {
	queued := q.bytes
	if queued <= q.kmin || k.flag&flagCapable == 0 || k.kind != kindData {
		return
	}
	if queued <= q.kmax {
		p.markDraws++
		u := float64(sim.Hash(n.cfg.Seed, uint64(p.node)<<16|uint64(p.num), p.markDraws)>>11) / (1 << 53)
		if u >= q.pmax*float64(queued-q.kmin)/float64(q.kmax-q.kmin) {
			return
		}
	}
	if k.flag&flagMarked == 0 {
		k.flag |= flagMarked
		p.stats.Marks++
		q.marks++
	}
}

// drop drops a packet received at p for output port oi, or none.
func (n *Network) drop(p *port, oi, pk int32) {
	p.stats.Drops++
	k := n.pool.at(pk)
	n.ingress[int(n.first[p.node]+p.num)*n.classes+int(k.cls)].drops++
	if oi != none {
		q := &n.queues[int(oi)*n.classes+int(k.cls)]
		q.drops++
		q.gone += uint64(k.wire)
	}
	n.discard(pk)
}

// discard frees a dropped packet.
func (n *Network) discard(pk int32) {
	k := n.pool.at(pk)
	if k.kind == kindData {
		n.totals.DroppedPackets++
		n.totals.DroppedBytes += uint64(k.load)
	}
	n.release(k)
	n.pool.put(pk)
}
