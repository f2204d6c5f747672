package ether

import (
	"math"
	"math/bits"

	"fairlane/internal/quantity"
)

// port is one end of a link: its transmitter and its receive state.
type port struct {
	freeAt       quantity.Picoseconds // the transmitter is busy until this time
	freeOrd      uint64               // sequence number of this instant among the events
	psPerByte    quantity.Picoseconds // exact, or 0 if not a whole number
	delay        quantity.Picoseconds
	tx           uint64 // bytes sent on the link
	queued       int64  // bytes in the queues of a switch port
	pipe         list   // packets on the link to the far end
	control      list   // PFC frames, sent before all other packets
	peer         int32
	sw           int32 // switch, or none
	host         int32 // host, or none
	ready        uint8 // classes with packets
	paused       uint8 // classes that the far end paused
	armed        bool  // an event at freeAt checks for more packets to send
	haul         bool  // a link between DCI switches
	down         bool  // the link is disconnected; all classes are then paused
	disconnected bool  // the link was ever disconnected
	pfc          uint8 // classes for which the port sends and obeys pauses
	codes        int32 // 1 + index into maps, or 0

	rate      quantity.BitRate
	node      int32
	num       int32
	markDraws uint64 // number of random draws of marking
	stats     PortStats
	lost      uint64                           // packets on the link when it was disconnected
	lostLoad  uint64                           // bytes of these packets
	frames    uint64                           // PFC frames sent, pause and resume
	stopped   [MaxClasses]quantity.Picoseconds // start of the current pause, by class
	held      [MaxClasses]quantity.Picoseconds // paused time up to the last resume, by class
	deficits  [MaxClasses]int32
	weights   [MaxClasses]uint8
	strict    uint8 // classes served before the classes with weights, by bit
	highFirst bool  // strict classes: higher numbers before lower
	turn      uint8 // class next in turn among those with weights
}

// queue is the queue of one class of a switch port, with its marking rule and its counters.
type queue struct {
	list
	bytes  int64
	kmin   int64
	kmax   int64
	octets uint64 // bytes sent
	frames uint64 // packets sent
	peak   int64
	pmax   float64
	marks  uint64
	drops  uint64
	gone   uint64 // payload bytes of dropped packets
}

// PortStats are totals of one port.
type PortStats struct {
	TxBytes    uint64 // all packets sent on the link
	TxPackets  uint64 // data packets sent on the link
	Marks      uint64 // ECN marks set
	Drops      uint64 // packets received here and dropped for lack of buffer
	Pauses     uint64 // PFC pause frames sent by this port
	PausedTime quantity.Picoseconds
	PeakQueue  int64 // bytes
}

// onLink returns the serialization time of a packet on the link.
func (n *Network) onLink(p *port, wire int) quantity.Picoseconds {
	if n.fixed {
		return fixedPoint(wire, float64(p.rate))
	}
	return n.serialize(p, wire)
}

// serialize returns the serialization time in integer arithmetic. The base round trip time uses it, because ns-3 does not use
// fixed point for it.
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

// transmission returns the time of wire bytes at a rate, rounded down to a picosecond.
func transmission(wire int, rate quantity.BitRate) quantity.Picoseconds {
	hi, lo := bits.Mul64(uint64(wire), 8_000_000_000_000)
	if hi >= uint64(rate) {
		return quantity.Second
	}
	q, _ := bits.Div64(hi, lo, uint64(rate))
	return quantity.Picoseconds(q)
}

// longestGap is a pacing gap of 1,000 hours, in effect no sending at all.
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

// fixedPoint returns the time of wire bytes at a rate in whole nanoseconds, with the arithmetic of ns-3 (Config.FixedPoint).
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

// launch appends a packet that arrives at k.at to a link.
func (n *Network) launch(pi int32, p *port, pk int32) {
	k := n.pool.at(pk)
	place := n.eng.Reserve()
	k.in = int32(uint32(place))
	if p.pipe.tail == none {
		n.eng.ScheduleReserved(k.at, place, evArrive, pi, 0)
	}
	p.pipe.push(&n.pool, pk)
}

// kick makes a port check for packets to send: now if it is idle, otherwise when it becomes idle.
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

// transmit starts the next packet of an idle port, and schedules the next check if more packets may follow.
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
	if !p.armed && n.canSend(p) {
		p.armed = true
		n.eng.ScheduleReserved(p.freeAt, p.freeOrd, evFree, pi, 0)
	}
}

// canSend reports whether the port has a packet that it may send when it becomes free.
func (n *Network) canSend(p *port) bool {
	if !p.control.empty() || p.ready&^p.paused != 0 {
		return true
	}
	return p.host != none && n.hosts[p.host].canSend(n, p)
}

// choose returns the class next in turn on a switch port, or -1.
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

// arbitrate selects among several classes: first strict classes, in the order of their numbers, then deficit round robin
// (Shreedhar and Varghese, SIGCOMM 1995).
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

// arrive moves the packet at the head of a link into the node at the far end.
func (n *Network) arrive(pi int32) {
	p := &n.ports[pi]
	if p.disconnected && !n.due(p) {
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
