package simdev

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// maxRouteHops limits a LID route, because the tables may contain a loop.
const maxRouteHops = 64

// arrival is the end of a message's route: the node, the ingress port, and the addressed port (a switch's port 0 is addressed
// through any ingress port).
type arrival struct {
	at subnet.PortRef // the addressed end port
	in ident.PortNum  // the ingress port
}

// routeLID follows a LID route from a port through the forwarding tables. Subnet management packets cross links at least in
// INIT state, all other packets only active links.
func (d *Devices) routeLID(from subnet.PortRef, dlid ident.LID, smp bool) (arrival, bool) {
	if dlid == 0 || !dlid.IsUnicast() {
		return arrival{}, false
	}
	here := from
	if d.owns(d.manager(from), dlid) {
		return arrival{d.manager(from), from.Port}, true
	}
	if d.nodes[from.Node].sw == nil { // a CA has one egress port
		next, ok := d.cross(from, smp)
		if !ok {
			return arrival{}, false
		}
		here = next
	}
	for range maxRouteHops {
		if d.nodes[here.Node].sw == nil {
			return arrival{here, here.Port}, d.owns(here, dlid)
		}
		if zero := d.manager(here); d.owns(zero, dlid) {
			return arrival{zero, here.Port}, true
		}
		out := d.net.LFTBlock(here.Node, int(dlid)/mad.LFTBlockSize)[int(dlid)%mad.LFTBlockSize]
		next, ok := d.cross(subnet.PortRef{Node: here.Node, Port: out}, smp)
		if !ok {
			return arrival{}, false
		}
		here = next
	}
	return arrival{}, false
}

// cross follows the link of a port.
func (d *Devices) cross(out subnet.PortRef, smp bool) (subnet.PortRef, bool) {
	if int(out.Port) >= len(d.nodes[out.Node].ports) || out.Port == 0 {
		return out, false
	}
	peer, ok := d.topo.Peer(out)
	if !ok || !d.net.LinkUp(out.Node, out.Port) {
		return out, false
	}
	if !smp && (d.port(out).state != mad.StateActive || d.port(peer).state != mad.StateActive) {
		return out, false
	}
	d.net.CountMAD(out.Node, out.Port, false)
	d.net.CountMAD(peer.Node, peer.Port, true)
	d.hops = append(d.hops, out)
	return peer, true
}

// countReturn counts the response on the links of the request, in the reverse direction.
func (d *Devices) countReturn() {
	for _, out := range d.hops {
		if peer, ok := d.topo.Peer(out); ok {
			d.net.CountMAD(peer.Node, peer.Port, false)
			d.net.CountMAD(out.Node, out.Port, true)
		}
	}
}

// routeDirected follows a request with a directed part and records the return path: byte i is the ingress port at hop i, byte 0
// the sender's own port. Only switches forward packets. A LID-routed part to the packet's destination LID may precede the
// directed part, when DrSLID is the sender's LID and not permissive; another may follow it, to DrDLID (IBTA vol. 1, 14.2.2).
func (d *Devices) routeDirected(from subnet.PortRef, m *Message) (arrival, bool) {
	p := &m.MAD
	hops := int(p.HopCount())
	if hops > mad.MaxHops || p.HopPointer() != 0 {
		return arrival{}, false
	}
	path, back := p.InitialPath(), p.ReturnPath()
	here := arrival{d.manager(from), from.Port}
	if slid := p.DrSLID(); slid != ident.PermissiveLID {
		var ok bool
		if !d.owns(d.manager(from), slid) {
			return arrival{}, false // the response would reach a different node
		}
		if here, ok = d.routeLID(from, m.DLID, true); !ok || hops > 0 && d.nodes[here.at.Node].sw == nil {
			return arrival{}, false
		}
	}
	back[0] = byte(here.in)
	for i := 1; i <= hops; i++ {
		if i > 1 && d.nodes[here.at.Node].sw == nil {
			return arrival{}, false
		}
		next, ok := d.cross(subnet.PortRef{Node: here.at.Node, Port: ident.PortNum(path[i])}, true)
		if !ok {
			return arrival{}, false
		}
		here = arrival{d.manager(next), next.Port}
		back[i] = byte(next.Port)
	}
	return d.lastPart(here, p.DrDLID())
}

// lastPart follows the LID-routed part after a directed one, which starts at a switch. The permissive LID means that there is
// none.
func (d *Devices) lastPart(here arrival, lid ident.LID) (arrival, bool) {
	switch {
	case lid == ident.PermissiveLID:
		return here, true
	case d.nodes[here.at.Node].sw == nil:
		return arrival{}, false
	}
	return d.routeLID(subnet.PortRef{Node: here.at.Node, Port: here.in}, lid, true)
}
