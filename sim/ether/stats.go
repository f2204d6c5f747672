package ether

import (
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Totals are the totals of a run so far. Bytes are payload.
type Totals struct {
	SentPackets      uint64 // data packets sent on their first link, including resent ones
	SentBytes        uint64
	DeliveredPackets uint64 // data packets that reached their host, including duplicates
	AcceptedBytes    uint64 // payload that was new to the receiver
	DroppedPackets   uint64
	DroppedBytes     uint64
	CNPs             uint64
	FCNPs            uint64
	SenderSideCNPs   uint64 // CNPs that DCI switches sent to senders of their data centre
	LocalCNPs        uint64 // CNPs and echoed marks of receivers that their DCI switch consumed
	Notices          uint64 // notices between DCI switches
	Nacks            uint64
	Timeouts         uint64
}

// Stats are totals and gauges of a network.
type Stats struct {
	Totals
	Events      uint64
	PacketHops  uint64 // links traversed, summed over all data packets
	Completed   uint64 // completed flows
	Active      int    // active flows
	PeakActive  int
	LastDone    quantity.Picoseconds // time of the last completion of a flow
	Marks       uint64
	Pauses      uint64
	PausedTime  quantity.Picoseconds // sum over all (port, class) pairs
	PeakPending int                  // largest number of pending events
	// Digest is a hash over every arrival of a data packet at its host: equal digests mean the same packets delivered at the
	// same times.
	Digest uint64
}

// Stats returns the totals so far.
func (n *Network) Stats() Stats {
	_, peak := n.eng.Pending()
	s := Stats{
		Totals: n.totals, Events: n.eng.Processed(), PacketHops: n.hops, Completed: n.completed, Active: n.active,
		PeakActive: n.peakActive, LastDone: n.lastDone, PeakPending: peak, Digest: n.digest,
	}
	for i := range n.ports {
		p := &n.ports[i]
		s.Marks += p.stats.Marks
		s.Pauses += p.stats.Pauses
		s.PausedTime += p.pausedFor(n.eng.Now())
	}
	return s
}

// Finished reports whether every flow has completed, and the source has no more flows.
func (n *Network) Finished() bool { return n.active == 0 && n.upcoming == 0 && n.source == nil }

// Err returns the error that stopped the source of flows, if any.
func (n *Network) Err() error { return n.failed }

// Hosts returns the number of hosts.
func (n *Network) Hosts() int { return len(n.hosts) }

// HostPort returns the port of a host in the topology.
func (n *Network) HostPort(host int32) subnet.PortRef {
	return n.ref(n.hosts[host].port)
}

func (n *Network) ref(pi int32) subnet.PortRef {
	p := &n.ports[pi]
	return subnet.PortRef{Node: p.node, Port: ident.PortNum(p.num)}
}

// Port returns the totals of a port so far.
func (n *Network) Port(ref subnet.PortRef) PortStats {
	p := &n.ports[n.first[ref.Node]+int32(ref.Port)]
	s := p.stats
	s.TxBytes = p.tx
	s.PausedTime = p.pausedFor(n.eng.Now())
	return s
}

// Queue returns the bytes in the queues of a switch port, over all classes.
func (n *Network) Queue(ref subnet.PortRef) int64 {
	return n.ports[n.first[ref.Node]+int32(ref.Port)].queued
}

// FlowState is the current state of a flow: the sender's state, and Received.
type FlowState struct {
	ID       int64
	Src, Dst int32
	Tenant   uint16
	Start    quantity.Picoseconds
	Rate     float64 // pacing rate, bit/s of wire bytes
	Window   int64   // bytes; 0 means no window
	Sent     int64   // payload bytes, without resent ones
	Acked    int64   // acknowledged part of Sent
	Received int64   // payload bytes received in order; equal to Acked when another part simulates the receiver (Parallel)
	Slot     int32
	// Algorithm is the index of its congestion control in Config.Algorithms.
	Algorithm uint16
	gen       uint16
}

// Ref returns the reference of the flow, valid until the flow ends.
func (f *FlowState) Ref() FlowRef { return FlowRef{f.Slot, f.gen} }

// Flows calls yield with every active flow, in the order of slots, until it returns false. Timers
// are settled to now.
func (n *Network) Flows(yield func(FlowState) bool) {
	for slot := range n.slots {
		f := n.flow(slot)
		if f.state == stateFree || f.state == stateRemote {
			continue
		}
		n.settle(slot, f)
		if !yield(n.stateOf(slot, f)) {
			return
		}
	}
}

func (n *Network) stateOf(slot int32, f *flow) FlowState {
	i := n.info(slot)
	received := f.una
	if n.owns(n.hosts[f.dst].node) {
		received = f.expected
	}
	return FlowState{
		ID: i.id, Src: f.src, Dst: f.dst, Tenant: i.tenant, Start: i.start, Rate: f.rate(), Window: f.ctl.Window,
		Sent: max(f.next, i.top), Acked: f.una, Received: received, Slot: slot, Algorithm: f.algo, gen: f.gen,
	}
}

// Gauges stores the algorithm's own values of an active flow in dst (cc.Algorithm.Read).
func (n *Network) Gauges(s *FlowState, dst []float64) {
	f := n.flow(s.Slot)
	if f.gen == s.gen && f.state != stateFree {
		n.cfg.Algorithms[f.algo].Read(s.Slot, dst)
	}
}
