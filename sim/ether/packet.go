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
	kindNotice // between DCI switches: the rate that suits a destination
	kindPause
	kindResume
)

// Flags of packets.
const (
	flagMarked  uint8 = 1 << iota // ECN congestion experienced; on an ACK: echoed
	flagCapable                   // ECN-capable transport
	flagLast                      // ends its message
	flagBurst                     // WRCC: FBDP is above 0
	flagResent                    // sent before
)

// packet is one packet wherever it is: one cache line.
type packet struct {
	at   quantity.Picoseconds // arrival at the far end of the link it is on
	sent quantity.Picoseconds // when the data packet was handed to its first link; copied into its ACK
	seq  int64                // data: first payload byte; ACK: first byte not received
	next int32                // in whatever queue it is
	flow int32
	dst  int32  // host
	hash uint32 // of the five-tuple, for the choice among equal paths
	tel  int32  // telemetry record, or none
	in   int32  // in a switch: the ingress port; on a link: its place in the sequence of events
	wire uint16 // bytes on the wire
	load uint16 // payload bytes; ACK: data packets answered, and above 8 bits how many were marked
	gen  uint16 // of the flow's slot
	rtt  uint16 // WRCC: estimate of the round trip, us; NACK: packets from seq to the one that came
	fair uint32 // WRCC: fair rate, Mbit/s
	kind uint8
	cls  uint8
	flag uint8
	dom  uint8 // WRCC: data centre of who wrote it
}

// poolPage is the number of packets that are allocated at once.
const poolPage = 1 << 10

// pool holds all packets by index, in pages: none moves when the pool grows. Freed ones are reused
// first.
type pool struct {
	pages [](*[poolPage]packet)
	free  int32
	size  int32 // packets ever used
	used  int
}

func (p *pool) at(i int32) *packet { return &p.pages[uint32(i)/poolPage][uint32(i)%poolPage] }

// get returns the index of a packet whose fields the caller sets, all of them.
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
