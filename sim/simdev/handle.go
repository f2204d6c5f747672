package simdev

import (
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Handle processes one message from a client attached to port from: it finds the destination agent and executes the request. It
// changes the message in place; the verdict describes the result. A message from a port that does not exist is dropped. Handle
// never fails.
func (d *Devices) Handle(from subnet.PortRef, m *Message) Verdict {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.handle(from, m, false)
}

// handle is Handle for callers that hold the lock. Private messages have no injected faults.
func (d *Devices) handle(from subnet.PortRef, m *Message, private bool) Verdict {
	if !d.topo.Valid(from) {
		return Verdict{}
	}
	p := &m.MAD
	d.hops = d.hops[:0]
	directed := p.Class() == mad.ClassSubnDR
	if directed && p.Direction() != p.IsResponse() {
		return Verdict{}
	}
	if m.SLID == 0 && !directed {
		m.SLID, _ = d.net.LID(d.manager(from).Node, d.manager(from).Port)
	}
	if p.IsResponse() {
		return d.passResponse(from, m)
	}
	to, ok := d.route(from, m, directed)
	if !ok {
		return Verdict{Outcome: Undeliverable}
	}
	return d.serve(to, m, private)
}

func (d *Devices) route(from subnet.PortRef, m *Message, directed bool) (arrival, bool) {
	if directed {
		return d.routeDirected(from, m)
	}
	return d.routeLID(from, m.DLID, m.MAD.Class().IsSMP())
}

// passResponse delivers a client's response to its destination port. Class 0x21 never passes between clients, with any
// method: a subnet manager crashes on an unsolicited message of this class. The agents do not repeat traps, so a TrapRepress
// has no effect for them. A subnet manager sends a trap when it has a higher priority than the master, and waits for the
// TrapRepress.
func (d *Devices) passResponse(from subnet.PortRef, m *Message) Verdict {
	p := &m.MAD
	if p.Class() == mad.ClassCongestion {
		return Verdict{}
	}
	var to arrival
	var ok bool
	if p.Class() == mad.ClassSubnDR {
		to, ok = d.routeBack(from, m)
	} else {
		to, ok = d.routeLID(from, m.DLID, p.Class().IsSMP())
	}
	if !ok || p.Method() == mad.MethodTrapRepress && !d.sms[to.at] {
		return Verdict{}
	}
	return Verdict{Outcome: Forwarded, To: to.at}
}

// routeBack follows the return path of a client's directed-route response. If the request had LID-routed parts, the response
// has them in reverse order.
func (d *Devices) routeBack(from subnet.PortRef, m *Message) (arrival, bool) {
	p := &m.MAD
	if int(p.HopCount()) > mad.MaxHops {
		return arrival{}, false
	}
	here, back := arrival{d.manager(from), from.Port}, p.ReturnPath()
	if p.DrDLID() != ident.PermissiveLID {
		var ok bool
		if here, ok = d.routeLID(from, m.DLID, true); !ok || d.nodes[here.at.Node].sw == nil {
			return arrival{}, false
		}
	}
	for i := int(p.HopCount()); i >= 1; i-- {
		next, ok := d.cross(subnet.PortRef{Node: here.at.Node, Port: ident.PortNum(back[i])}, true)
		if !ok {
			return arrival{}, false
		}
		here = arrival{d.manager(next), next.Port}
	}
	return d.lastPart(here, p.DrSLID())
}

// serve passes the message to the agent, or to the subnet manager, at the end of the route.
func (d *Devices) serve(to arrival, m *Message, private bool) Verdict {
	c := m.MAD.Class()
	if d.forwards(to, &m.MAD) {
		if d.sms[to.at] && c != mad.ClassCongestion {
			return Verdict{Outcome: Forwarded, To: to.at}
		}
		return Verdict{Outcome: Undeliverable}
	}
	if !private {
		lost, busy := d.fault.before(to.at.Node, c)
		if lost {
			return Verdict{}
		}
		if busy {
			d.respond(m, mad.StatusBusy)
			return Verdict{Outcome: Replied}
		}
	}
	status, silent := d.act(to, m)
	if silent {
		return Verdict{Outcome: Undeliverable}
	}
	d.respond(m, status)
	v := Verdict{Outcome: Replied}
	if !private {
		lost, delay := d.fault.after(to.at.Node, c)
		if lost {
			return Verdict{}
		}
		v.Delay = delay
	}
	return v
}

// forwards reports whether the message is for a subnet manager's process instead of an agent: SMInfo, traps and reports, and
// subnet administration while any subnet manager is attached.
func (d *Devices) forwards(to arrival, p *mad.Packet) bool {
	switch c := p.Class(); {
	case c.IsSMP():
		return p.Attr() == mad.AttrSMInfo || p.Method() == mad.MethodTrap
	case c == mad.ClassSubnAdm:
		return len(d.sms) > 0 || to.at != d.home
	default:
		return p.Method() == mad.MethodTrap || p.Method() == mad.MethodReport
	}
}

func (d *Devices) respond(m *Message, s mad.Status) {
	d.countReturn()
	m.MAD.Respond(s)
	m.turn()
}

// act checks versions and method (IBTA vol. 1, 13.4.7) and calls the agent of the class. A silent agent sends no answer, for
// example after a key violation.
func (d *Devices) act(to arrival, m *Message) (s mad.Status, silent bool) {
	p := &m.MAD
	c := p.Class()
	known := c.IsSMP() || c == mad.ClassPerf || c == mad.ClassCongestion || c == mad.ClassSubnAdm
	if !known || p.BaseVersion() != mad.BaseVersion || p.ClassVersion() != c.Version() {
		return mad.StatusBadVersion, false
	}
	get, set := p.Method() == mad.MethodGet, p.Method() == mad.MethodSet
	if c == mad.ClassSubnAdm {
		return d.actSA(m), false
	}
	if !get && !set {
		return mad.StatusBadMethod, false
	}
	if d.fault.unanswered(to.at.Node, c, p.Attr()) {
		return 0, true
	}
	switch c {
	case mad.ClassPerf:
		return d.actPM(to, p), false
	case mad.ClassCongestion:
		return d.actCC(to, m)
	default:
		return d.actSM(to, p)
	}
}

// done converts an encoding error to a status. Agents only encode values they have checked, so an error means that a value of
// the topology cannot be encoded.
func done(err error) mad.Status {
	if err != nil {
		return mad.StatusInvalidAttrValue
	}
	return mad.StatusOK
}
