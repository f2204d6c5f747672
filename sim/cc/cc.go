package cc

import "fairlane/internal/quantity"

// Algorithm is one sender-side congestion control with its parameters, for all flows of one
// simulation that use it. It keeps the state of each flow in flat arrays indexed by the flow's
// slot, a small number that the fabric reuses once a flow has ended.
//
// The fabric calls it in the order of simulated time. No method allocates but Reserve, and Start
// where it meets a sender for the first time. Timers are kept lazily: an algorithm has no events of
// its own, and Settle brings a flow's timers up to an instant before the fabric reads its Control.
type Algorithm interface {
	// Traits says what the algorithm needs of packets and of the fabric.
	Traits() Traits
	// Reserve makes room for the slots 0 to n-1 and keeps the state of those in use.
	Reserve(n int)
	// Start gives a slot to a new flow and returns its first control.
	Start(slot int32, now quantity.Picoseconds, f *Flow) Control
	// Settle applies, in order, every timer that has expired up to and including now.
	Settle(slot int32, now quantity.Picoseconds, c *Control)
	// Sent is told of a data packet of wire bytes that starts at now, if Traits.Sent.
	Sent(slot int32, now quantity.Picoseconds, wire int, c *Control)
	// Ack handles an acknowledgement. Timers have been settled.
	Ack(slot int32, a *Ack, c *Control)
	// Notify handles a notification packet. Timers have been settled.
	Notify(slot int32, n *Notification, c *Control)
	// Gauges names the values that Read gives, such as "target_bps" or "alpha".
	Gauges() []string
	// Read stores the current value of each gauge of a flow in dst, which has their number.
	Read(slot int32, dst []float64)
}

// Stamper is an Algorithm whose senders write a rate into every data packet (WRCC, S0).
type Stamper interface {
	Algorithm
	// Stamp returns the header fields of a data packet that starts at now.
	Stamp(slot int32, now quantity.Picoseconds) Stamp
}

// Traits is what an algorithm needs of packets and of the fabric.
type Traits struct {
	DataHeader int  // bytes it adds to each data packet beyond the transport's headers
	AckHeader  int  // bytes it adds to each acknowledgement
	INT        bool // switches append a Hop to data packets; receivers copy them into the ACK
	ECN        bool // data packets are ECN-capable: switches mark instead of leaving them alone
	CNP        bool // marks are answered by notification packets where the fabric is told to send them
	Repace     bool // a change of rate moves the deadline of the next packet (HPCC)
	Sent       bool // Sent is to be called
	// Quiet says that only a marked acknowledgement or a notification starts anything: before the first of them Settle
	// and Sent do nothing to a flow, and need not be called.
	Quiet bool
	// MaxHops is the most switches of a path whose telemetry the algorithm can take; 0 is any. A flow
	// with a longer path would never get a measurement.
	MaxHops int
	// Shared says that flows of several hosts have state in common, so that the order of their calls
	// matters across hosts: a fabric that is simulated in parts cannot keep it.
	Shared bool
}

// Flow is what an algorithm is told of a flow when it starts.
type Flow struct {
	LineRate quantity.BitRate     // of the sending port
	BaseRTT  quantity.Picoseconds // both ways without queueing: of its path, or the fabric's largest
	BDP      int64                // bytes: bottleneck rate times BaseRTT
	Payload  int                  // of a full packet, bytes
	Wire     int                  // of a full packet with its headers, bytes
	Hops     int                  // links of the path, one way
	Size     int64                // payload bytes; 0 is endless
	Weight   float64              // of the flow, more than 0; 1 is neutral (weighted WRCC)
	Domain   uint16               // data centre of the sender
	Peer     uint16               // data centre of the receiver
	Host     uint16               // of the sender, for an algorithm with limits per NIC
	Seed     uint64               // for an algorithm that draws numbers
}

// Control is what congestion control allows one flow.
type Control struct {
	// Rate paces the flow: bit/s of wire bytes, more than 0. At LineRate or above nothing is paced.
	Rate float64
	// Window bounds the payload bytes in flight: a packet may start while fewer than Window are
	// unacknowledged. 0 is no bound.
	Window int64
}

// Ack is one acknowledgement as its sender sees it. It is valid during the call only.
type Ack struct {
	Now      quantity.Picoseconds
	RTT      quantity.Picoseconds // since the acknowledged packet was handed to the link
	Seq      int64                // cumulative: the first payload byte not yet received
	Next     int64                // the first payload byte not yet sent
	Acked    int64                // payload bytes newly acknowledged; 0 for a NACK
	Packets  int                  // data packets it answers, at least 1
	Marked   int                  // how many of them carried an ECN mark
	Nack     bool                 // it reports a gap
	INT      []Hop                // of the last packet answered, in path order; empty unless Traits.INT
	FairRate float64              // WRCC: normalised, bit/s; 0 without a stamp
	Domain   uint16               // WRCC: data centre of the receiver
}

// InFlight returns the unacknowledged payload bytes.
func (a *Ack) InFlight() int64 { return a.Next - a.Seq }

// Hop is the in-band telemetry of one switch port that a data packet left by, taken when the packet
// starts (HPCC, SIGCOMM 2019, figure 7). Values are exact; an algorithm that models the widths of a
// real header reduces them itself.
type Hop struct {
	At    quantity.Picoseconds
	Tx    uint32 // bytes sent by the port before this packet, modulo 2^32
	Queue uint32 // bytes left in the port's queues
	Mbps  uint32 // rate of the link, Mbit/s
}

// NotificationKind tells notification packets apart.
type NotificationKind uint8

// Kinds of notification.
const (
	NotifyCNP  NotificationKind = iota // a receiver's congestion notification packet (DCQCN)
	NotifyFCNP                         // a switch's fast notification with a fair rate (WRCC)
)

// Notification is a notification packet as the sender sees it.
type Notification struct {
	Now      quantity.Picoseconds
	Kind     NotificationKind
	FairRate float64 // FCNP: normalised, bit/s
	Seq      int64   // FCNP: the first byte of the packet that it was made from
	Domain   uint16  // of the switch
}

// Stamp is what a WRCC sender writes into a data packet (S0, INT header).
type Stamp struct {
	FairRate uint32 // Mbit/s, normalised by the weight
	RTT      uint32 // estimate, us
	Domain   uint16
	Burst    bool // FBDP is above 0: switches of the domain may answer with an FCNP
}
