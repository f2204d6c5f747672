package simdev

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// maxRouteHops ends the walk of a LID through tables that form a loop.
const maxRouteHops = 64

// arrival is where a message ends: the node, the port it came in by, and the port that is
// addressed (a switch's port 0 takes what comes in by any port).
type arrival struct {
	at subnet.PortRef // the addressed end port
	in ident.PortNum  // the port of entry
}

// routeLID follows a LID from a port through the forwarding tables. Subnet management
// packets cross links that are at least in INIT, everything else only active ones.
func (d *Devices) routeLID(from subnet.PortRef, dlid ident.LID, smp bool) (arrival, bool) {
	if dlid == 0 || !dlid.IsUnicast() {
		return arrival{}, false
	}
	here := from
	if d.owns(d.manager(from), dlid) {
		return arrival{d.manager(from), from.Port}, true
	}
	if d.nodes[from.Node].sw == nil { // a CA has one way out
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

// cross goes over the link of a port.
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

// countReturn counts the response on the links that the request took, the other way.
func (d *Devices) countReturn() {
	for _, out := range d.hops {
		if peer, ok := d.topo.Peer(out); ok {
			d.net.CountMAD(peer.Node, peer.Port, false)
			d.net.CountMAD(out.Node, out.Port, true)
		}
	}
}

// routeDirected follows a request with a directed part and records the return path: byte i is the port of entry at hop
// i, byte 0 the sender's own port. Only switches pass packets on. A part by LID may come before the directed one, when
// DrSLID is the sender's LID and not permissive, to the node of the packet's destination LID; and another behind it, to
// DrDLID (IBTA vol. 1, 14.2.2).
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
			return arrival{}, false // the response would go to another node
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

// lastPart follows the part by LID behind a directed one; the permissive LID is none. It begins at a switch.
func (d *Devices) lastPart(here arrival, lid ident.LID) (arrival, bool) {
	switch {
	case lid == ident.PermissiveLID:
		return here, true
	case d.nodes[here.at.Node].sw == nil:
		return arrival{}, false
	}
	return d.routeLID(subnet.PortRef{Node: here.at.Node, Port: here.in}, lid, true)
}
