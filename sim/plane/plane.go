// Package plane holds the values that pass between simulated devices, which answer management protocols, and the
// simulated Ethernet fabric whose packets those devices send and forward: what a device tells its data plane, and what
// the data plane has counted. Neither side knows the other.
package plane

import (
	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// Priorities is the number of priorities of a port, and of queues of a switch port.
const Priorities = 8

// PortState is what a NIC port does now, complete: what it was told, by whichever way, with the defaults of the
// rest.
type PortState struct {
	Registers dcqcn.Settings
	// Reaction and Notification are the priorities with DCQCN on, by bit: of senders and of receivers.
	Reaction     uint8
	Notification uint8
	// CNPsPerPort keeps the gap between CNPs for the port instead of each flow, so that one tenant's can starve
	// another's.
	CNPsPerPort bool
	// DSCP is that of the port's RoCE traffic, and of what answers it; CNPDSCP that of the CNPs which the port sends; 0 to 63.
	DSCP    uint8
	CNPDSCP uint8
	// NotECT says that the port's RoCE traffic is not ECN-capable, so that no switch marks it. Inert says that another algorithm
	// replaces DCQCN: notifications are counted as handled and change no rate.
	NotECT, Inert bool
	// Priorities are those of what the port sends, 0 to 7, by DSCP.
	Priorities [DSCPs]uint8
	// PFC has the priorities with pause on, by bit: the port asks for it, and obeys, in these alone.
	PFC uint8
	// MaxRate bounds what the traffic class of the RoCE traffic sends; 0 does not.
	MaxRate quantity.BitRate
	// Functions are the shares of virtual functions, by index, each once. One without an entry has weight 1 and no
	// bounds. The index of a function is the position of its tenant among the port's tenants by name.
	Functions []Function
	// WRCC has what senders go by; nil leaves the device's defaults. Fabrics without WRCC ignore it.
	WRCC *wrcc.NICConfig
}

// Priority is that of the port's RoCE traffic.
func (s *PortState) Priority() uint8 { return s.Priorities[s.DSCP] }

// Function is the share of a virtual function in what its port sends.
type Function struct {
	Index  int
	Weight uint32           // among the functions of the port; 0 means 1
	Min    quantity.BitRate // served before weights count; 0 is none
	Max    quantity.BitRate // 0 is no limit
}

// DefaultPort is the state of a port that nobody told anything: the vendor's registers, DCQCN on for all priorities,
// RoCE on priority 3, which has pause, and CNPs on priority 6.
func DefaultPort() PortState {
	return PortState{
		Registers: dcqcn.Default(), Reaction: 0xff, Notification: 0xff, DSCP: RoCEDSCP, CNPDSCP: CNPDSCP, Priorities: defaultClasses(),
		PFC: 1 << RoCEPriority,
	}
}

// What a fabric as it comes does with the DSCPs in use.
const (
	RoCEPriority = 3 // priority of RoCE traffic, and queue of switches
	RoCEDSCP     = 26
	CNPPriority  = 6 // of notification packets
	CNPDSCP      = 48
)

// DSCPs is the number of DSCPs.
const DSCPs = 64

// defaultClasses are the priorities, and the queues, of a fabric as it comes by DSCP.
func defaultClasses() (c [DSCPs]uint8) {
	c[RoCEDSCP], c[CNPDSCP] = RoCEPriority, CNPPriority
	return c
}

// SwitchPort is what a port of a switch does with packets by their class of service.
type SwitchPort struct {
	Queues  [DSCPs]uint8 // of packets that come in by the port, 0 to 7, by DSCP: the queue of whichever port they leave by
	PFC     uint8        // priorities with pause on, by bit
	Service [Priorities]QueueService
}

// QueueService is how a queue is served.
type QueueService struct {
	Strict bool  // before all that are not, a higher number before a lower
	Weight uint8 // of deficit round robin among the others, 1 to 255; 0 is 1
}

// DefaultSwitchPort is a port of a switch that nobody told anything: RoCE in queue 3, which has pause, CNPs in queue 6, which
// goes before all, and the same weight for the others.
func DefaultSwitchPort() SwitchPort {
	p := SwitchPort{Queues: defaultClasses(), PFC: 1 << RoCEPriority}
	for q := range p.Service {
		p.Service[q] = QueueService{Strict: q == CNPPriority, Weight: defaultWeight}
	}
	return p
}

const defaultWeight = 50

// PortCounters are what a NIC port has counted since the fabric began. Octets are those on the wire, with headers.
type PortCounters struct {
	At quantity.Picoseconds // the fabric's clock at the reading
	Up bool

	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	// CNPs and marks, as rp_cnp_handled, np_cnp_sent and np_ecn_marked_roce_packets count them.
	CNPsSent, CNPsHandled, CNPsIgnored, ECNMarked uint64

	Sequence, Nacks, Timeouts uint64 // packets above a gap, reports of gaps sent, senders that began anew

	PausesSent, PausesReceived [Priorities]uint64
	PausedTime                 quantity.Picoseconds             // in which a priority was not to send, all together
	PausedTimes                [Priorities]quantity.Picoseconds // by priority
	Sent                       [Priorities]ClassCounters        // octets and packets by priority

	Functions []FunctionCounters // by index; all that carry a tenant
	Senders   []SenderCounters   // by name; WRCC
}

// ClassCounters are those of one priority.
type ClassCounters struct{ Octets, Packets uint64 }

// FunctionCounters are what a virtual function has sent and received.
type FunctionCounters struct {
	Index                int
	Tenant               string // whose it is
	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
}

// SenderCounters are what the queue pairs of a WRCC sender have sent.
type SenderCounters struct {
	Name     string // "tenant/class"
	TxOctets uint64
}

// SwitchPortCounters are what a switch port has counted since the fabric began.
type SwitchPortCounters struct {
	At quantity.Picoseconds // the fabric's clock at the reading
	Up bool

	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	InDrops              uint64             // packets that found no room after arriving by this port
	GroupDrops           [Priorities]uint64 // those, by the queue that they were to go to

	Queues [Priorities]QueueCounters

	PausesSent, PausesReceived [Priorities]uint64
	PausedTime                 quantity.Picoseconds
}

// QueueCounters are those of one queue of a switch port.
type QueueCounters struct {
	Octets, Packets     uint64 // sent
	Drops, DroppedBytes uint64 // that found no room in it
	Marks               uint64 // ECN marks set
	Bytes               int64  // held now
	Peak                int64  // most that it has held
}
