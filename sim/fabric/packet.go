package fabric

import "fairlane/subnet/ident"

// none is the index that names nothing, in lists and tables.
const none int32 = -1

// Flags of a packet.
const (
	flagFECN uint8 = 1 << iota
	flagBECN
	flagAck // an acknowledgement or CNP, on its way back to the source
	flagCNP
)

// packet is one packet somewhere in the fabric. Packets live in one slice and are named by
// their index; next links those of one queue, or the free ones.
type packet struct {
	next       int32
	qp         int32 // queue pair, of the data direction
	slid, dlid ident.LID
	size       uint16 // bytes on the wire
	payload    uint16
	blocks     uint8 // credits it takes
	sl         ident.SL
	vl         ident.VL // lane of the link it travels or last travelled
	flags      uint8
}

// pool holds all packets. It grows to the most that were ever in the fabric at once, which
// the buffers bound, and then allocates no more.
type pool struct {
	all  []packet
	free int32
	used int
}

func (p *pool) get() int32 {
	p.used++
	if p.free != none {
		i := p.free
		p.free = p.all[i].next
		return i
	}
	p.all = append(p.all, packet{})
	return int32(len(p.all) - 1)
}

func (p *pool) put(i int32) {
	p.used--
	p.all[i].next = p.free
	p.free = i
}

// list is a first-in-first-out queue of packets or of queue pairs, linked through them.
// Make it with emptyList.
type list struct{ head, tail int32 }

func emptyList() list { return list{none, none} }

func (l *list) empty() bool { return l.head == none }

func (l *list) pushPacket(all []packet, i int32) {
	all[i].next = none
	if l.head == none {
		l.head = i
	} else {
		all[l.tail].next = i
	}
	l.tail = i
}

func (l *list) popPacket(all []packet) int32 {
	i := l.head
	l.head = all[i].next
	return i
}

func (l *list) pushQP(all []qp, i int32) {
	all[i].next = none
	if l.head == none {
		l.head = i
	} else {
		all[l.tail].next = i
	}
	l.tail = i
}

func (l *list) popQP(all []qp) int32 {
	i := l.head
	l.head = all[i].next
	return i
}

func blocksFor(size int) uint8 { return uint8((size + CreditBlock - 1) / CreditBlock) }
