package fabric

import (
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// Limits that bound the size of a network for any input.
const (
	MaxQPs = 1 << 20 // queue pairs in one network
)

// FlowSpec describes an aggregate of identical queue pairs from one channel-adapter port to another.
type FlowSpec struct {
	Name   string
	Tenant int // number chosen by the caller; FlowState returns it
	PKey   ident.PKey
	Src    subnet.PortRef
	Dst    subnet.PortRef
	SL     ident.SL
	QPs    int // at least 1; each has its own CCTI in QP mode
	// Demand limits the whole aggregate, in bits per second of whole packets (with headers), evenly over the queue pairs; 0
	// means no limit. A queue pair behind its demand may send up to 16 packets without a gap.
	Demand quantity.BitRate
	// Start and Stop limit the time of sending; Stop 0 means no end.
	Start, Stop quantity.Picoseconds
	// Bytes is the payload to deliver, evenly over the queue pairs; 0 means unlimited.
	Bytes uint64
	// PathBits select one of the 2^LMC LIDs of the destination and of the source.
	PathBits uint8
}

// FlowID identifies a flow of a network.
type FlowID int32

// FlowState is the progress of a flow.
type FlowState struct {
	Spec FlowSpec // with the current SL
	// Sent and Delivered count data packets, and bytes of payload and of whole packets.
	SentPkts, SentBytes, SentPayload                uint64
	DeliveredPkts, DeliveredBytes, DeliveredPayload uint64
	// Discarded counts data packets, and their payload, that were lost in the fabric. A finite flow sends the lost bytes again,
	// and they count as sent again.
	DiscardedPkts, DiscardedPayload uint64
	Marked                          uint64 // packets delivered with FECN
	BECNs                           uint64 // BECNs that reached the source
	CCTI                            []uint16
	QPDelivered                     []uint64 // bytes of whole packets, by queue pair
	Done                            bool     // the flow is finite and every byte is delivered
	CompletedAt                     quantity.Picoseconds
	Stopped                         bool
}

type flow struct {
	spec                    FlowSpec
	firstQP                 int32
	qps                     int32
	stopped                 bool
	sentPkts, sentPayload   uint64
	delivPkts, delivPayload uint64
	lostPkts, lostPayload   uint64
	marked, becns           uint64
	completedAt             quantity.Picoseconds
}

// qp is the sender of one queue pair, with the state of its receiver.
type qp struct {
	next     int32 // next queue pair in the list that contains this one
	flow     int32
	src, dst int32                // ports
	left     int64                // payload bytes to send; unused in unlimited flows
	gap      quantity.Picoseconds // time between packets of a demand-limited flow; 0 without a limit
	due      quantity.Picoseconds // time at which the demand allows the next packet
	pace     pace
	cc       cc.IBState
	mtu      uint16 // payload of a full packet
	sl       ident.SL
	endless  bool
	queued   bool // whether it is in a list or a wait queue
	// State of the receiver.
	unacked   uint16
	ackWaits  int32 // acknowledgement waiting to be sent, or none
	delivered uint64
}

// AddFlow adds a flow whose queue pairs send from max(Start, now) on. It returns an error for ports that are not
// channel-adapter ports with a link, an SL above 15, a total number of queue pairs outside 1 to MaxQPs, and a Stop before
// Start.
func (n *Network) AddFlow(f FlowSpec) (FlowID, error) {
	src, dst, err := n.checkFlow(&f)
	if err != nil {
		return 0, fmt.Errorf("flow %q: %w", f.Name, err)
	}
	id := int32(len(n.flows))
	fl := flow{spec: f, firstQP: int32(len(n.qps)), qps: int32(f.QPs)}
	mtu := min(n.ports[src].mtu, n.ports[dst].mtu)
	now := n.eng.Now()
	start := max(f.Start, now)
	h := &n.hosts[n.ports[src].host]
	n.flows = append(n.flows, fl)
	for i := range f.QPs {
		q := qp{flow: id, src: src, dst: dst, mtu: mtu, sl: f.SL, endless: f.Bytes == 0, due: start, ackWaits: none, next: none}
		if f.Demand > 0 {
			q.gap = n.demandGap(f.Demand, f.QPs, int(mtu))
			// The first packets are spread over one gap, so that identical queue pairs alternate.
			q.due += q.gap / quantity.Picoseconds(f.QPs) * quantity.Picoseconds(i)
		}
		if f.Bytes > 0 {
			q.left = int64(f.Bytes / uint64(f.QPs))
			if uint64(i) < f.Bytes%uint64(f.QPs) {
				q.left++
			}
		}
		q.cc.Adopt(now, &h.params[f.SL])
		qi := int32(len(n.qps))
		n.qps = append(n.qps, q)
		h.qps = append(h.qps, qi)
		if f.Bytes == 0 || q.left > 0 {
			n.wakeQP(qi)
		}
	}
	return FlowID(id), nil
}

func (n *Network) checkFlow(f *FlowSpec) (src, dst int32, err error) {
	for _, e := range []struct {
		what string
		ref  subnet.PortRef
		pi   *int32
	}{{"source", f.Src, &src}, {"destination", f.Dst, &dst}} {
		*e.pi = n.portIndex(e.ref.Node, e.ref.Port)
		if *e.pi == none || n.ports[*e.pi].host == none || n.ports[*e.pi].peer == none {
			return 0, 0, fmt.Errorf("%s node %d port %d: want a channel-adapter port with a link", e.what, e.ref.Node, e.ref.Port)
		}
	}
	switch {
	case src == dst:
		return 0, 0, fmt.Errorf("source and destination are the same port")
	case f.SL >= ident.NumSLs:
		return 0, 0, fmt.Errorf("SL %d: want 0 to 15", f.SL)
	case f.QPs < 1:
		return 0, 0, fmt.Errorf("%d queue pairs: want at least 1", f.QPs)
	case f.QPs > MaxQPs-len(n.qps):
		return 0, 0, fmt.Errorf("%d queue pairs in addition to %d: want at most %d on one fabric", f.QPs, len(n.qps), MaxQPs)
	case f.Demand < 0 || f.Demand > quantity.MaxBitRate:
		return 0, 0, fmt.Errorf("demand %s: want 0 to %s", f.Demand, quantity.MaxBitRate)
	case f.Bytes > 1<<60:
		return 0, 0, fmt.Errorf("%d bytes: want at most 2^60", f.Bytes)
	case f.Start < 0 || f.Stop < 0 || f.Stop > 0 && f.Stop < f.Start:
		return 0, 0, fmt.Errorf("start %s, stop %s: want 0 <= start <= stop, or stop 0", f.Start, f.Stop)
	}
	return src, dst, nil
}

// demandGap returns the time between packets of each queue pair of an aggregate.
func (n *Network) demandGap(demand quantity.BitRate, qps, mtu int) quantity.Picoseconds {
	gap := float64(mtu+DataHeader) * 8e12 * float64(qps) / float64(demand)
	return quantity.Picoseconds(min(gap, float64(sim.Never/4)))
}

// wakeQP makes an idle queue pair ready on its host.
func (n *Network) wakeQP(qi int32) {
	q := &n.qps[qi]
	if q.queued {
		return
	}
	q.queued = true
	p := &n.ports[q.src]
	at := max(q.due, n.eng.Now())
	n.hosts[p.host].wait.Push(at, waitQP, qi, 0)
	n.kick(q.src, p, max(at, p.busyUntil))
}

// SetFlowSL moves a flow to another SL. Packets sent from now on use it, as when an application resolves its path again. An
// unknown flow or an SL above 15 is ignored.
func (n *Network) SetFlowSL(id FlowID, sl ident.SL) {
	if id < 0 || int(id) >= len(n.flows) || sl >= ident.NumSLs || n.flows[id].spec.SL == sl {
		return
	}
	f := &n.flows[id]
	now := n.eng.Now()
	for qi := f.firstQP; qi < f.firstQP+f.qps; qi++ {
		q := &n.qps[qi]
		h := &n.hosts[n.ports[q.src].host]
		q.cc.Index(now, &h.params[q.sl])
		q.cc.Adopt(now, &h.params[sl])
		old := q.sl
		q.sl = sl
		if h.perSL {
			n.timeGate(h, old) // the queue pair that waits for the turn of the old SL may never use it
			n.kick(q.src, &n.ports[q.src], now)
		}
	}
	f.spec.SL = sl
}

// StopFlow stops the sending of a flow; packets already sent still arrive. An unknown flow is ignored.
func (n *Network) StopFlow(id FlowID) {
	if id >= 0 && int(id) < len(n.flows) {
		n.flows[id].stopped = true
	}
}

// Flows returns the number of flows added so far; their IDs are 0 to this number minus 1.
func (n *Network) Flows() int { return len(n.flows) }

// Flow returns the progress of a flow, and the zero value for an unknown flow.
func (n *Network) Flow(id FlowID) FlowState {
	if id < 0 || int(id) >= len(n.flows) {
		return FlowState{}
	}
	f := &n.flows[id]
	s := FlowState{
		Spec:     f.spec,
		SentPkts: f.sentPkts, SentPayload: f.sentPayload, SentBytes: f.sentPayload + f.sentPkts*DataHeader,
		DeliveredPkts: f.delivPkts, DeliveredPayload: f.delivPayload, DeliveredBytes: f.delivPayload + f.delivPkts*DataHeader,
		DiscardedPkts: f.lostPkts, DiscardedPayload: f.lostPayload,
		Marked: f.marked, BECNs: f.becns, CompletedAt: f.completedAt,
		Done:    f.spec.Bytes > 0 && f.delivPayload >= f.spec.Bytes,
		Stopped: f.stopped || f.spec.Stop > 0 && n.eng.Now() >= f.spec.Stop,
	}
	for qi := f.firstQP; qi < f.firstQP+f.qps; qi++ {
		s.CCTI = append(s.CCTI, n.ccti(&n.qps[qi]))
		s.QPDelivered = append(s.QPDelivered, n.qps[qi].delivered)
	}
	return s
}

// Delivered returns the bytes of whole packets that a flow has delivered. It is cheaper than Flow.
func (n *Network) Delivered(id FlowID) uint64 {
	if id < 0 || int(id) >= len(n.flows) {
		return 0
	}
	f := &n.flows[id]
	return f.delivPayload + f.delivPkts*DataHeader
}
