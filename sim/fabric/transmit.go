package fabric

import (
	"math/bits"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet/ident"
)

// transmit sends the port's next packet if it may be sent now. Otherwise it schedules the next check.
func (n *Network) transmit(pi int32) {
	p := &n.ports[pi]
	if !p.carries {
		return
	}
	now := n.eng.Now()
	if p.busyUntil > now {
		n.kick(pi, p, p.busyUntil)
		return
	}
	n.collect(p, now)
	var h *host
	if p.host != none {
		h = &n.hosts[p.host]
		n.release(h, now)
	}
	for {
		vl := n.choose(p)
		if vl < 0 {
			n.rest(pi, p, h)
			return
		}
		var pk int32
		if h != nil {
			pk = n.takeHost(p, vl)
		} else {
			pk = n.takeSwitch(p, vl)
		}
		if pk != none {
			n.launch(pi, p, h, pk, vl)
			return
		}
	}
}

// collect adds the credits that have returned by now.
func (n *Network) collect(p *port, now quantity.Picoseconds) {
	for p.credits.n > 0 && p.credits.front().at <= now {
		c := p.credits.pop()
		p.lanes[c.vl].credit += c.blocks
	}
}

// choose returns the lane to serve, among those with a packet and enough credits, or -1. It marks lanes without enough credits
// as stalled.
func (n *Network) choose(p *port) int {
	var able uint16
	for m := p.pending; m != 0; m &= m - 1 {
		vl := bits.TrailingZeros16(m)
		l := &p.lanes[vl]
		if n.headBlocks(p, l, vl) <= l.credit {
			able |= 1 << vl
		} else {
			l.stalled = true
		}
	}
	if able == 0 {
		return -1
	}
	return p.arb.choose(able)
}

// headBlocks returns the credits that a lane's next packet needs.
func (n *Network) headBlocks(p *port, l *lane, vl int) int32 {
	switch {
	case p.sw != none:
		s := &n.switches[p.sw]
		l.pick = nextInput(l)
		return int32(n.pool.all[s.queue(vl, int(l.pick), int(p.num)).head].blocks)
	case !l.acks.empty():
		return int32(n.pool.all[l.acks.head].blocks)
	default:
		return n.qps[l.ready.head].nextBlocks()
	}
}

// nextBlocks returns the credits that the next packet of a queue pair needs.
func (q *qp) nextBlocks() int32 {
	size := int(q.mtu)
	if !q.endless {
		size = int(max(0, min(q.left, int64(q.mtu))))
	}
	return int32(blocksFor(size + DataHeader))
}

// rest begins the wait: for credits when a packet is pending, and for the earliest queue pair or gate.
func (n *Network) rest(pi int32, p *port, h *host) {
	at := sim.Never
	if p.pending != 0 {
		if p.tally.waitSince < 0 {
			p.tally.waitSince = n.eng.Now()
		}
		if p.credits.n > 0 {
			at = p.credits.front().at
		}
	}
	if h != nil {
		at = min(at, h.wait.NextAt())
	}
	if at != sim.Never {
		n.kick(pi, p, max(at, n.eng.Now()))
	}
}

// endWait ends the wait for credits.
func (n *Network) endWait(p *port) {
	if p.tally.waitSince >= 0 {
		p.tally.waited += n.eng.Now() - p.tally.waitSince
		p.tally.waitSince = -1
	}
}

// launch puts a packet on the link.
func (n *Network) launch(pi int32, p *port, h *host, pk int32, vl int) {
	n.endWait(p)
	now := n.eng.Now()
	k := &n.pool.all[pk]
	l := &p.lanes[vl]
	l.credit -= int32(k.blocks)
	l.waited, l.stalled = l.stalled, false
	p.arb.charge(int32(k.blocks))
	v := &p.tally.xmit[k.sl]
	v.bytes += uint64(k.size)
	v.pkts++
	end := now + p.txTime(int(k.size))
	p.busyUntil = end
	if p.use != nil {
		p.use.sent(end, end-now)
	}
	if p.flight.n == 0 {
		n.eng.Schedule(end+p.latency, evArrive, pi, 0)
	}
	p.flight.push(flight{end + p.latency, pk})
	switch {
	case p.pending != 0:
		n.kick(pi, p, end)
	case h != nil && h.wait.Len() > 0:
		n.kick(pi, p, max(end, h.wait.NextAt()))
	}
}

// arrive passes the first packet in flight from a port to the peer.
func (n *Network) arrive(pi int32) {
	p := &n.ports[pi]
	now := n.eng.Now()
	if p.flight.n == 0 || p.flight.front().at > now {
		return // the link failed after this arrival was scheduled
	}
	pk := p.flight.pop().pkt
	if p.flight.n > 0 {
		n.eng.Schedule(p.flight.front().at, evArrive, pi, 0)
	}
	k := &n.pool.all[pk]
	peer := &n.ports[p.peer]
	v := &peer.tally.rcv[k.sl]
	v.bytes += uint64(k.size)
	v.pkts++
	n.digest = (n.digest ^ uint64(now) ^ uint64(pi)<<48 ^ uint64(k.qp)<<20 ^ uint64(k.flags)) * 0x100000001b3
	if k.flags&flagAck == 0 {
		n.hops++
	}
	if peer.sw != none {
		n.forward(peer, pk)
	} else {
		n.receive(p.peer, peer, pk)
	}
}

// returnCredit returns buffer space of an input to the transmitter at the other end; the packet leaves the buffer at time
// freed.
func (n *Network) returnCredit(in *port, vl ident.VL, blocks int32, freed quantity.Picoseconds) {
	up := &n.ports[in.peer]
	if !up.carries {
		return // flow control is initialized again when the link comes up
	}
	at := freed + in.delay
	insertCredit(&up.credits, credit{at, blocks, uint8(vl)})
	if up.tally.waitSince >= 0 {
		n.kick(in.peer, up, max(at, up.busyUntil))
	}
}
