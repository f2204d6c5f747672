package ether

import (
	"math"
	"math/bits"

	"fairlane/internal/quantity"
)

// port is one end of a link: what it transmits, and what it knows of the traffic it receives.
type port struct {
	freeAt    quantity.Picoseconds // the transmitter is busy until then
	freeOrd   uint64               // place of that instant in the sequence of events
	psPerByte quantity.Picoseconds // exact, or 0 when the rate does not divide
	delay     quantity.Picoseconds
	tx        uint64 // bytes put on the link
	queued    int64  // bytes in the queues of a switch port
	pipe      list   // packets on the link
	control   list   // PFC frames, before everything else
	peer      int32
	sw        int32 // switch, or none
	host      int32 // host, or none
	ready     uint8 // classes with packets
	paused    uint8 // classes that the far end paused
	armed     bool  // an event at freeAt looks for more to send
	haul      bool  // a link between DCI switches
	down      bool  // the link is cut; all classes are paused then
	torn      bool  // the link was ever cut
	pfc       uint8 // classes whose pauses it asks for and obeys
	codes     int32 // 1 + its place in maps, or 0

	rate      quantity.BitRate
	node      int32
	num       int32
	coin      uint64 // marking coins drawn
	stats     PortStats
	lost      uint64                           // packets that were on the link when it was cut
	lostLoad  uint64                           // and their bytes
	frames    uint64                           // PFC frames made, of both kinds
	stopped   [MaxClasses]quantity.Picoseconds // since when a class is paused
	held      [MaxClasses]quantity.Picoseconds // how long classes were paused, up to the last resume
	deficits  [MaxClasses]int32
	weights   [MaxClasses]uint8
	strict    uint8 // classes that go before those with weights
	highFirst bool  // among them, higher numbers before lower
	turn      uint8 // class whose turn it is among those with weights
}

// queue is what one switch port holds of one class, its marking rule, and what it has counted.
type queue struct {
	list
	bytes  int64
	kmin   int64
	kmax   int64
	octets uint64 // sent
	frames uint64 // sent
	peak   int64
	pmax   float64
	marks  uint64
	drops  uint64
	gone   uint64 // bytes of those
}

// PortStats are totals of one port.
type PortStats struct {
	TxBytes    uint64 // put on the link, all packets
	TxPackets  uint64 // data packets put on the link
	Marks      uint64 // ECN marks set
	Drops      uint64 // packets that found no room after arriving here
	Pauses     uint64 // PFC pause frames sent by this port
	PausedTime quantity.Picoseconds
	PeakQueue  int64 // bytes
}

// onLink returns how long a packet of some bytes takes on the link.
func (n *Network) onLink(p *port, wire int) quantity.Picoseconds {
	if n.fixed {
		return fixedPoint(wire, float64(p.rate))
	}
	return n.serialize(p, wire)
}

// serialize returns the same by whole numbers. The base round trip is made of it: ns-3 has no fixed point there.
func (n *Network) serialize(p *port, wire int) quantity.Picoseconds {
	t := p.psPerByte * quantity.Picoseconds(wire)
	if p.psPerByte == 0 {
		t = transmission(wire, p.rate)
	}
	if n.truncate {
		t -= t % quantity.Nanosecond
	}
	return t
}

// transmission returns wire bytes at a rate, rounded down to a picosecond.
func transmission(wire int, rate quantity.BitRate) quantity.Picoseconds {
	hi, lo := bits.Mul64(uint64(wire), 8_000_000_000_000)
	if hi >= uint64(rate) {
		return quantity.Second
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return quantity.Picoseconds(q)
}

// longestGap is a pacing gap of 1,000 hours: so slow a flow may as well not send.
const longestGap = 3.6e18

// gap returns the pacing gap of a packet at a rate in bit/s.
func (n *Network) gap(wire int, rate float64) quantity.Picoseconds {
	if n.fixed {
		return fixedPoint(wire, rate)
	}
	t := quantity.Picoseconds(min(float64(wire)*8e12/rate, longestGap))
	if n.truncate {
		t -= t % quantity.Nanosecond
	}
	return t
}

// fixedPoint returns wire bytes at a rate in whole nanoseconds by the arithmetic of ns-3 (Config.FixedPoint).
func fixedPoint(wire int, rate float64) quantity.Picoseconds {
	whole, part := math.Modf(min(float64(wire)*8/rate, longestGap/1e12))
	ns, _ := bits.Mul64(uint64(part*0x1p64), 1e9)
	return quantity.Picoseconds(whole)*quantity.Second + quantity.Picoseconds(ns)*quantity.Nanosecond
}

// start puts a packet on the link of an idle port.
func (n *Network) start(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	now := n.eng.Now()
	p.freeAt = now + n.onLink(p, int(k.wire))
	k.at = p.freeAt + p.delay
	p.freeOrd = n.eng.Reserve()
	p.tx += uint64(k.wire)
	if k.kind == kindData {
		p.stats.TxPackets++
	}
	if n.part != nil && n.part.cut[pi] >= 0 {
		n.post(pi, n.part.cut[pi], pk)
		return
	}
	n.launch(pi, p, pk)
}

// launch puts a packet that will arrive at k.at behind the others on a link.
func (n *Network) launch(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	place := n.eng.Reserve()
	k.in = int32(uint32(place))
	if p.pipe.tail == none {
		n.eng.ScheduleReserved(k.at, place, evArrive, pi, 0)
	}
	p.pipe.push(&n.pool, pk)
}

// kick makes a port look for something to send: now if it is idle, else when it becomes idle.
func (n *Network) kick(pi int32, p *port) {
	if p.armed {
		return
	}
	if !n.eng.Passed(p.freeAt, p.freeOrd) {
		p.armed = true
		n.eng.ScheduleReserved(p.freeAt, p.freeOrd, evFree, pi, 0)
		return
	}
	n.transmit(pi, p)
}

// transmit starts the next packet of an idle port, and arms the port if more may follow.
func (n *Network) transmit(pi int32, p *port) {
	switch {
	case !p.control.empty():
		n.start(pi, p, p.control.pop(&n.pool))
	case p.host != none:
		if !n.sendHost(pi, p) {
			return
		}
	default:
		cls := n.choose(pi, p)
		if cls < 0 {
			return
		}
		n.forward(pi, p, cls)
	}
	if !p.armed && n.wants(p) {
		p.armed = true
		n.eng.ScheduleReserved(p.freeAt, p.freeOrd, evFree, pi, 0)
	}
}

// wants reports whether the port has something that it may send once it is free.
func (n *Network) wants(p *port) bool {
	if !p.control.empty() || p.ready&^p.paused != 0 {
		return true
	}
	return p.host != none && n.hosts[p.host].wants(n, p)
}

// choose returns the class whose turn it is on a switch port, or -1.
func (n *Network) choose(pi int32, p *port) int {
	able := p.ready &^ p.paused
	if able&(able-1) != 0 {
		return n.arbitrate(p, able, n.heads(pi, able))
	}
	if able == 0 {
		return -1
	}
	return bits.TrailingZeros8(able)
}

// heads returns the size of the first packet of each class of a switch port.
func (n *Network) heads(pi int32, able uint8) (size [MaxClasses]int32) {
	for c := range n.classes {
		if able>>c&1 != 0 {
			size[c] = int32(n.pool.at(n.queues[int(pi)*n.classes+c].head).wire)
		}
	}
	return size
}

// arbitrate chooses among several classes: strict ones first, in the order of their numbers, then
// deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).
func (n *Network) arbitrate(p *port, able uint8, size [MaxClasses]int32) int {
	if s := able & p.strict; s != 0 {
		if p.highFirst {
			return bits.Len8(s) - 1
		}
		return bits.TrailingZeros8(s)
	}
	for {
		c := p.turn
		if able>>c&1 != 0 && p.deficits[c] >= size[c] {
			p.deficits[c] -= size[c]
			return int(c)
		}
		if able>>c&1 == 0 {
			p.deficits[c] = 0
		}
		p.turn = (c + 1) % uint8(n.classes)
		if able>>p.turn&1 != 0 {
			p.deficits[p.turn] += int32(p.weights[p.turn]) * n.quantum
		}
	}
}

// arrive takes the packet at the head of a link into the node at the far end.
func (n *Network) arrive(pi int32) {
	p := &n.ports[pi]
	if p.torn && !n.due(p) {
		return
	}
	pk := p.pipe.pop(&n.pool)
	if p.pipe.head != none {
		k := n.pool.at(p.pipe.head)
		n.eng.ScheduleReserved(k.at, n.eng.Place(uint32(k.in)), evArrive, pi, 0)
	}
	far := &n.ports[p.peer]
	k := n.pool.at(pk)
	switch {
	case k.kind >= kindPause:
		n.flowControl(p.peer, far, pk)
	case far.sw != none:
		if k.kind == kindData {
			n.hops++
		}
		n.admit(p.peer, far, pk)
	default:
		if k.kind == kindData {
			n.hops++
		}
		n.receive(far, pk)
	}
}
