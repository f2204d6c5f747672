package cc

import "fairlane/internal/quantity"

// Algorithm is one sender-side congestion control with its parameters, for all flows of a simulation that use it. It keeps
// the flows' states in flat arrays indexed by slot, a small number that the fabric reuses after the end of a flow.
//
// The fabric calls its methods in the order of simulated time. Only Reserve, and Start for the first flow of a sender,
// allocate memory. Timers are lazy: an algorithm has no events, and the fabric calls Settle to advance a flow's timers before
// it reads the flow's Control.
type Algorithm interface {
	// Traits returns the algorithm's requirements on packets and on the fabric.
	Traits() Traits
	// Reserve allocates space for slots 0 to n-1 and preserves the state of used slots.
	Reserve(n int)
	// Start assigns a slot to a new flow and returns its first control.
	Start(slot int32, now quantity.Picoseconds, f *Flow) Control
	// Settle applies, in order, every timer that has expired up to and including now.
	Settle(slot int32, now quantity.Picoseconds, c *Control)
	// Sent handles the start of a data packet of wire bytes at now. The fabric calls it only if Traits.Sent is set.
	Sent(slot int32, now quantity.Picoseconds, wire int, c *Control)
	// Ack handles an acknowledgement. Timers have been settled.
	Ack(slot int32, a *Ack, c *Control)
	// Notify handles a notification packet. Timers have been settled.
	Notify(slot int32, n *Notification, c *Control)
	// Gauges returns the names of the values that Read stores, such as "target_bps" or "alpha".
	Gauges() []string
	// Read stores the current value of each gauge of a flow in dst, which must have the length of Gauges.
	Read(slot int32, dst []float64)
}

// Stamper is an Algorithm whose senders write a rate into every data packet (WRCC, S0).
type Stamper interface {
	Algorithm
	// Stamp returns the header fields of a data packet that starts at now.
	Stamp(slot int32, now quantity.Picoseconds) Stamp
}

// Traits are an algorithm's requirements on packets and on the fabric.
type Traits struct {
	DataHeader int  // bytes added to each data packet, beyond the transport's headers
	AckHeader  int  // bytes added to each acknowledgement
	INT        bool // switches append a Hop to data packets; receivers copy them into the ACK
	ECN        bool // data packets are ECN-capable, so switches mark them
	CNP        bool // receivers answer marks by notification packets, if the fabric's configuration enables them
	Repace     bool // a change of rate moves the deadline of the next packet (HPCC)
	Sent       bool // the fabric must call Sent
	// Quiet means that a flow's timers start with its first marked acknowledgement or notification. Before that, Settle and
	// Sent have no effect and need not be called.
	Quiet bool
	// MaxHops is the largest number of switches in a path whose telemetry the algorithm can process; 0 means no limit. A flow
	// with a longer path would never get a measurement.
	MaxHops int
	// Shared means that flows of several hosts share state, so the order of calls matters across hosts. A fabric that is
	// simulated in parts cannot preserve this order.
	Shared bool
}

// Flow holds the properties of a flow that an algorithm receives at its start.
type Flow struct {
	LineRate quantity.BitRate     // line rate of the sending port
	BaseRTT  quantity.Picoseconds // round trip time without queueing, for the flow's path or the largest of the fabric
	BDP      int64                // bytes: bottleneck rate times BaseRTT
	Payload  int                  // bytes of a full packet, without headers
	Wire     int                  // bytes of a full packet, with headers
	Hops     int                  // links of the path, one direction
	Size     int64                // payload bytes; 0 means unlimited
	Weight   float64              // above 0; 1 is neutral (weighted WRCC)
	Domain   uint16               // data centre of the sender
	Peer     uint16               // data centre of the receiver
	Host     uint16               // number of the sender, for an algorithm with limits per NIC
	Seed     uint64               // seed of an algorithm with random draws
}

// Control holds the limits that congestion control sets for one flow.
type Control struct {
	// Rate is the pacing rate in bit/s of wire bytes, above 0. There is no pacing at LineRate or above.
	Rate float64
	// Window limits the payload bytes in flight: a packet may start while fewer than Window bytes are unacknowledged. 0 means
	// no limit.
	Window int64
}

// Ack is one acknowledgement as the sender receives it. It is valid during the call only.
type Ack struct {
	Now      quantity.Picoseconds
	RTT      quantity.Picoseconds // time since the acknowledged packet started on the link
	Seq      int64                // cumulative: the first payload byte not yet received
	Next     int64                // the first payload byte not yet sent
	Acked    int64                // payload bytes newly acknowledged; 0 for a NACK
	Packets  int                  // acknowledged data packets, at least 1
	Marked   int                  // acknowledged data packets with an ECN mark
	Nack     bool                 // the acknowledgement reports a missing packet
	INT      []Hop                // telemetry of the last acknowledged packet, in path order; empty unless Traits.INT
	FairRate float64              // WRCC: fair rate per unit of weight, bit/s; 0 without a stamp
	Domain   uint16               // WRCC: data centre of the receiver
}

// InFlight returns the unacknowledged payload bytes.
func (a *Ack) InFlight() int64 { return a.Next - a.Seq }

// Hop is the in-band telemetry of one switch port on the path of a data packet, recorded when the packet starts (HPCC,
// SIGCOMM 2019, figure 7). Values are exact; an algorithm that models the field widths of a real header reduces them itself.
type Hop struct {
	At    quantity.Picoseconds
	Tx    uint32 // bytes sent by the port before this packet, modulo 2^32
	Queue uint32 // bytes left in the port's queues
	Mbps  uint32 // rate of the link, Mbit/s
}

// NotificationKind is the kind of a notification packet.
type NotificationKind uint8

// Kinds of notification.
const (
	NotifyCNP  NotificationKind = iota // a receiver's congestion notification packet (DCQCN)
	NotifyFCNP                         // a switch's fast notification with a fair rate (WRCC)
)

// Notification is a notification packet as the sender receives it.
type Notification struct {
	Now      quantity.Picoseconds
	Kind     NotificationKind
	FairRate float64 // FCNP: fair rate per unit of weight, bit/s
	Seq      int64   // FCNP: the first byte of the packet that caused it
	Domain   uint16  // FCNP: data centre of the switch
}

// Stamp holds the header fields that a WRCC sender writes into a data packet (S0, INT header).
type Stamp struct {
	FairRate uint32 // rate divided by the weight, Mbit/s
	RTT      uint32 // estimated round trip time, us
	Domain   uint16
	Burst    bool // FBDP is above 0: switches of the domain may answer with an FCNP
}
