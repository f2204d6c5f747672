package fabric

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet/ident"
)

// port is one port with both its directions: what it transmits, and, on a switch, the input
// buffer that the peer's credits stand for.
type port struct {
	busyUntil quantity.Picoseconds // end of the packet being transmitted
	kickAt    quantity.Picoseconds // the one pending look for work, or sim.Never
	psPerByte uint64               // in 1/65536 ps
	delay     quantity.Picoseconds // propagation, for credits
	latency   quantity.Picoseconds // propagation and the peer switch's latency, for packets
	peer      int32                // port at the other end, or none
	sw        int32                // index into switches, or none
	host      int32                // index into hosts, or none
	num       ident.PortNum
	carries   bool   // data flows: up, and both ends active
	opVLs     uint8  // operational data VLs
	pending   uint16 // lanes with something to send, acknowledged by bit
	lanes     []lane

	flight  ring[flight] // packets on the link from here
	credits ring[credit] // credits on the way back to here

	marking marking
	use     *useMeter // while the port marks by the use of its link
	arb     *arbiter
	tally   tally

	node      int32
	mtu       uint16
	threshold uint8 // marking threshold in force
	up        bool
	active    bool
}

// lane is one VL of a port, in both directions.
type lane struct {
	// Outgoing.
	credit    int32 // blocks that may still be sent
	held      int32 // bytes in this switch waiting for this output lane
	markAbove int32 // held above this marks; never is math.MaxInt32
	countdown int32 // eligible packets until the next mark
	pick      int16 // input that is next to be served, chosen by head
	last      int16 // input served last
	stalled   bool  // waits for credits now
	waited    bool  // its last packet had to wait for them
	inputs    [4]uint64
	congSince quantity.Picoseconds // since when held is above markAbove, or -1
	congested quantity.Picoseconds // time above so far
	// Channel adapters: acknowledgements to send, and queue pairs whose turn may come.
	acks  list
	ready list
	// Incoming, on switches: blocks of the input buffer that hold packets.
	buffered int32
}

func newLane(creditBlocks int32) lane {
	return lane{credit: creditBlocks, markAbove: math.MaxInt32, congSince: -1, acks: emptyList(), ready: emptyList(), last: -1}
}

// txTime is the transmission time of so many bytes.
func (p *port) txTime(bytes int) quantity.Picoseconds {
	return quantity.Picoseconds(uint64(bytes) * p.psPerByte >> 16)
}

// setRate prepares txTime; r must be positive.
func (p *port) setRate(r quantity.BitRate) {
	p.psPerByte = uint64(math.Round(8e12 * 65536 / float64(r)))
}

// usable reports whether the lane exists and is operational.
func (p *port) usable(vl ident.VL) bool { return vl < ident.VL(p.opVLs) }

// kick makes the port look for something to send at an instant, unless it will sooner.
func (n *Network) kick(pi int32, p *port, at quantity.Picoseconds) {
	if p.kickAt <= at {
		return
	}
	p.kickAt = at
	n.eng.Schedule(at, evKick, pi, 0)
}

// port returns the port, or nil when there is none of that number.
func (n *Network) port(node int32, num ident.PortNum) *port {
	if pi := n.portIndex(node, num); pi != none {
		return &n.ports[pi]
	}
	return nil
}

// portIndex returns the position in ports, or none.
func (n *Network) portIndex(node int32, num ident.PortNum) int32 {
	if node < 0 || int(node) >= len(n.first)-1 || n.first[node]+int32(num) >= n.first[node+1] {
		return none
	}
	return n.first[node] + int32(num)
}

// Event kinds of the engine.
const (
	evKick   uint8 = iota // A: port that looks for something to send
	evArrive              // A: port whose first packet in flight reaches the peer
)

// Handle does one event. It is for the engine alone.
func (n *Network) Handle(ev sim.Event) {
	switch ev.Kind() {
	case evKick:
		if p := &n.ports[ev.A]; p.kickAt == ev.At { // else an earlier look has replaced it
			p.kickAt = sim.Never
			n.transmit(ev.A)
		}
	case evArrive:
		n.arrive(ev.A)
	}
}
