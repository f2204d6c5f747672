package ether

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// The class of a packet may follow from the code (DSCP) that it carries end to end, as in real devices: each host uses its own
// map, and each switch the map of the ingress port. All maps may change between two calls of RunUntil. A packet in a switch
// keeps its class.

// Codes is the number of codes.
const Codes = 64

// CodeMap maps codes to classes.
type CodeMap [Codes]uint8

// Service is the scheduling of a port's classes.
type Service struct {
	Strict    uint8             // classes served before all others, by bit
	HighFirst bool              // strict classes: higher numbers before lower; otherwise lower before higher
	Weights   [MaxClasses]uint8 // weights of the other classes for deficit round robin, 1 to 255; 0 means 1
}

// SetMap sets the map from codes to classes, for packets that a host sends by a port, or that a switch receives on it; nil
// keeps the packets' class. Ready flows of the host change their class immediately. SetMap returns an error for a port without
// a link and for a class that the fabric does not have.
func (n *Network) SetMap(at subnet.PortRef, m *CodeMap) error {
	pi, err := n.linked(at)
	if err != nil {
		return err
	}
	p := &n.ports[pi]
	if m == nil {
		p.codes = 0
		return nil
	}
	for code, cls := range m {
		if int(cls) >= n.classes {
			return fmt.Errorf("class %d of code %d: want 0 to %d", cls, code, n.classes-1)
		}
	}
	if p.codes == 0 {
		n.maps = append(n.maps, CodeMap{})
		p.codes = int32(len(n.maps))
	}
	n.maps[p.codes-1] = *m
	if p.host == none {
		return nil
	}
	for slot := range n.slots {
		if f := n.flow(slot); f.src == p.host && f.state != stateFree && f.state != stateRemote {
			n.reclass(slot, f)
		}
	}
	return nil
}

// SetCode changes the code of a flow's packets and acknowledgements, including those already in the fabric.
func (n *Network) SetCode(r FlowRef, code uint8) error {
	f, err := n.lookup(r)
	if err != nil {
		return err
	}
	if code >= Codes {
		return fmt.Errorf("code %d: want 0 to %d", code, Codes-1)
	}
	n.info(r.slot).code = code
	n.reclass(r.slot, f)
	return nil
}

// SetNotificationCode changes the code of the notification packets that a host sends.
func (n *Network) SetNotificationCode(host int32, code uint8) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	if code >= Codes {
		return fmt.Errorf("code %d: want 0 to %d", code, Codes-1)
	}
	n.hosts[host].cnpCode = code
	return nil
}

// SetService changes the scheduling of a port's classes.
func (n *Network) SetService(at subnet.PortRef, s Service) error {
	pi, err := n.linked(at)
	if err != nil {
		return err
	}
	p := &n.ports[pi]
	p.strict, p.highFirst = s.Strict, s.HighFirst
	for c, w := range s.Weights {
		p.weights[c] = max(1, w)
	}
	return nil
}

// SetPFC sets the classes, by bit, for which a port sends and obeys pauses; initially all. The buffer division of lossless
// classes does not change: without pauses, packets are lost when threshold and headroom are full. A paused far end is
// resumed. A port that obeys pauses again also gets the current pauses of the far end, because real ports repeat their
// frames. A flow that loses its last packets continues only with Recovery.Timeout.
func (n *Network) SetPFC(at subnet.PortRef, classes uint8) error {
	pi, err := n.linked(at)
	if err != nil {
		return err
	}
	p := &n.ports[pi]
	off, on := p.pfc&^classes, classes&^p.pfc
	p.pfc = classes
	n.resends = n.resends || off != 0
	if p.down {
		return nil
	}
	for c := range n.classes {
		if on>>c&1 != 0 && n.ingress[int(p.peer)*n.classes+c].paused {
			n.sendPFC(p.peer, uint8(c), kindPause)
		}
		if off>>c&1 == 0 {
			continue
		}
		if in := &n.ingress[int(pi)*n.classes+c]; in.paused {
			in.paused = false
			n.sendPFC(pi, uint8(c), kindResume)
		}
		p.release(uint8(c), n.eng.Now())
	}
	n.kick(pi, p)
	return nil
}

// release ends the pause of a class, if there is one.
func (p *port) release(cls uint8, now quantity.Picoseconds) bool {
	bit := uint8(1) << cls
	if p.paused&bit == 0 {
		return false
	}
	p.paused &^= bit
	p.held[cls] += now - p.stopped[cls]
	return true
}

// reclass gives a flow the class of its code at its host, and moves it to the turn queue of that class.
func (n *Network) reclass(slot int32, f *flow) {
	cls := n.classOf(f.src, n.info(slot).code, f.cls)
	if cls == f.cls {
		return
	}
	if f.state != stateReady {
		f.cls = cls
		return
	}
	n.leaveTurn(slot, f)
	f.cls = cls
	n.pushTurn(slot, f)
	pi := n.hosts[f.src].port
	n.kick(pi, &n.ports[pi])
}

// leaveTurn removes a ready flow from its turn queue.
func (n *Network) leaveTurn(slot int32, f *flow) {
	h := &n.hosts[f.src]
	t := &n.turns[int(f.src)*n.classes+int(f.cls)]
	if h.shares != nil {
		t = &n.functions[n.ends[slot].function].turns[f.cls]
	}
	before := none
	for at := t.head; at != slot; at = n.flow(at).next2 {
		before = at
	}
	if before == none {
		t.head = f.next2
	} else {
		n.flow(before).next2 = f.next2
	}
	if t.tail == slot {
		t.tail = before
	}
	switch {
	case t.head != none:
	case h.shares == nil:
		h.flowsReady &^= 1 << f.cls
	default:
		n.functions[n.ends[slot].function].ready &^= 1 << f.cls
		if h.shares.waiting[f.cls]--; h.shares.waiting[f.cls] == 0 {
			h.flowsReady &^= 1 << f.cls
		}
	}
}

// classOf returns the class of a host's packets with a code; without a map it is cls.
func (n *Network) classOf(host int32, code, cls uint8) uint8 {
	if at := n.ports[n.hosts[host].port].codes; at > 0 {
		return n.maps[at-1][code]
	}
	return cls
}

// sort sets the class of a packet that a switch receives on a port with a map.
func (n *Network) sort(p *port, k *packet) {
	if k.flow == none {
		return
	}
	code := n.info(k.flow).code
	if k.kind == kindCNP {
		code = n.hosts[n.flow(k.flow).dst].cnpCode
	}
	k.cls = n.maps[p.codes-1][code]
}

// countClass counts a packet that a host is about to send, by class.
func (n *Network) countClass(pi int32, k *packet) {
	q := &n.queues[int(pi)*n.classes+int(k.cls)]
	q.octets += uint64(k.wire)
	q.frames++
}
