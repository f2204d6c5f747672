package ether

import (
	"fairlane/sim/cc"
)

// receive handles a packet at its destination host.
func (n *Network) receive(p *port, pk int32) {
	k := n.pool.at(pk)
	if k.kind == kindData {
		n.totals.DeliveredPackets++
		n.digest = (n.digest ^ uint64(n.eng.Now()) ^ uint64(k.flow)<<44 ^ uint64(k.seq)<<20) * 0x100000001b3
	}
	f := n.flow(k.flow)
	if f.gen != k.gen || f.state == stateFree {
		n.release(k) // a duplicate after the end of its flow
		n.pool.put(pk)
		return
	}
	if len(n.functions) > 0 {
		n.countIn(k)
	}
	switch k.kind {
	case kindData:
		n.data(p.host, f, pk)
	case kindAck, kindNack:
		n.acknowledged(f, pk)
	default:
		n.notified(f, pk)
	}
}

// data handles a data packet: in sequence, above a missing packet, or duplicate.
func (n *Network) data(hi int32, f *flow, pk int32) {
	k := n.pool.at(pk)
	if k.flag&flagMarked != 0 && n.cfg.CNPs && n.traits[f.algo].cnp {
		n.congestion(hi, f, k)
		k.flag &^= flagMarked // the CNP answers the mark, so the acknowledgement does not echo it
	}
	switch {
	case k.seq == f.expected:
		f.expected += int64(k.load)
		n.totals.AcceptedBytes += uint64(k.load)
		if f.pending&pendingGap != 0 {
			n.fill(k.flow, f)
		}
	case k.seq > f.expected:
		n.gapped(hi, f, pk)
		return
	case !n.resends:
		n.release(k) // in a lossless fabric the acknowledgement is on its way
		n.pool.put(pk)
		return
	}
	f.packets++
	if k.flag&flagMarked != 0 {
		f.marked++
	}
	if int(f.packets) < n.cfg.AckEvery && k.flag&(flagLast|flagResent) == 0 {
		n.delayAck(f, pk)
		return
	}
	n.acknowledge(hi, f, pk, kindAck)
}

// delayAck delays the acknowledgement of a packet, to combine it with later ones.
func (n *Network) delayAck(f *flow, pk int32) {
	n.dropHeld(f)
	k := n.pool.at(pk)
	k.at = n.eng.Now()
	f.held = pk
	if f.pending&pendingAnswer == 0 {
		f.pending |= pendingAnswer
		n.eng.Schedule(k.at+n.cfg.AckDelay, evAnswer, k.flow, int32(k.gen))
	}
}

// dropHeld frees the packet whose acknowledgement is delayed.
func (n *Network) dropHeld(f *flow) {
	if f.held != none {
		n.release(n.pool.at(f.held))
		n.pool.put(f.held)
		f.held = none
	}
}

// answer sends a delayed acknowledgement if no packet has arrived within the delay. The measured round trip time excludes this
// delay.
func (n *Network) answer(slot int32, gen uint16) {
	f := n.flow(slot)
	if f.gen != gen || f.state == stateFree {
		return
	}
	f.pending &^= pendingAnswer
	if f.held == none {
		return
	}
	pk, now := f.held, n.eng.Now()
	k := n.pool.at(pk)
	if due := k.at + n.cfg.AckDelay; due > now {
		f.pending |= pendingAnswer
		n.eng.Schedule(due, evAnswer, slot, int32(gen))
		return
	}
	k.sent += now - k.at
	f.held = none
	n.acknowledge(f.dst, f, pk, kindAck)
}

// acknowledge turns a data packet into the acknowledgement of it and of earlier packets.
func (n *Network) acknowledge(hi int32, f *flow, pk int32, kind uint8) {
	n.dropHeld(f)
	k := n.pool.at(pk)
	k.kind = kind
	k.seq = f.expected
	k.dst, k.hash = f.src, f.back
	k.wire = n.traits[f.algo].ack
	k.load = uint16(f.packets) | uint16(f.marked)<<8
	k.flag &^= flagMarked | flagCapable
	k.dom = n.hosts[hi].domain
	if len(n.maps) > 0 {
		k.cls = n.classOf(hi, n.info(k.flow).code, k.cls)
	}
	f.packets, f.marked = 0, 0
	n.reply(hi, pk)
}

// congestion answers a mark with a notification packet, unless the minimum gap has not passed.
func (n *Network) congestion(hi int32, f *flow, k *packet) {
	now := n.eng.Now()
	h := &n.hosts[hi]
	h.stats.Marked++
	fn := n.receiving(k.flow)
	fn.Marked++
	last := &f.cnpAt
	if h.cnpPort {
		last = &h.cnpAt
	}
	if now-*last < h.cnpGap || h.silent {
		return
	}
	*last = now
	h.stats.CNPsSent++
	fn.CNPsSent++
	flow, gen, cls := k.flow, k.gen, n.classOf(hi, h.cnpCode, n.cfg.CNPClass)
	pk := n.pool.get()
	*n.pool.at(pk) = packet{
		flow: flow, gen: gen, dst: f.src, hash: f.back, tel: none, in: none,
		wire: uint16(n.cfg.Headers.CNP), kind: kindCNP, cls: cls, dom: n.hosts[hi].domain,
	}
	n.totals.CNPs++
	n.reply(hi, pk)
}

// acknowledged handles an acknowledgement at the sender.
func (n *Network) acknowledged(f *flow, pk int32) {
	k := n.pool.at(pk)
	slot, now := k.flow, n.eng.Now()
	a := &n.ackArg
	*a = cc.Ack{
		Now: now, RTT: now - k.sent, Nack: k.kind == kindNack,
		Packets: max(1, int(k.load&0xff)), Marked: int(k.load >> 8), FairRate: float64(k.fair) * 1e6, Domain: uint16(k.dom),
	}
	if k.seq > f.una {
		a.Acked = k.seq - f.una
		f.una = k.seq
		f.moved = now
		f.next = max(f.next, f.una)
		if len(n.selective) > 0 {
			n.arrived(slot, f, k.seq-a.Acked)
		}
	}
	if k.kind == kindNack {
		n.lost(slot, f, k)
	}
	a.Seq, a.Next = f.una, f.next
	if k.tel != none {
		rec := n.records.at(k.tel)
		a.INT = rec.hops[:rec.n]
	}
	if n.cfg.OnRTT != nil {
		n.cfg.OnRTT(FlowRef{slot, f.gen}, a.RTT)
	}
	tr := &n.traits[f.algo]
	if f.una >= f.size {
		n.release(k)
		n.pool.put(pk)
		n.finish(slot, f)
		return
	}
	if a.Marked > 0 {
		f.quiet = false
	}
	n.settle(slot, f)
	n.cfg.Algorithms[f.algo].Ack(slot, a, &f.ctl)
	n.release(k)
	n.pool.put(pk)
	if tr.repace {
		n.repace(slot, f)
	}
	n.consider(slot, f)
}

// notified handles a notification packet at the sender.
func (n *Network) notified(f *flow, pk int32) {
	k := n.pool.at(pk)
	note := &n.noteArg
	*note = cc.Notification{Now: n.eng.Now(), Seq: k.seq, FairRate: float64(k.fair) * 1e6, Domain: uint16(k.dom)}
	if k.kind == kindFCNP {
		note.Kind = cc.NotifyFCNP
	}
	slot := k.flow
	n.pool.put(pk)
	if h := &n.hosts[f.src]; note.Kind == cc.NotifyCNP {
		if h.deaf {
			h.stats.CNPsIgnored++
			n.sending(slot).CNPsIgnored++
			return
		}
		h.stats.CNPsHandled++
		n.sending(slot).CNPsHandled++
		if h.inert {
			return
		}
	}
	f.quiet = false
	n.settle(slot, f)
	n.cfg.Algorithms[f.algo].Notify(slot, note, &f.ctl)
	if n.traits[f.algo].repace {
		n.repace(slot, f)
	}
	n.consider(slot, f)
}

// stop ends a flow: it sends no new data and completes when all sent data is acknowledged.
func (n *Network) stop(slot int32, gen uint16) {
	f := n.flow(slot)
	if f.gen != gen || f.state == stateFree || f.next >= f.size {
		return
	}
	f.size = max(f.next, n.info(slot).top)
	if f.una >= f.size {
		n.finish(slot, f)
		return
	}
	n.consider(slot, f)
}

// timeout restarts a sender that has made no progress for too long.
func (n *Network) timeout(slot int32, gen uint16) {
	f := n.flow(slot)
	if f.gen != gen || f.state == stateFree {
		return
	}
	now, limit := n.eng.Now(), n.cfg.Recovery.Timeout
	if f.next > f.una && now-f.moved >= limit {
		n.totals.Timeouts++
		n.hosts[f.src].stats.Timeouts++
		n.sending(slot).Timeouts++
		f.moved = now
		n.restart(slot, f)
		n.consider(slot, f)
	}
	due := f.moved + limit
	if due <= now { // no packet is in flight, so the earliest timeout of a later packet is a whole Timeout away
		due = now + limit
	}
	n.eng.Schedule(due, evTimeout, slot, int32(gen))
}
