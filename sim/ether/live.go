package ether

import (
	"errors"
	"fmt"
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/wrcc"
)

// Settings of a network may change between two calls of RunUntil. They take effect at that instant, and the run remains a
// function of topology, configuration, flows, and the changes with their times. Port counters and the state of queues and flows
// are preserved.

// FlowRef identifies a flow from its start to its end.
type FlowRef struct {
	slot int32
	gen  uint16
}

// Slot returns the number of the flow among the active flows; a later flow may reuse it.
func (r FlowRef) Slot() int32 { return r.slot }

var errGone = errors.New("the flow has ended or does not exist")

// HostStats are the counters of a host, except octets.
type HostStats struct {
	Marked      uint64 // data packets received with an ECN mark that a CNP would answer
	CNPsSent    uint64
	CNPsHandled uint64
	CNPsIgnored uint64 // CNPs received while the reaction point was disabled
	OutOfOrder  uint64 // data packets received out of sequence
	Nacks       uint64 // NACKs sent
	Timeouts    uint64 // timeouts of its senders
}

// Notification configures the reaction of a host's receivers to marks.
type Notification struct {
	Off     bool                 // send no notification packets
	PerPort bool                 // the gap applies to the port, not to each flow
	Gap     quantity.Picoseconds // minimum time between two notifications; 0 to 1 s
}

// SetNotification changes the reaction of a host's receivers to marks.
func (n *Network) SetNotification(host int32, s Notification) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	if s.Gap < 0 || s.Gap > quantity.Second {
		return fmt.Errorf("gap between notifications %s: want 0 to 1 s", s.Gap)
	}
	h := &n.hosts[host]
	if s.PerPort && !h.cnpPort {
		h.cnpAt = -quantity.Second
	}
	h.silent, h.cnpPort, h.cnpGap = s.Off, s.PerPort, s.Gap
	return nil
}

// SetReaction makes the senders of a host react to notification packets, or count and ignore them. The algorithm keeps rate
// limiters that are already active.
func (n *Network) SetReaction(host int32, on bool) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].deaf = !on
	return nil
}

// SetInert makes the senders of a host count notification packets as handled without passing them to their algorithm. A
// NIC behaves like this when another algorithm replaces its DCQCN.
func (n *Network) SetInert(host int32, on bool) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].inert = on
	return nil
}

// SetCapable sets whether the data of a host is ECN-capable, which is the default. Switches do not mark other data.
func (n *Network) SetCapable(host int32, on bool) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].incapable = flagCapable
	if on {
		n.hosts[host].incapable = 0
	}
	return nil
}

// SetDomain sets the data centre of a host, 0 to 255 (WRCC). The data centre that running senders use is a setting of the
// algorithm.
func (n *Network) SetDomain(host int32, domain uint8) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].domain = domain
	return nil
}

// Period returns the sampling period of a WRCC switch, and false for another node.
func (n *Network) Period(node int32) (quantity.Picoseconds, bool) {
	if node < 0 || int(node) >= len(n.swOf) || n.swOf[node] == none || n.fair == nil {
		return 0, false
	}
	return n.fair[n.swOf[node]].next, true
}

// Events returns the number of events handled so far.
func (n *Network) Events() uint64 { return n.eng.Processed() }

// Host returns the counters of a host; all are zero for a host that does not exist.
func (n *Network) Host(host int32) HostStats {
	if n.checkHost(host) != nil {
		return HostStats{}
	}
	return n.hosts[host].stats
}

// SetECN changes the marking of one class of a switch port. The thresholds are used unchanged, without scaling by RatePer and
// without defaults.
func (n *Network) SetECN(at subnet.PortRef, class uint8, e ECN) error {
	pi, err := n.linked(at)
	if err != nil {
		return err
	}
	if int(class) >= n.classes {
		return fmt.Errorf("class %d: want 0 to %d", class, n.classes-1)
	}
	if err := e.check(); err != nil {
		return err
	}
	n.queues[int(pi)*n.classes+int(class)].marking(&e)
	return nil
}

// ForRate returns the rule for a link rate, with defaults set and thresholds scaled.
func (e ECN) ForRate(rate quantity.BitRate) ECN {
	e = e.withDefaults()
	if !e.Absolute {
		scale := float64(rate) / float64(e.RatePer)
		e.Min, e.Max, e.RatePer = int64(float64(e.Min)*scale), int64(float64(e.Max)*scale), rate
	}
	return e
}

// linked returns the index of a port that has a link.
func (n *Network) linked(at subnet.PortRef) (int32, error) {
	pi, err := n.portIndex(at)
	if err == nil && n.ports[pi].peer == none {
		err = fmt.Errorf("port %s has no link", n.PortName(at))
	}
	return pi, err
}

func (n *Network) portIndex(at subnet.PortRef) (int32, error) {
	if at.Node < 0 || int(at.Node)+1 >= len(n.first) {
		return 0, fmt.Errorf("node %d: want 0 to %d", at.Node, len(n.first)-2)
	}
	ports := n.first[at.Node+1] - n.first[at.Node]
	if int32(at.Port) >= ports {
		return 0, fmt.Errorf("port %d of node %d: want 0 to %d", at.Port, at.Node, ports-1)
	}
	return n.first[at.Node] + int32(at.Port), nil
}

// lookup returns an active flow.
func (n *Network) lookup(r FlowRef) (*flow, error) {
	if r.slot < 0 || r.slot >= n.slots {
		return nil, errGone
	}
	f := n.flow(r.slot)
	if f.gen != r.gen || f.state == stateFree || f.state == stateRemote {
		return nil, errGone
	}
	return f, nil
}

// Flow returns the sender's state of a flow, and false when the flow has ended. Timers are settled to now.
func (n *Network) Flow(r FlowRef) (FlowState, bool) {
	f, err := n.lookup(r)
	if err != nil {
		return FlowState{}, false
	}
	n.settle(r.slot, f)
	return n.stateOf(r.slot, f), true
}

// Stop ends a flow as FlowSpec.Stop does. It has no effect on a flow that has ended.
func (n *Network) Stop(r FlowRef) { n.stop(r.slot, r.gen) }

// Reweigh changes the weight of a running flow; it must be above 0. It returns an error for a flow that has ended and for a
// flow whose algorithm has no weights.
func (n *Network) Reweigh(r FlowRef, weight float64) error {
	f, err := n.lookup(r)
	if err != nil {
		return err
	}
	if !(weight > 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("weight %g: want more than 0", weight)
	}
	a, ok := n.cfg.Algorithms[f.algo].(cc.Reweigher)
	if !ok {
		return fmt.Errorf("algorithm %d has no weights that can change", f.algo)
	}
	a.Reweigh(r.slot, weight)
	return nil
}

// SetDemand changes the largest rate that a flow's application offers; 0 means no limit.
func (n *Network) SetDemand(r FlowRef, d quantity.BitRate) error {
	f, err := n.lookup(r)
	if err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("demand %d bit/s: want 0 (no limit) or more", int64(d))
	}
	f.demand = kbps(d)
	if f.state == stateWaiting { // the deadline was computed with the old demand
		f.state, f.due = stateIdle, n.eng.Now()
		n.consider(r.slot, f)
	}
	return nil
}

// QueueStats are the counters of one class of a switch port. Octets are wire bytes.
type QueueStats struct {
	TxOctets, TxPackets  uint64
	Drops, DroppedOctets uint64 // dropped for lack of buffer, or because the link was down
	Marks                uint64
	Bytes, Peak          int64 // held now, and the largest value so far
}

// Queues stores the counters of a port by class in dst. A host's port has counters of sent packets only, and only where maps
// are set (SetMap).
func (n *Network) Queues(at subnet.PortRef, dst *[MaxClasses]QueueStats) {
	pi, err := n.portIndex(at)
	if err != nil {
		return
	}
	for c := range n.classes {
		q := &n.queues[int(pi)*n.classes+c]
		dst[c] = QueueStats{q.octets, q.frames, q.drops, q.gone, q.marks, q.bytes, q.peak}
	}
}

// LinkStats count all packets that a port sent on its link and received from it.
type LinkStats struct {
	Up                         bool
	TxOctets, TxPackets        uint64
	RxOctets, RxPackets        uint64
	PausesSent, PausesReceived [MaxClasses]uint64               // PFC pause frames, by class
	PausedTime                 quantity.Picoseconds             // sum over all classes
	PausedTimes                [MaxClasses]quantity.Picoseconds // by class
	InDrops                    [MaxClasses]uint64               // packets received and dropped for lack of buffer, by class
}

// Link returns the counters of a port, all zero for a port without a link. Packets on the link are counted as sent at one end
// and not yet as received at the other.
func (n *Network) Link(at subnet.PortRef) LinkStats {
	pi, err := n.linked(at)
	if err != nil {
		return LinkStats{}
	}
	p := &n.ports[pi]
	far := &n.ports[p.peer]
	s := LinkStats{
		Up: !p.down, TxOctets: p.tx, TxPackets: n.sent(pi), RxOctets: far.tx - far.lostLoad, RxPackets: n.sent(p.peer) - far.lost,
		PausedTime: p.pausedFor(n.eng.Now()),
	}
	for c := range n.classes {
		in := &n.ingress[int(pi)*n.classes+c]
		s.PausesSent[c], s.PausesReceived[c], s.InDrops[c] = in.pausesSent, in.pausesReceived, in.drops
		s.PausedTimes[c] = p.classPausedFor(c, n.eng.Now())
	}
	for i := far.pipe.head; i != none; {
		k := n.pool.at(i)
		s.RxOctets -= uint64(k.wire)
		s.RxPackets--
		i = k.next
	}
	return s
}

// sent returns the number of packets that a port has sent on its link.
func (n *Network) sent(pi int32) uint64 {
	p := &n.ports[pi]
	all := p.frames
	for i := p.control.head; i != none; i = n.pool.at(i).next {
		all--
	}
	if p.host != none {
		return all + p.stats.TxPackets + n.hosts[p.host].replies
	}
	for c := range n.classes {
		all += n.queues[int(pi)*n.classes+c].frames
	}
	return all
}

// FairPort is the configuration of an egress port of a WRCC switch.
type FairPort struct {
	Off    bool // computes no fair rate and limits no flow; Params are ignored
	Params wrcc.Params
	Domain int16 // data centre whose senders it may notify, 0 to 255; -1 means none
	// Weights give classes a fair rate different from the port's, for switches that apply class weights themselves. Multiplier
	// 0 means the port's fair rate.
	Weights [MaxClasses]wrcc.ClassWeight
}

// FairStats are counters and current measurements of an egress port of a WRCC switch.
type FairStats struct {
	FairRateMbps uint32 // 0 if the port computes no fair rate
	AvgRTT       quantity.Picoseconds
	InBytes      uint64 // bytes received for this port, up to the end of the last period
	InPackets    uint64
	FCNPs        uint64 // caused by packets of the port
	Rewrites     uint64 // packets whose fair rate the port lowered
	Periods      uint64
	FairRateSum  uint64 // sum of the fair rates at the ends of these periods, Mbit/s
}

// SetFairRate changes the configuration of the ports of a WRCC switch: settings returns it for each port with a link. A new
// sampling period starts at the end of the current one; Params.Period must be the same for all ports. Fair rates stay within
// the new limits, and a port that was off starts at the largest fair rate. SetFairRate returns an error, and changes nothing,
// for a node that is not a WRCC switch and for settings out of range.
func (n *Network) SetFairRate(node int32, settings func(port ident.PortNum, rate quantity.BitRate) FairPort) error {
	if node < 0 || int(node) >= len(n.swOf) || n.swOf[node] == none || n.fair == nil {
		return fmt.Errorf("node %d is no WRCC switch", node)
	}
	f := &n.fair[n.swOf[node]]
	next := make([]FairPort, len(f.ports))
	period := quantity.Picoseconds(0)
	for k := range f.ports {
		p := &n.ports[f.first+int32(k)]
		if p.peer == none {
			continue
		}
		next[k] = settings(ident.PortNum(k), p.rate)
		if d := next[k].Domain; d < -1 || d > 255 {
			return fmt.Errorf("port %s: data centre %d: want 0 to 255, or -1 for none", n.PortName(n.ref(f.first+int32(k))), d)
		}
		if next[k].Off {
			continue
		}
		prm := &next[k].Params
		if err := prm.Validate(); err != nil {
			return fmt.Errorf("port %s: %w", n.PortName(n.ref(f.first+int32(k))), err)
		}
		if period != 0 && period != prm.Period {
			return fmt.Errorf("port %s: sampling period %s: want %s, the period of the other ports of the switch", n.PortName(n.ref(f.first+int32(k))), prm.Period, period)
		}
		period = prm.Period
	}
	if period != 0 {
		f.next = period
	}
	for k := range f.ports {
		if n.ports[f.first+int32(k)].peer != none {
			f.ports[k].adopt(&next[k], f.period)
		}
	}
	return nil
}

// adopt applies new settings to a port within the current period.
func (fp *fairPort) adopt(s *FairPort, period quantity.Picoseconds) {
	fp.off, fp.domain = s.Off, s.Domain
	fp.weights, fp.classWeighted = s.Weights, false
	if s.Off {
		fp.state.FairRate = float64(wrcc.MaxFairRate)
		fp.classWeighted = false
		return
	}
	fp.params = s.Params
	fp.params.Period = period
	fp.state.FairRate = min(max(fp.state.FairRate, float64(s.Params.Fmin)), float64(s.Params.Fmax))
	for _, w := range s.Weights {
		fp.classWeighted = fp.classWeighted || w.Multiplier > 0
	}
}

// adoptPeriod starts the first period of a different length, and clears the table of recently notified senders.
func (f *fairSwitch) adoptPeriod() {
	f.period = f.next
	for k := range f.ports {
		f.ports[k].params.Period = f.period
	}
	f.gate.SetPeriod(f.period)
}

// limit returns the fair rate in a departing packet of a class, and whether it is less than the packet's rate.
func (fp *fairPort) limit(mbps uint32, cls uint8) (uint32, bool) {
	if !fp.classWeighted || fp.weights[cls].Multiplier == 0 {
		return fp.state.Limit(mbps)
	}
	if own := fp.weights[cls].Apply(fp.state.Mbps()); mbps > own {
		return own, true
	}
	return mbps, false
}

// FairRate returns the counters and measurements of an egress port of a WRCC switch, and false for another port.
func (n *Network) FairRate(at subnet.PortRef) (FairStats, bool) {
	pi, err := n.linked(at)
	if err != nil || n.fair == nil || n.ports[pi].sw == none {
		return FairStats{}, false
	}
	fp := &n.fair[n.ports[pi].sw].ports[at.Port]
	s := fp.stats
	if !fp.off {
		s.FairRateMbps = fp.state.Mbps()
	}
	s.AvgRTT = quantity.Picoseconds(fp.state.AvgRTT * float64(quantity.Second))
	return s, true
}
