package fabric

import "fairlane/subnet/ident"

// none is the null index in lists and tables.
const none int32 = -1

// Flags of a packet.
const (
	flagFECN uint8 = 1 << iota
	flagBECN
	flagAck // an acknowledgement or CNP, returning to the source
	flagCNP
)

// packet is one packet in the fabric. All packets are in one slice and are identified by their index; next links the packets of
// one queue, or the free packets.
type packet struct {
	next       int32
	qp         int32 // queue pair that sends the data
	slid, dlid ident.LID
	size       uint16 // bytes on the wire
	payload    uint16
	blocks     uint8 // credits that the packet needs
	sl         ident.SL
	vl         ident.VL // lane of its current or last link
	flags      uint8
}

// pool holds all packets. It grows to the largest number of packets that are in the fabric at once, which the buffers limit.
// Then it does not allocate.
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

// list is a FIFO queue of packets or of queue pairs, linked through their next fields. Create it with emptyList.
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
