package ether

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// Classes of packets may follow from codes (DSCPs) that they carry from end to end, as real devices make them: each
// host by its map, and each switch anew by the map of the port that a packet comes in by. All of it may change
// between two calls of RunUntil. A packet that a switch holds stays in the class in which it came.

// Codes is the number of codes.
const Codes = 64

// CodeMap gives the class of packets by their code.
type CodeMap [Codes]uint8

// Service is the order in which a port sends its classes.
type Service struct {
	Strict    uint8             // classes that go before all others, by bit
	HighFirst bool              // among those, higher numbers before lower; otherwise lower before higher
	Weights   [MaxClasses]uint8 // of deficit round robin among the others, 1 to 255; 0 is 1
}

// SetMap makes the class of what a host sends by a port, or of what a switch takes in by it, follow from the code;
// nil leaves packets the class that they have. Flows of the host that wait for their turn change over at once. It fails for a port without a link and
// for a class that the fabric does not have.
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

// SetCode changes the code of a flow's packets, its acknowledgements included, those on their way as well.
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

// SetService changes the order in which a port sends its classes.
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

// SetPFC says for which classes a port asks the far end to pause and obeys when that asks, by bit; a new network does so
// for all. The memory of lossless classes stays divided as it is: what arrives without a pause when threshold and
// headroom are full is lost. Where the far end was told to pause it is told to go on, and a port that obeys again hears
// again what the far end asks for, as real ports repeat their frames. A flow whose last packets are lost goes on only
// with Recovery.Timeout.
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
			n.tell(p.peer, uint8(c), kindPause)
		}
		if off>>c&1 == 0 {
			continue
		}
		if in := &n.ingress[int(pi)*n.classes+c]; in.paused {
			in.paused = false
			n.tell(pi, uint8(c), kindResume)
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

// reclass gives a flow the class that its code has at its host, and its place in the line of that.
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

// leaveTurn takes a ready flow out of its line.
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

// classOf returns the class of what a host sends with a code; without a map it is cls.
func (n *Network) classOf(host int32, code, cls uint8) uint8 {
	if at := n.ports[n.hosts[host].port].codes; at > 0 {
		return n.maps[at-1][code]
	}
	return cls
}

// sort gives a packet that a switch takes in by a port with a map its class there.
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

// countClass counts a packet that a host is about to send in its class.
func (n *Network) countClass(pi int32, k *packet) {
	q := &n.queues[int(pi)*n.classes+int(k.cls)]
	q.octets += uint64(k.wire)
	q.frames++
}
