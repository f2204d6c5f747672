package fabric

import (
	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet/ident"
)

// Kinds of the entries in a host's wait queue.
const (
	waitQP   uint8 = iota // A: queue pair
	waitGate              // A: SL whose injection delay ends
)

// demandBurst is the largest number of packets by which a demand-limited queue pair catches up.
const demandBurst = 16

// host is the sender and receiver of one channel-adapter port.
type host struct {
	port  int32
	sl2vl [ident.NumSLs]ident.VL
	wait  sim.Queue // queue pairs and SL gates that wait for a time
	qps   []int32   // all queue pairs that send from this port

	// Congestion control: the settings, and the values derived from them.
	perSL    bool
	settings [ident.NumSLs]ibcc.SLParams
	params   [ident.NumSLs]cc.IBParams
	table    []ibcc.Entry
	limit    uint16
	ird      cc.IRD
	log      caLog

	// SL mode: one CCTI, one injection delay and one queue of waiting queue pairs per SL.
	gates [ident.NumSLs]gate
}

// pace describes the last aggregate sent; the injection rate delay starts from it.
type pace struct {
	end    quantity.Picoseconds // end of its last packet
	burst  quantity.Picoseconds // transmission time of its packets so far
	count  uint8                // number of its packets sent so far
	closed bool                 // the aggregate is complete: the delay applies
}

// gate is the CCTI of an SL in SL mode, with its injection rate delay.
type gate struct {
	cc     cc.IBState
	pace   pace
	timed  bool // the wait queue contains the opening time of the gate
	parked list // queue pairs that must wait for the gate
}

// sent adds a packet of transmission time t that ends at end to the aggregate.
func (n *Network) sent(c *pace, end, t quantity.Picoseconds) {
	if c.closed {
		*c = pace{}
	}
	c.end = end
	c.burst += t
	c.count++
	c.closed = int(c.count) >= n.cfg.Aggregate
}

// readyAt returns the earliest start of the next packet that a CCTI allows.
func (h *host) readyAt(now quantity.Picoseconds, c *pace, state *cc.IBState, sl ident.SL) quantity.Picoseconds {
	if !c.closed {
		return c.end
	}
	return state.ReadyAt(now, &h.params[sl], h.ird, c.end, c.burst)
}

// eligibleAt returns the earliest time at which a queue pair may send, by its demand and, in QP mode, its CCTI.
func (h *host) eligibleAt(now quantity.Picoseconds, q *qp) quantity.Picoseconds {
	if h.perSL {
		return q.due
	}
	return max(q.due, h.readyAt(now, &q.pace, &q.cc, q.sl))
}

// opensAt returns the earliest time at which an SL may send in SL mode.
func (h *host) opensAt(now quantity.Picoseconds, sl ident.SL) quantity.Picoseconds {
	return h.readyAt(now, &h.gates[sl].pace, &h.gates[sl].cc, sl)
}

// release makes ready all queue pairs and gates whose wait has ended.
func (n *Network) release(h *host, now quantity.Picoseconds) {
	for h.wait.NextAt() <= now {
		ev, _ := h.wait.Pop()
		if ev.Kind() == waitQP {
			n.makeReady(h, ev.A)
		} else {
			n.openGate(h, ident.SL(ev.A), now)
		}
	}
}

// openGate releases one parked queue pair of the SL, or all of them when nothing delays the SL any more.
func (n *Network) openGate(h *host, sl ident.SL, now quantity.Picoseconds) {
	g := &h.gates[sl]
	g.timed = false
	if h.opensAt(now, sl) > now {
		n.timeGate(h, sl)
		return
	}
	delayed := h.ird.Delay(g.cc.Index(now, &h.params[sl]), quantity.Microsecond) > 0
	for !g.parked.empty() {
		qi := g.parked.popQP(n.qps)
		n.makeReady(h, qi)
		if delayed && n.qps[qi].sl == sl {
			return
		}
	}
}

// timeGate adds the opening of a gate with parked queue pairs to the wait queue.
func (n *Network) timeGate(h *host, sl ident.SL) {
	g := &h.gates[sl]
	if !g.timed && !g.parked.empty() {
		g.timed = true
		h.wait.Push(h.opensAt(n.eng.Now(), sl), waitGate, int32(sl), 0)
	}
}

// reconsider re-evaluates all waiting queue pairs and gates after a change of the delays.
func (n *Network) reconsider(h *host) {
	waiting := h.wait
	h.wait = sim.Queue{}
	now := n.eng.Now()
	for {
		ev, ok := waiting.Pop()
		if !ok {
			break
		}
		h.wait.Push(now, ev.Kind(), ev.A, ev.B)
	}
	n.kick(h.port, &n.ports[h.port], now)
}

// makeReady queues a queue pair on the lane of its SL, or adds it to the unresolved list when it has no lane or no path.
func (n *Network) makeReady(h *host, qi int32) {
	q := &n.qps[qi]
	p := &n.ports[h.port]
	vl := h.sl2vl[q.sl]
	if !p.usable(vl) || n.lids[q.src].base == 0 || n.lids[q.dst].base == 0 {
		n.unresolved.pushQP(n.qps, qi)
		if h.perSL {
			n.timeGate(h, q.sl) // the next queue pair of the SL gets the turn
		}
		return
	}
	p.lanes[vl].ready.pushQP(n.qps, qi)
	p.pending |= 1 << vl
}

// wakeUnresolved retries every queue pair without a lane or path.
func (n *Network) wakeUnresolved() {
	l := n.unresolved
	n.unresolved = emptyList()
	for !l.empty() {
		qi := l.popQP(n.qps)
		n.qps[qi].queued = false
		n.wakeQP(qi)
	}
}

// takeHost takes the next packet of a lane: an acknowledgement first, otherwise the packet of the queue pair next in turn. It
// returns none if that queue pair has no packet for this lane; the caller then chooses again.
func (n *Network) takeHost(p *port, vl int) int32 {
	l := &p.lanes[vl]
	h := &n.hosts[p.host]
	if !l.acks.empty() {
		pk := l.acks.popPacket(n.pool.all)
		n.clearIdle(p, l, vl)
		k := &n.pool.all[pk]
		if k.flags&flagCNP == 0 {
			n.qps[k.qp].ackWaits = none
		}
		return pk
	}
	qi := l.ready.popQP(n.qps)
	n.clearIdle(p, l, vl)
	q := &n.qps[qi]
	now := n.eng.Now()
	switch {
	case n.finished(q, now):
		q.queued = false
		n.timeGate(h, q.sl) // the next queue pair of the SL gets the turn
		return none
	case h.sl2vl[q.sl] != ident.VL(vl) || !p.usable(ident.VL(vl)) || n.lids[q.src].base == 0 || n.lids[q.dst].base == 0:
		n.makeReady(h, qi)
		return none
	case h.perSL && h.opensAt(now, q.sl) > now:
		h.gates[q.sl].parked.pushQP(n.qps, qi)
		n.timeGate(h, q.sl)
		return none
	}
	if at := h.eligibleAt(now, q); at > now { // a BECN arrived after the queue pair was made ready
		h.wait.Push(at, waitQP, qi, 0)
		return none
	}
	return n.emit(p, h, qi, vl)
}

// clearIdle clears the lane's pending bit when the lane is empty.
func (n *Network) clearIdle(p *port, l *lane, vl int) {
	if l.acks.empty() && l.ready.empty() {
		p.pending &^= 1 << vl
	}
}

// finished reports whether a queue pair has nothing more to send.
func (n *Network) finished(q *qp, now quantity.Picoseconds) bool {
	f := &n.flows[q.flow]
	return f.stopped || f.spec.Stop > 0 && now >= f.spec.Stop || !q.endless && q.left <= 0
}

// emit creates the queue pair's next packet and determines when it may send again.
func (n *Network) emit(p *port, h *host, qi int32, vl int) int32 {
	pk := n.pool.get()
	q := &n.qps[qi]
	f := &n.flows[q.flow]
	payload := q.mtu
	if !q.endless {
		payload = uint16(min(q.left, int64(q.mtu)))
		q.left -= int64(payload)
	}
	size := int(payload) + DataHeader
	n.pool.all[pk] = packet{
		qp: qi, size: uint16(size), payload: payload, blocks: blocksFor(size), sl: q.sl, vl: ident.VL(vl),
		slid: n.lids[q.src].with(f.spec.PathBits), dlid: n.lids[q.dst].with(f.spec.PathBits),
	}
	f.sentPkts++
	f.sentPayload += uint64(payload)

	now := n.eng.Now()
	t := p.txTime(size)
	end := now + t
	if q.gap > 0 {
		q.due = max(q.due+q.gap, now-demandBurst*q.gap)
	}
	if h.perSL {
		n.sent(&h.gates[q.sl].pace, end, t)
		n.timeGate(h, q.sl)
	} else {
		n.sent(&q.pace, end, t)
	}
	next := h.eligibleAt(now, q)
	switch {
	case n.finished(q, now):
		q.queued = false
	case next > end:
		h.wait.Push(next, waitQP, qi, 0)
	default:
		p.lanes[vl].ready.pushQP(n.qps, qi)
		p.pending |= 1 << vl
	}
	return pk
}

// receive consumes a packet that reached a channel adapter.
func (n *Network) receive(pi int32, p *port, pk int32) {
	k := n.pool.all[pk]
	n.returnCredit(p, k.vl, int32(k.blocks), n.eng.Now())
	if !n.lids[pi].has(k.dlid) {
		n.discard(p, pk)
		return
	}
	n.pool.put(pk)
	if k.flags&flagAck != 0 {
		if k.flags&flagBECN != 0 {
			p.tally.becn[k.sl]++
			n.react(p, &k)
		}
		return
	}
	q := &n.qps[k.qp]
	f := &n.flows[q.flow]
	n.deliveredPkts++
	f.delivPkts++
	f.delivPayload += uint64(k.payload)
	q.delivered += uint64(k.size)
	if f.spec.Bytes > 0 && f.completedAt == 0 && f.delivPayload >= f.spec.Bytes {
		f.completedAt = n.eng.Now()
	}
	q.unacked++
	fecn := k.flags&flagFECN != 0
	if fecn {
		p.tally.fecn[k.sl]++
		f.marked++
	}
	switch {
	case fecn && n.cfg.Becn == BecnByCNP:
		n.answer(pi, p, &k, flagAck|flagBECN|flagCNP, CNPSize)
		fallthrough
	case !fecn:
		if int(q.unacked) >= n.cfg.AckEvery || f.spec.Bytes > 0 && f.delivPayload >= f.spec.Bytes {
			n.acknowledge(pi, p, q, &k, 0)
		}
	default:
		n.acknowledge(pi, p, q, &k, flagBECN)
	}
}

// acknowledge sends an acknowledgement, or merges it with one still waiting to be sent.
func (n *Network) acknowledge(pi int32, p *port, q *qp, k *packet, becn uint8) {
	q.unacked = 0
	if q.ackWaits != none {
		n.pool.all[q.ackWaits].flags |= becn
		return
	}
	pk := n.answer(pi, p, k, flagAck|becn, AckSize)
	if pk != none && n.waiting(p, pk) {
		n.qps[k.qp].ackWaits = pk
	}
}

// waiting reports whether an acknowledgement that answer has just queued is still queued at the port; otherwise it is already
// on the link.
func (n *Network) waiting(p *port, pk int32) bool {
	l := &p.lanes[n.pool.all[pk].vl]
	return !l.acks.empty() && l.acks.tail == pk
}

// answer sends a packet to the source of k on the same SL. It returns none if the reverse path has no lane.
func (n *Network) answer(pi int32, p *port, k *packet, flags uint8, size int) int32 {
	h := &n.hosts[p.host]
	vl := h.sl2vl[k.sl]
	if !p.usable(vl) {
		p.tally.discards++
		return none
	}
	pk := n.pool.get()
	n.pool.all[pk] = packet{
		next: none, qp: k.qp, slid: k.dlid, dlid: k.slid, size: uint16(size), blocks: blocksFor(size),
		sl: k.sl, vl: vl, flags: flags,
	}
	p.lanes[vl].acks.pushPacket(n.pool.all, pk)
	p.pending |= 1 << vl
	n.transmit(pi)
	return pk
}

// react applies a received BECN at the source of the acknowledged packet.
func (n *Network) react(p *port, k *packet) {
	n.becns++
	q := &n.qps[k.qp]
	n.flows[q.flow].becns++
	h := &n.hosts[p.host]
	now := n.eng.Now()
	sl := k.sl
	state := &q.cc
	if h.perSL {
		state = &h.gates[sl].cc
	} else {
		sl = q.sl
	}
	if state.BECN(now, &h.params[sl]) {
		h.log.add(sl, CAEvent{LocalQP: qpn(k.qp), RemoteQP: qpn(k.qp), SL: sl, RemoteLID: k.slid, At: now})
	}
}

// qpn returns the queue pair number of both ends; 0 and 1 are the management queue pairs.
func qpn(qi int32) ident.QPN { return ident.QPN(qi) + 0x48 }
