package fabric

import (
	"math/bits"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// SetPortActive sets the logical state of a port: data flows only over links with both ends active.
func (n *Network) SetPortActive(node int32, num ident.PortNum, active bool) {
	pi := n.portIndex(node, num)
	if pi == none {
		return
	}
	n.ports[pi].active = active
	n.updateLink(pi)
}

// PortActive returns the logical state that SetPortActive sets.
func (n *Network) PortActive(node int32, num ident.PortNum) bool {
	p := n.port(node, num)
	return p != nil && p.active
}

// SetLinkUp connects or disconnects the link of a port, physically and in both directions. Packets on a link that goes down are
// lost, and so are packets queued for it.
func (n *Network) SetLinkUp(node int32, num ident.PortNum, up bool) {
	pi := n.portIndex(node, num)
	if pi == none || n.ports[pi].peer == none {
		return
	}
	n.ports[pi].up = up
	n.ports[n.ports[pi].peer].up = up
	n.updateLink(pi)
}

// SetLinkRate changes the rate of a port's link in both directions, as link training does. Packets on the link are lost. A rate
// of 0 or less, or a port without a link, has no effect.
func (n *Network) SetLinkRate(node int32, num ident.PortNum, r quantity.BitRate) {
	pi := n.portIndex(node, num)
	if pi == none || n.ports[pi].peer == none || r <= 0 {
		return
	}
	up := n.ports[pi].up
	n.SetLinkUp(node, num, false)
	n.ports[pi].setRate(r)
	n.ports[n.ports[pi].peer].setRate(r)
	n.SetLinkUp(node, num, up)
}

// LinkUp reports whether the port has a link that is up.
func (n *Network) LinkUp(node int32, num ident.PortNum) bool {
	p := n.port(node, num)
	return p != nil && p.peer != none && p.up
}

// updateLink starts or stops both directions after a change of state at either end.
func (n *Network) updateLink(pi int32) {
	a := &n.ports[pi]
	if a.peer == none {
		return
	}
	b := &n.ports[a.peer]
	carries := a.up && a.active && b.active
	if carries == a.carries {
		return
	}
	for _, i := range [2]int32{pi, a.peer} {
		if carries {
			n.linkStarts(i)
		} else {
			n.linkStops(i)
		}
	}
}

// linkStarts initializes flow control: the free space of the peer's buffer becomes credit.
func (n *Network) linkStarts(pi int32) {
	p := &n.ports[pi]
	p.carries = true
	peer := &n.ports[p.peer]
	for vl := range p.lanes {
		p.lanes[vl].credit = n.creditBlocks - peer.lanes[vl].buffered
		p.lanes[vl].stalled, p.lanes[vl].waited = false, false
	}
	n.kick(pi, p, n.eng.Now())
}

// linkStops discards the packets on the link and, in a switch, the packets queued for this output.
func (n *Network) linkStops(pi int32) {
	p := &n.ports[pi]
	p.carries = false
	for p.flight.n > 0 {
		n.discard(p, p.flight.pop().pkt)
	}
	p.credits.clear()
	n.endWait(p)
	if p.sw == none {
		return
	}
	for vl := range p.lanes {
		l := &p.lanes[vl]
		for w := range l.inputs {
			for l.inputs[w] != 0 {
				in := w<<6 + bits.TrailingZeros64(l.inputs[w])
				l.pick = int16(in)
				pk := n.dequeue(p, vl)
				n.releaseInput(p, in, &n.pool.all[pk], n.eng.Now())
				n.discard(p, pk)
			}
		}
	}
}

// discard drops a packet at a port. Only a finite flow sends the bytes again.
func (n *Network) discard(p *port, pk int32) {
	p.tally.discards++
	n.discards++
	k := &n.pool.all[pk]
	if k.flags&flagAck == 0 {
		q := &n.qps[k.qp]
		f := &n.flows[q.flow]
		f.lostPkts++
		f.lostPayload += uint64(k.payload)
		if f.spec.Bytes > 0 {
			q.left += int64(k.payload)
			n.wakeQP(k.qp)
		}
	}
	n.pool.put(pk)
}
