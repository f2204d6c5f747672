// Package plane holds the values exchanged between simulated devices, which answer management protocols, and the simulated
// Ethernet fabric, which carries their packets: the settings of the data plane, and the counters of the data plane. Neither
// side imports the other.
package plane

import (
	"fairlane/ccconfig/dcqcn"
	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// Priorities is the number of priorities of a port, and of queues of a switch port.
const Priorities = 8

// PortState is the complete state of a NIC port: settings from every interface of the device, and defaults for the rest.
type PortState struct {
	Registers dcqcn.Settings
	// Reaction and Notification are bit masks of the priorities with DCQCN enabled, for senders and for receivers.
	Reaction     uint8
	Notification uint8
	// CNPsPerPort applies the minimum gap between CNPs to the port instead of each flow. One tenant's CNPs can then suppress
	// another's.
	CNPsPerPort bool
	// DSCP is the DSCP, 0 to 63, of the port's RoCE traffic and of its acknowledgements; CNPDSCP is that of the CNPs which the
	// port sends.
	DSCP    uint8
	CNPDSCP uint8
	// NotECT means that the port's RoCE traffic is not ECN-capable, so switches do not mark it. Inert means that another
	// algorithm replaces DCQCN: the port counts notifications as handled but does not change rates.
	NotECT, Inert bool
	// Priorities maps the DSCP of a sent packet to its priority, 0 to 7.
	Priorities [DSCPs]uint8
	// PFC is the bit mask of the priorities with pause. The port sends and obeys pause frames only for these.
	PFC uint8
	// Service is the scheduling of the priorities: that of their traffic classes. The highest strict priority is served first.
	Service [Priorities]QueueService
	// MaxRate limits the traffic class of the RoCE traffic; 0 means no limit.
	MaxRate quantity.BitRate
	// Functions are the shares of virtual functions; each index occurs at most once. A function without an entry has weight 1
	// and no limits. The index of a function is the position of its tenant among the port's tenants, sorted by name.
	Functions []Function
	// WRCC is the configuration of WRCC senders; nil keeps the device's defaults. Fabrics without WRCC ignore it.
	WRCC *wrcc.NICConfig
}

// Priority returns the priority of the port's RoCE traffic.
func (s *PortState) Priority() uint8 { return s.Priorities[s.DSCP] }

// Function is a virtual function's share of its port's sending rate.
type Function struct {
	Index  int
	Weight uint32           // relative to the other functions of the port; 0 means 1
	Min    quantity.BitRate // guaranteed before weights apply; 0 means no guarantee
	Max    quantity.BitRate // 0 means no limit
}

// DefaultPort returns the state of an unconfigured port: the vendor's register values, DCQCN enabled for all priorities, RoCE
// on priority 3, which has pause, and CNPs on priority 6, which is strict. Priorities 0 and 3 share the rest of the port.
func DefaultPort() PortState {
	s := PortState{
		Registers: dcqcn.Default(), Reaction: 0xff, Notification: 0xff, DSCP: RoCEDSCP, CNPDSCP: CNPDSCP, Priorities: defaultClasses(),
		PFC: 1 << RoCEPriority,
	}
	for p := range s.Service {
		s.Service[p] = QueueService{Strict: p == CNPPriority, Weight: 1}
	}
	s.Service[0].Weight, s.Service[RoCEPriority].Weight = defaultWeight, defaultWeight
	return s
}

// Default DSCPs and priorities of an unconfigured fabric.
const (
	RoCEPriority = 3 // priority of RoCE traffic, and its switch queue
	RoCEDSCP     = 26
	CNPPriority  = 6 // priority of notification packets
	CNPDSCP      = 48
)

// DSCPs is the number of DSCPs.
const DSCPs = 64

// defaultClasses returns the default priority, which is also the queue, of each DSCP.
func defaultClasses() (c [DSCPs]uint8) {
	c[RoCEDSCP], c[CNPDSCP] = RoCEPriority, CNPPriority
	return c
}

// SwitchPort holds the settings of a switch port by class of service.
type SwitchPort struct {
	Queues  [DSCPs]uint8 // egress queue, 0 to 7, of packets received on this port, by DSCP
	PFC     uint8        // bit mask of the priorities with pause
	Service [Priorities]QueueService
}

// QueueService is the scheduling of a switch's queue, or of a NIC's priority.
type QueueService struct {
	Strict bool  // served before all other queues; the highest queue number first
	Weight uint8 // weight, 1 to 255, of deficit round robin among the queues that are not strict; 0 means 1
}

// DefaultSwitchPort returns the settings of an unconfigured switch port: RoCE in queue 3, which has pause, CNPs in queue 6,
// which has strict priority, and equal weights for the other queues.
func DefaultSwitchPort() SwitchPort {
	p := SwitchPort{Queues: defaultClasses(), PFC: 1 << RoCEPriority}
	for q := range p.Service {
		p.Service[q] = QueueService{Strict: q == CNPPriority, Weight: defaultWeight}
	}
	return p
}

const defaultWeight = 50

// PortCounters are the counters of a NIC port since the start of the fabric. Octets are octets on the wire, with headers.
type PortCounters struct {
	At quantity.Picoseconds // the fabric's clock at the reading
	Up bool

	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	TransportCounters

	PausesSent, PausesReceived [Priorities]uint64
	PausedTime                 quantity.Picoseconds             // total time during which a priority was paused
	PausedTimes                [Priorities]quantity.Picoseconds // paused time by priority
	Sent                       [Priorities]ClassCounters        // octets and packets by priority

	Functions []FunctionCounters // by index; functions with a tenant only
	Senders   []SenderCounters   // by name; WRCC only
}

// TransportCounters are the events that the transport of a port, or of one of its functions, counts.
type TransportCounters struct {
	// CNPs and marks, with the meaning of rp_cnp_handled, np_cnp_sent and np_ecn_marked_roce_packets.
	CNPsSent, CNPsHandled, CNPsIgnored, ECNMarked uint64

	Sequence, Nacks, Timeouts uint64 // out-of-sequence packets received, NAKs sent, and timeouts of senders
}

// ClassCounters are the counters of one priority.
type ClassCounters struct{ Octets, Packets uint64 }

// FunctionCounters count the traffic that a virtual function sent and received, and the events of its queue pairs.
type FunctionCounters struct {
	Index                int
	Tenant               string // owner of the function
	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	TransportCounters
}

// SenderCounters count the traffic that the queue pairs of a WRCC sender sent.
type SenderCounters struct {
	Name     string // "tenant/class"
	TxOctets uint64
}

// SwitchPortCounters are the counters of a switch port since the start of the fabric.
type SwitchPortCounters struct {
	At quantity.Picoseconds // the fabric's clock at the reading
	Up bool

	TxOctets, RxOctets   uint64
	TxPackets, RxPackets uint64
	InDrops              uint64             // packets received on this port and dropped for lack of buffer
	GroupDrops           [Priorities]uint64 // drops for lack of buffer, by the queue of the packets

	Queues [Priorities]QueueCounters

	PausesSent, PausesReceived [Priorities]uint64
	PausedTime                 quantity.Picoseconds
}

// QueueCounters are the counters of one queue of a switch port.
type QueueCounters struct {
	Octets, Packets     uint64 // sent from this queue
	Drops, DroppedBytes uint64 // dropped for lack of room in this queue
	Marks               uint64 // ECN marks set
	Bytes               int64  // bytes in the queue now
	Peak                int64  // largest number of bytes in the queue so far
}
