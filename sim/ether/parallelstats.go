package ether

import (
	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet"
)

// Now returns the simulated time.
func (p *Parallel) Now() quantity.Picoseconds { return p.now }

// Finished reports whether every flow has completed, and the source has no more flows.
func (p *Parallel) Finished() bool {
	for _, n := range p.parts {
		if !n.Finished() {
			return false
		}
	}
	return !p.more && p.queued.len() == 0
}

// Err returns the error that stopped the source of flows, if any.
func (p *Parallel) Err() error { return p.failed }

// Stats returns the totals so far. PeakActive and PeakPending are sums of the parts' peaks, and so
// upper bounds. Digest depends on the number of parts.
func (p *Parallel) Stats() Stats {
	var s Stats
	for _, n := range p.parts {
		t := n.Stats()
		s.add(&t.Totals)
		s.Events += t.Events
		s.PacketHops += t.PacketHops
		s.Completed += t.Completed
		s.Active += t.Active
		s.PeakActive += t.PeakActive
		s.LastDone = max(s.LastDone, t.LastDone)
		s.Marks += t.Marks
		s.Pauses += t.Pauses
		s.PausedTime += t.PausedTime
		s.PeakPending += t.PeakPending
		s.Digest = sim.Hash(s.Digest, t.Digest)
	}
	return s
}

func (t *Totals) add(o *Totals) {
	t.SentPackets += o.SentPackets
	t.SentBytes += o.SentBytes
	t.DeliveredPackets += o.DeliveredPackets
	t.AcceptedBytes += o.AcceptedBytes
	t.DroppedPackets += o.DroppedPackets
	t.DroppedBytes += o.DroppedBytes
	t.CNPs += o.CNPs
	t.FCNPs += o.FCNPs
	t.SenderSideCNPs += o.SenderSideCNPs
	t.LocalCNPs += o.LocalCNPs
	t.Notices += o.Notices
	t.Nacks += o.Nacks
	t.Timeouts += o.Timeouts
}

// Hosts returns the number of hosts.
func (p *Parallel) Hosts() int { return p.parts[0].Hosts() }

// HostPort returns the port of a host in the topology.
func (p *Parallel) HostPort(host int32) subnet.PortRef { return p.parts[0].HostPort(host) }

// PortName returns the name of a node and the number of its port.
func (p *Parallel) PortName(r subnet.PortRef) string { return p.parts[0].PortName(r) }

// Port returns the totals of a port so far.
func (p *Parallel) Port(ref subnet.PortRef) PortStats { return p.parts[p.home[ref.Node]].Port(ref) }

// Queue returns the bytes in the queues of a switch port, over all classes.
func (p *Parallel) Queue(ref subnet.PortRef) int64 { return p.parts[p.home[ref.Node]].Queue(ref) }

// Flows calls yield with every active flow, part by part, until it returns false.
func (p *Parallel) Flows(yield func(FlowState) bool) {
	for _, n := range p.parts {
		for s := range n.Flows {
			if !yield(s) {
				return
			}
		}
	}
}

// Gauges stores the algorithm's own values of an active flow in dst (cc.Algorithm.Read).
func (p *Parallel) Gauges(s *FlowState, dst []float64) {
	p.parts[p.home[p.parts[0].hosts[s.Src].node]].Gauges(s, dst)
}

// InFlight returns the data packets in the fabric and their payload bytes, counted one by one.
func (p *Parallel) InFlight() (packets, bytes uint64) {
	for _, n := range p.parts {
		k, b := n.InFlight()
		packets, bytes = packets+k, bytes+b
		for i := range n.part.out {
			for j := range n.part.out[i].letters {
				if l := &n.part.out[i].letters[j]; l.packet.kind == kindData {
					packets++
					bytes += uint64(l.packet.load)
				}
			}
		}
	}
	return packets, bytes
}
