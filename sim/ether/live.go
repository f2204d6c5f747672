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

// Settings of a network may change between two calls of RunUntil. They act from that instant on, and the run stays a
// function of topology, configuration, flows and the changes with their instants. What a port has counted, and
// the state of queues and flows, stays.

// FlowRef names a flow from its start to its end.
type FlowRef struct {
	slot int32
	gen  uint16
}

// Slot returns the number of the flow among those under way; a later flow may have it again.
func (r FlowRef) Slot() int32 { return r.slot }

var errGone = errors.New("the flow is over, or never was")

// HostStats are what a host has counted besides octets.
type HostStats struct {
	Marked      uint64 // data packets that came with an ECN mark that a notification answers
	CNPsSent    uint64
	CNPsHandled uint64
	CNPsIgnored uint64 // that came while its reaction point was off
	OutOfOrder  uint64 // data packets that came above a gap
	Nacks       uint64 // reports of gaps sent
	Timeouts    uint64 // of its senders
}

// Notification is what the receivers of a host do about marks.
type Notification struct {
	Off     bool                 // they send no notification packets
	PerPort bool                 // the gap is one for the port, not one for each flow
	Gap     quantity.Picoseconds // least time between two; 0 to 1 s
}

// SetNotification changes what the receivers of a host do about marks.
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

// SetReaction makes the senders of a host heed notification packets, or count and ignore them. Limiters that are at
// work are the algorithm's.
func (n *Network) SetReaction(host int32, on bool) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].deaf = !on
	return nil
}

// SetInert makes the senders of a host count notification packets as handled without passing them to their algorithm, as a NIC does
// whose DCQCN another algorithm replaces.
func (n *Network) SetInert(host int32, on bool) error {
	if err := n.checkHost(host); err != nil {
		return err
	}
	n.hosts[host].inert = on
	return nil
}

// SetCapable makes the data of a host ECN-capable, which it is by default, or not: then no switch marks it.
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

// SetDomain tells a host which data centre it belongs to, 0 to 255 (WRCC). What its running senders take it for is
// the algorithm's.
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

// Host returns what a host has counted so far; nothing for a host that does not exist.
func (n *Network) Host(host int32) HostStats {
	if n.checkHost(host) != nil {
		return HostStats{}
	}
	return n.hosts[host].stats
}

// SetECN changes the marking of one class of a switch port. Thresholds are taken as they are, with no scaling by
// RatePer and no defaults.
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

// ForRate returns the rule as it is for a link: defaults filled in, thresholds scaled.
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

// lookup returns a flow that has not ended.
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

// Flow returns what the sender of a flow knows of it now, and false when it is over. Timers are settled to now.
func (n *Network) Flow(r FlowRef) (FlowState, bool) {
	f, err := n.lookup(r)
	if err != nil {
		return FlowState{}, false
	}
	n.settle(r.slot, f)
	return n.stateOf(r.slot, f), true
}

// Stop ends a flow as FlowSpec.Stop does. A flow that is over stays so.
func (n *Network) Stop(r FlowRef) { n.stop(r.slot, r.gen) }

// Reweigh gives a running flow another weight, more than 0. It fails for a flow that is over and for one whose
// algorithm has no weights.
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

// SetDemand changes the most that the application of a flow offers; 0 is no bound.
func (n *Network) SetDemand(r FlowRef, d quantity.BitRate) error {
	f, err := n.lookup(r)
	if err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("demand %d bit/s: want 0 for no bound, or more", int64(d))
	}
	f.demand = kbps(d)
	if f.state == stateWaiting { // its deadline is of the old demand
		f.state, f.due = stateIdle, n.eng.Now()
		n.consider(r.slot, f)
	}
	return nil
}

// QueueStats are what a switch port has counted of one class. Octets are on the wire.
type QueueStats struct {
	TxOctets, TxPackets  uint64
	Drops, DroppedOctets uint64 // that found no room in it, or no link behind it
	Marks                uint64
	Bytes, Peak          int64 // held now, and the most that was
}

// Queues returns what a port has counted by class, into dst, which has room for all classes; of a host's port what it
// has sent, once there are maps (SetMap).
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

// LinkStats are what a port has put on its link and taken from it, of all packets.
type LinkStats struct {
	Up                         bool
	TxOctets, TxPackets        uint64
	RxOctets, RxPackets        uint64
	PausesSent, PausesReceived [MaxClasses]uint64               // PFC, by class
	PausedTime                 quantity.Picoseconds             // of all classes together
	PausedTimes                [MaxClasses]quantity.Picoseconds // by class
	InDrops                    [MaxClasses]uint64               // packets that found no room after arriving, by class
}

// Link returns what a port has sent and received so far; nothing for a port without a link. What is on the
// link has been sent by one end and not received by the other.
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
		s.PausesSent[c], s.PausesReceived[c], s.InDrops[c] = in.asked, in.obeyed, in.drops
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

// sent returns the packets that a port has put on its link.
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

// FairPort is what an egress port of a WRCC switch goes by.
type FairPort struct {
	Off    bool // computes no fair rate and limits nobody; Params do not count
	Params wrcc.Params
	Domain int16 // data centre whose senders it may tell, 0 to 255; -1 is none
	// Weights make the fair rate of a class another than the port's, for switches that weigh classes themselves; one
	// with multiplier 0 does not.
	Weights [MaxClasses]wrcc.ClassWeight
}

// FairStats are what an egress port of a WRCC switch has counted, and measures now.
type FairStats struct {
	FairRateMbps uint32 // 0 while it computes none
	AvgRTT       quantity.Picoseconds
	InBytes      uint64 // on their way to the port, up to the end of the last period
	InPackets    uint64
	FCNPs        uint64 // made from packets of the port
	Rewrites     uint64 // packets whose fair rate the port lowered
	Periods      uint64
	FairRateSum  uint64 // of the fair rates at the ends of those, Mbit/s
}

// SetFairRate changes what the ports of a WRCC switch go by: those with a link, by what settings returns for each.
// A new sampling period begins when the present one ends; Params.Period must be the same for all. Fair rates stay, within
// the new bounds; a port that was off begins at the largest. It fails, and changes nothing, for a node that is no WRCC switch and for settings out of range.
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
			return fmt.Errorf("port %s: sampling period %s: want %s, that of the other ports of the switch", n.PortName(n.ref(f.first+int32(k))), prm.Period, period)
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

// adopt makes a port go by new settings, in a period that goes on.
func (fp *fairPort) adopt(s *FairPort, period quantity.Picoseconds) {
	fp.off, fp.domain = s.Off, s.Domain
	fp.weights, fp.weighs = s.Weights, false
	if s.Off {
		fp.state.FairRate = float64(wrcc.MaxFairRate)
		fp.weighs = false
		return
	}
	fp.params = s.Params
	fp.params.Period = period
	fp.state.FairRate = min(max(fp.state.FairRate, float64(s.Params.Fmin)), float64(s.Params.Fmax))
	for _, w := range s.Weights {
		fp.weighs = fp.weighs || w.Multiplier > 0
	}
}

// adoptPeriod begins the first period of another length. Senders lately told are forgotten.
func (f *fairSwitch) adoptPeriod() {
	f.period = f.next
	for k := range f.ports {
		f.ports[k].params.Period = f.period
	}
	f.gate.SetPeriod(f.period)
}

// limit returns the fair rate that a packet of a class leaves with, and whether that is less than it asks for.
func (fp *fairPort) limit(mbps uint32, cls uint8) (uint32, bool) {
	if !fp.weighs || fp.weights[cls].Multiplier == 0 {
		return fp.state.Limit(mbps)
	}
	if own := fp.weights[cls].Apply(fp.state.Mbps()); mbps > own {
		return own, true
	}
	return mbps, false
}

// FairRate returns what an egress port of a WRCC switch has counted and measures, and false for another port.
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
