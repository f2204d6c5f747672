package fabric

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet/ident"
)

// port is one port with both directions: the transmitter and, on a switch, the input buffer that the peer's credits represent.
type port struct {
	busyUntil quantity.Picoseconds // end of the current transmission
	kickAt    quantity.Picoseconds // time of the pending check for a packet to send, or sim.Never
	psPerByte uint64               // transmission time of a byte, in 1/65536 ps
	delay     quantity.Picoseconds // propagation delay, for credits
	latency   quantity.Picoseconds // propagation delay plus the peer switch's latency, for packets
	peer      int32                // port at the other end, or none
	sw        int32                // index into switches, or none
	host      int32                // index into hosts, or none
	num       ident.PortNum
	carries   bool   // data flows: the link is up and both ends are active
	opVLs     uint8  // operational data VLs
	pending   uint16 // bit mask of the lanes with packets to send
	lanes     []lane

	flight  ring[flight] // packets on the outgoing link
	credits ring[credit] // credits returning to this port

	marking marking
	use     *useMeter // nil unless the port marks by link utilization
	arb     *arbiter
	tally   tally

	node      int32
	mtu       uint16
	threshold uint8 // current marking threshold
	up        bool
	active    bool
}

// lane is one VL of a port, in both directions.
type lane struct {
	// Transmit side.
	credit    int32 // blocks that may still be sent
	held      int32 // bytes in this switch queued for this output lane
	markAbove int32 // marks are set while held is above this value; math.MaxInt32 means never
	countdown int32 // eligible packets until the next mark
	pick      int16 // input to serve next, selected by head
	last      int16 // input served last
	stalled   bool  // now waiting for credits
	waited    bool  // the last packet had to wait for credits
	inputs    [4]uint64
	congSince quantity.Picoseconds // start of the current period with held above markAbove, or -1
	congested quantity.Picoseconds // total time with held above markAbove, without the current period
	// Channel adapters: acknowledgements to send, and queue pairs that may be ready.
	acks  list
	ready list
	// Receive side, on switches: occupied blocks of the input buffer.
	buffered int32
}

func newLane(creditBlocks int32) lane {
	return lane{credit: creditBlocks, markAbove: math.MaxInt32, congSince: -1, acks: emptyList(), ready: emptyList(), last: -1}
}

// txTime returns the transmission time of a number of bytes.
func (p *port) txTime(bytes int) quantity.Picoseconds {
	return quantity.Picoseconds(uint64(bytes) * p.psPerByte >> 16)
}

// setRate sets the link rate for txTime; r must be positive.
func (p *port) setRate(r quantity.BitRate) {
	p.psPerByte = uint64(math.Round(8e12 * 65536 / float64(r)))
}

// usable reports whether the lane exists and is operational.
func (p *port) usable(vl ident.VL) bool { return vl < ident.VL(p.opVLs) }

// kick schedules a check for a packet to send, unless an earlier check is pending.
func (n *Network) kick(pi int32, p *port, at quantity.Picoseconds) {
	if p.kickAt <= at {
		return
	}
	p.kickAt = at
	n.eng.Schedule(at, evKick, pi, 0)
}

// port returns the port, or nil if it does not exist.
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

// Kinds of events.
const (
	evKick   uint8 = iota // A: port to check for a packet to send
	evArrive              // A: port whose first packet in flight reaches the peer
)

// Handle processes one event. Only the engine calls it.
func (n *Network) Handle(ev sim.Event) {
	switch ev.Kind() {
	case evKick:
		if p := &n.ports[ev.A]; p.kickAt == ev.At { // otherwise an earlier check has replaced it
			p.kickAt = sim.Never
			n.transmit(ev.A)
		}
	case evArrive:
		n.arrive(ev.A)
	}
}
