package fabric

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet/ident"
)

// CAEvents is the capacity of a channel adapter's congestion log, in events (CongestionLog, CA form).
const CAEvents = 13

// CAEvent records that a CCTI reached Trigger_Threshold. Service 0 is RC.
type CAEvent struct {
	LocalQP, RemoteQP ident.QPN
	SL                ident.SL
	Service           uint8
	RemoteLID         ident.LID
	At                quantity.Picoseconds
}

// CALog is a channel-adapter port's congestion log: the number of threshold events, their SLs (one bit per SL), and the latest
// events, oldest first.
type CALog struct {
	Events uint64
	SLs    uint16
	Last   []CAEvent
}

type caLog struct {
	events uint64
	sls    uint16
	last   [CAEvents]CAEvent
}

func (g *caLog) add(sl ident.SL, e CAEvent) {
	g.last[g.events%CAEvents] = e
	g.events++
	g.sls |= 1 << sl
}

// hostAt returns the host of a channel-adapter port, or nil.
func (n *Network) hostAt(node int32, num ident.PortNum) *host {
	if p := n.port(node, num); p != nil && p.host != none {
		return &n.hosts[p.host]
	}
	return nil
}

// CALog returns a copy of the congestion log of a channel-adapter port.
func (n *Network) CALog(node int32, num ident.PortNum) CALog {
	h := n.hostAt(node, num)
	if h == nil {
		return CALog{}
	}
	return CALog{h.log.events, h.log.sls, lastOf(h.log.last[:], h.log.events)}
}

// SetCAParams sets Port_Control (one CCTI per SL, or per queue pair) and the parameters of all SLs of a channel-adapter port.
// CCTIs keep their values within the new limits, and the free-running timers start new cycles, each with its own phase.
func (n *Network) SetCAParams(node int32, num ident.PortNum, perSL bool, params [ident.NumSLs]ibcc.SLParams) {
	if h := n.hostAt(node, num); h != nil {
		n.settle(h)
		h.settings = n.held(node, params)
		n.prepare(h)
		n.setMode(h, n.modeOf(node, perSL))
	}
}

// CAParams returns the values that SetCAParams set.
func (n *Network) CAParams(node int32, num ident.PortNum) (perSL bool, params [ident.NumSLs]ibcc.SLParams) {
	if h := n.hostAt(node, num); h != nil {
		return h.perSL, h.settings
	}
	return false, params
}

// SetCCTBlock writes 64 entries of a port's congestion control table, and the table's CCTI_Limit. A limit beyond CCTEntries
// selects the last entry; a block beyond CCTBlocks is ignored.
func (n *Network) SetCCTBlock(node int32, num ident.PortNum, limit uint16, block int, entries [ibcc.BlockEntries]ibcc.Entry) {
	h := n.hostAt(node, num)
	if h == nil || block < 0 || block >= n.CCTBlocks(node) {
		return
	}
	n.settle(h)
	for len(h.table) < (block+1)*ibcc.BlockEntries {
		h.table = append(h.table, ibcc.Entry{})
	}
	copy(h.table[block*ibcc.BlockEntries:], n.heldEntries(node, entries[:]))
	h.limit = min(limit, uint16(n.CCTEntries(node)-1))
	n.prepare(h)
}

// CCTBlock returns 64 entries of a port's congestion control table; entries never written are zero.
func (n *Network) CCTBlock(node int32, num ident.PortNum, block int) [ibcc.BlockEntries]ibcc.Entry {
	var e [ibcc.BlockEntries]ibcc.Entry
	if h := n.hostAt(node, num); h != nil && block >= 0 && block*ibcc.BlockEntries < len(h.table) {
		copy(e[:], h.table[block*ibcc.BlockEntries:])
	}
	return e
}

// CCTILimit returns the port's CCTI_Limit; it is initially 0.
func (n *Network) CCTILimit(node int32, num ident.PortNum) uint16 {
	if h := n.hostAt(node, num); h != nil {
		return h.limit
	}
	return 0
}

// ApplyCA sets the complete congestion control of a channel-adapter port: the table in blocks, then the parameters.
func (n *Network) ApplyCA(node int32, num ident.PortNum, s ibcc.CASettings) {
	for b := 0; b*ibcc.BlockEntries < len(s.Table); b++ {
		var block [ibcc.BlockEntries]ibcc.Entry
		copy(block[:], s.Table[b*ibcc.BlockEntries:])
		n.SetCCTBlock(node, num, s.Limit, b, block)
	}
	n.SetCAParams(node, num, s.PerSL, s.SLs)
}

// settle advances every CCTI of the port to the current time with the current parameters.
func (n *Network) settle(h *host) {
	now := n.eng.Now()
	for _, qi := range h.qps {
		q := &n.qps[qi]
		q.cc.Index(now, &h.params[q.sl])
	}
	for sl := range h.gates {
		h.gates[sl].cc.Index(now, &h.params[sl])
	}
}

// prepare derives parameters and delays from the settings, and adapts every CCTI to them.
func (n *Network) prepare(h *host) {
	now := n.eng.Now()
	unit, restart := n.timerOf(n.ports[h.port].node)
	for sl := range h.params {
		phase := sim.Hash(n.cfg.Seed, uint64(h.port), uint64(sl))
		h.params[sl] = cc.NewIBParams(h.settings[sl], h.limit, unit, restart, phase)
		h.gates[sl].cc.Adopt(now, &h.params[sl])
	}
	h.ird = cc.NewIRD(h.table, h.limit)
	for _, qi := range h.qps {
		q := &n.qps[qi]
		q.cc.Adopt(now, &h.params[q.sl])
	}
	n.reconsider(h)
}

// setMode switches between QP and SL mode, and makes ready the queue pairs that waited for their SL.
func (n *Network) setMode(h *host, perSL bool) {
	if h.perSL == perSL {
		return
	}
	h.perSL = perSL
	for sl := range h.gates {
		g := &h.gates[sl]
		g.pace = pace{}
		for !g.parked.empty() {
			n.makeReady(h, g.parked.popQP(n.qps))
		}
	}
}

// ccti returns the CCTI that currently delays a queue pair.
func (n *Network) ccti(q *qp) uint16 {
	h := &n.hosts[n.ports[q.src].host]
	if h.perSL {
		return h.gates[q.sl].cc.Index(n.eng.Now(), &h.params[q.sl])
	}
	return q.cc.Index(n.eng.Now(), &h.params[q.sl])
}
