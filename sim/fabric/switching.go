package fabric

import (
	"math/bits"

	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// swtch is one switch: its tables, and its input buffers as queues by (lane, input, output).
type swtch struct {
	node  int32
	ports int // including port 0
	lft   []ident.PortNum
	sl2vl [][ident.NumSLs]ident.VL // index in·ports + out; nil while every SL uses VL 0
	// queues[vl] is created with the first packet for that output lane.
	queues [ident.NumVLs][]list

	settings switchCC
	log      switchLog
}

func (s *swtch) queue(vl, in, out int) *list { return &s.queues[vl][in*s.ports+out] }

func (s *swtch) makeQueues(vl int) {
	q := make([]list, s.ports*s.ports)
	for i := range q {
		q[i] = emptyList()
	}
	s.queues[vl] = q
}

// switchOf returns the switch of a node, or nil.
func (n *Network) switchOf(node int32) *swtch {
	if node < 0 || int(node) >= len(n.swOf) || n.swOf[node] == none {
		return nil
	}
	return &n.switches[n.swOf[node]]
}

// nextInput returns the first input after the one served last that has a packet for the lane.
func nextInput(l *lane) int16 {
	start := int(l.last) + 1
	w := start >> 6 & 3
	if m := l.inputs[w] &^ (1<<(start&63) - 1); m != 0 && start < 256 {
		return int16(w<<6 + bits.TrailingZeros64(m))
	}
	for i := 1; i <= 4; i++ {
		v := (w + i) & 3
		if l.inputs[v] != 0 {
			return int16(v<<6 + bits.TrailingZeros64(l.inputs[v]))
		}
	}
	return -1
}

// forward queues a packet that entered a switch for its output, or discards it.
func (n *Network) forward(p *port, pk int32) {
	s := &n.switches[p.sw]
	k := &n.pool.all[pk]
	p.lanes[k.vl].buffered += int32(k.blocks)
	out := ident.DropPort
	if int(k.dlid) < len(s.lft) {
		out = s.lft[k.dlid]
	}
	if out == 0 || int(out) >= s.ports || out == p.num {
		n.refuse(p, p, pk)
		return
	}
	oi := n.first[s.node] + int32(out)
	o := &n.ports[oi]
	vl := 0
	if s.sl2vl != nil {
		vl = int(s.sl2vl[int(p.num)*s.ports+int(out)][k.sl])
	}
	if !o.carries || !o.usable(ident.VL(vl)) {
		n.refuse(p, o, pk)
		return
	}
	if s.queues[vl] == nil {
		s.makeQueues(vl)
	}
	s.queue(vl, int(p.num), int(out)).pushPacket(n.pool.all, pk)
	l := &o.lanes[vl]
	if n.congested(o, l) && n.cfg.MarkAt == MarkOnArrival {
		n.mark(o, l, pk)
	}
	l.inputs[p.num>>6] |= 1 << (p.num & 63)
	l.held += int32(k.size)
	o.tally.peakQueued = max(o.tally.peakQueued, l.held)
	if l.held > l.markAbove && l.congSince < 0 {
		l.congSince = n.eng.Now()
	}
	o.pending |= 1 << vl
	n.transmit(oi)
}

// refuse discards a packet that entered through in, and counts it at port at.
func (n *Network) refuse(in, at *port, pk int32) {
	k := &n.pool.all[pk]
	in.lanes[k.vl].buffered -= int32(k.blocks)
	n.returnCredit(in, k.vl, int32(k.blocks), n.eng.Now())
	n.discard(at, pk)
}

// takeSwitch takes the packet of the input that choose selected, marks it if the marking interval has ended, and frees its
// buffer.
func (n *Network) takeSwitch(p *port, vl int) int32 {
	l := &p.lanes[vl]
	in := int(l.pick)
	if n.congested(p, l) && n.cfg.MarkAt == MarkOnDeparture {
		n.mark(p, l, n.switches[p.sw].queue(vl, in, int(p.num)).head)
	}
	pk := n.dequeue(p, vl)
	k := &n.pool.all[pk]
	n.releaseInput(p, in, k, n.eng.Now()+p.txTime(int(k.size)))
	k.vl = ident.VL(vl)
	return pk
}

// dequeue removes the selected packet of an output lane.
func (n *Network) dequeue(p *port, vl int) int32 {
	l := &p.lanes[vl]
	q := n.switches[p.sw].queue(vl, int(l.pick), int(p.num))
	pk := q.popPacket(n.pool.all)
	l.last = l.pick
	l.held -= int32(n.pool.all[pk].size)
	if l.held <= l.markAbove && l.congSince >= 0 {
		l.congested += n.eng.Now() - l.congSince
		l.congSince = -1
	}
	if q.empty() {
		l.inputs[l.pick>>6] &^= 1 << (l.pick & 63)
		if l.inputs == ([4]uint64{}) {
			p.pending &^= 1 << vl
		}
	}
	return pk
}

// releaseInput frees the buffer of a packet that entered the switch of output o through input number in; freed is the time at
// which its last byte leaves.
func (n *Network) releaseInput(o *port, in int, k *packet, freed quantity.Picoseconds) {
	ip := &n.ports[n.first[o.node]+int32(in)]
	ip.lanes[k.vl].buffered -= int32(k.blocks)
	n.returnCredit(ip, k.vl, int32(k.blocks), freed)
}
