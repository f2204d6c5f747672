package ether

import (
	"errors"

	"fairlane/subnet"
)

// SetLink connects or disconnects the link of a port, in both directions. Disconnecting loses the packets on the link and the
// packets queued for it at a switch; hosts keep their packets. Switches react immediately: flows with another shortest path
// move to it, possibly overtaking their own packets. A flow that loses its last packets continues only with Recovery.Timeout.
// SetLink returns an error for a port without a link and for fabrics with BiCC switches.
func (n *Network) SetLink(at subnet.PortRef, up bool) error {
	pi, err := n.linked(at)
	if err != nil {
		return err
	}
	if n.cfg.DCI != nil || n.part != nil {
		return errors.New("a link of a fabric with BiCC switches or with several parts cannot be disconnected")
	}
	if n.ports[pi].down != up {
		return nil
	}
	ends := [2]int32{pi, n.ports[pi].peer}
	for _, i := range ends {
		if up {
			n.ports[i].down, n.ports[i].paused = false, 0
		} else {
			n.cut(i)
		}
	}
	if err := n.reroute(); err != nil {
		return err
	}
	for _, i := range ends {
		n.kick(i, &n.ports[i])
	}
	return nil
}

// cut stops a port's transmission and clears the pauses that the far end has set.
func (n *Network) cut(pi int32) {
	p := &n.ports[pi]
	for c := range n.classes {
		p.release(uint8(c), n.eng.Now())
	}
	p.down, p.paused = true, 1<<MaxClasses-1
	for !p.pipe.empty() {
		pk := p.pipe.pop(&n.pool)
		p.lost++
		p.lostLoad += uint64(n.pool.at(pk).wire)
		n.discard(pk)
	}
	p.disconnected = true
	for !p.control.empty() {
		n.pool.put(p.control.pop(&n.pool))
		p.frames--
	}
	for c := range n.classes {
		at := int(pi)*n.classes + c
		n.ingress[at].paused = false
		q := &n.queues[at]
		for !q.empty() {
			pk := q.pop(&n.pool)
			k := n.pool.at(pk)
			wire := int64(k.wire)
			q.bytes -= wire
			p.queued -= wire
			q.drops++
			q.gone += uint64(wire)
			p.stats.Drops++
			n.unload(p, k.in, c, wire)
			n.discard(pk)
		}
	}
	p.ready = 0
}

// due reports whether the packet at the head of a link has arrived. After a disconnection, an event may belong to a lost
// packet.
func (n *Network) due(p *port) bool {
	return p.pipe.head != none && n.pool.at(p.pipe.head).at <= n.eng.Now()
}

// reroute finds all shortest paths over the links that are up.
func (n *Network) reroute() error {
	n.routes = routes{}
	return n.buildRoutes()
}
