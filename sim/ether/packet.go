package ether

import "fairlane/internal/quantity"

const none int32 = -1

// Kinds of packets.
const (
	kindData uint8 = iota
	kindAck
	kindNack
	kindCNP
	kindFCNP
	kindNotice // between DCI switches: the suitable rate for a destination
	kindPause
	kindResume
)

// Flags of packets.
const (
	flagMarked  uint8 = 1 << iota // ECN congestion experienced; on an ACK: echoed
	flagCapable                   // ECN-capable transport
	flagLast                      // last packet of its message
	flagBurst                     // WRCC: FBDP is above 0
	flagResent                    // resent
)

// packet is one packet in any state, in one cache line.
type packet struct {
	at   quantity.Picoseconds // arrival at the far end of its current link
	sent quantity.Picoseconds // time at which the data packet started on its first link; copied into its ACK
	seq  int64                // data: first payload byte; ACK: first byte not received
	next int32                // next packet in its queue
	flow int32
	dst  int32  // host
	hash uint32 // hash of the five-tuple, for the selection among equal-cost paths
	tel  int32  // telemetry record, or none
	in   int32  // in a switch: the ingress port; on a link: its sequence number among the events
	wire uint16 // bytes on the wire
	load uint16 // payload bytes; ACK: number of acknowledged data packets in bits 0 to 7, number of marked ones in bits 8 to 15
	gen  uint16 // generation of the flow's slot
	rtt  uint16 // WRCC: estimated round trip time, us; NACK: number of packets from seq to the received packet
	fair uint32 // WRCC: fair rate, Mbit/s
	kind uint8
	cls  uint8
	flag uint8
	dom  uint8 // WRCC: data centre of the port that set the fair rate
}

// poolPage is the number of packets allocated together.
const poolPage = 1 << 10

// pool holds all packets by index, in pages, so packets do not move when the pool grows. Free packets are reused first.
type pool struct {
	pages [](*[poolPage]packet)
	free  int32
	size  int32 // number of packets ever used
	used  int
}

func (p *pool) at(i int32) *packet { return &p.pages[uint32(i)/poolPage][uint32(i)%poolPage] }

// get returns the index of a packet. The caller must set all its fields.
func (p *pool) get() int32 {
	p.used++
	if i := p.free; i != none {
		p.free = p.at(i).next
		return i
	}
	if int(p.size) == len(p.pages)*poolPage {
		p.pages = append(p.pages, new([poolPage]packet))
	}
	p.size++
	return p.size - 1
}

func (p *pool) put(i int32) {
	p.used--
	p.at(i).next = p.free
	p.free = i
}

// list is a queue of packets, linked by next.
type list struct{ head, tail int32 }

func emptyList() list { return list{none, none} }

func (l *list) empty() bool { return l.head == none }

func (l *list) push(p *pool, i int32) {
	p.at(i).next = none
	if l.tail == none {
		l.head = i
	} else {
		p.at(l.tail).next = i
	}
	l.tail = i
}

func (l *list) pop(p *pool) int32 {
	i := l.head
	l.head = p.at(i).next
	if l.head == none {
		l.tail = none
	}
	return i
}
