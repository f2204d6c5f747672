package ether

import (
	"math/bits"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// host is one NIC port.
type host struct {
	port       int32
	node       int32
	domain     uint8
	acksReady  uint8 // classes with acknowledgements or notifications to send
	flowsReady uint8 // classes with flows that may be ready
	deaf       bool  // its senders count CNPs as ignored and do not react
	inert      bool  // its senders count CNPs as handled without reacting
	incapable  uint8 // flagCapable if its data is not ECN-capable, otherwise 0
	silent     bool  // its receivers send no CNPs
	cnpCode    uint8
	cnpPort    bool // the gap between CNPs applies to the port, not to each flow
	shares     *shares
	cnpGap     quantity.Picoseconds
	cnpAt      quantity.Picoseconds // with cnpPort: time of the last CNP
	replies    uint64               // acknowledgements and notifications sent
	stats      HostStats
}

// canSend reports whether the host has a packet that it may send.
func (h *host) canSend(n *Network, p *port) bool {
	return n.ackable(h, p) != 0 || h.flowsReady&^p.paused != 0
}

func (n *Network) ackable(h *host, p *port) uint8 {
	if n.cfg.AckOvertakesPause && !p.down {
		return h.acksReady
	}
	return h.acksReady &^ p.paused
}

// reply queues an acknowledgement or notification at a host.
func (n *Network) reply(hi int32, pk int32) {
	h := &n.hosts[hi]
	cls := n.pool.at(pk).cls
	n.acks[int(hi)*n.classes+int(cls)].push(&n.pool, pk)
	h.acksReady |= 1 << cls
	n.kick(h.port, &n.ports[h.port])
}

// sendHost starts the next packet of an idle NIC: acknowledgements first, then the flows in turn. It returns false when there
// is no packet to send.
func (n *Network) sendHost(pi int32, p *port) bool {
	h := &n.hosts[p.host]
	if able := n.ackable(h, p); able != 0 {
		cls := bits.TrailingZeros8(able)
		l := &n.acks[int(p.host)*n.classes+cls]
		pk := l.pop(&n.pool)
		if l.head == none {
			h.acksReady &^= 1 << cls
		}
		h.replies++
		if len(n.functions) > 0 {
			n.countReply(pk)
		}
		if len(n.maps) > 0 {
			n.countClass(pi, n.pool.at(pk))
		}
		n.start(pi, p, pk)
		return true
	}
	held := uint8(0) // classes with all functions held back
	for {
		able := h.flowsReady &^ p.paused &^ held
		if able == 0 {
			return false
		}
		cls := bits.TrailingZeros8(able)
		if able&(able-1) != 0 {
			cls = n.arbitrate(p, able, n.fullSizes)
		}
		if h.shares != nil {
			sent, wait := n.sendFunction(pi, p, cls)
			if sent {
				return true
			}
			if wait {
				held |= 1 << cls
			}
			continue
		}
		slot := n.popTurn(h, int(p.host)*n.classes+cls, cls)
		if n.emit(pi, p, slot) {
			return true
		}
	}
}

// turns is the queue of ready flows of one class of a host.
type turns struct{ head, tail int32 }

func (n *Network) pushTurn(slot int32, f *flow) {
	f.state = stateReady
	f.next2 = none
	t := &n.turns[int(f.src)*n.classes+int(f.cls)]
	if n.hosts[f.src].shares != nil {
		t = n.joinFunction(slot, f)
	}
	if t.tail == none {
		t.head = slot
	} else {
		n.flow(t.tail).next2 = slot
	}
	t.tail = slot
	n.hosts[f.src].flowsReady |= 1 << f.cls
}

func (n *Network) popTurn(h *host, at, cls int) int32 {
	t := &n.turns[at]
	slot := t.head
	if t.head = n.flow(slot).next2; t.head == none {
		t.tail = none
		h.flowsReady &^= 1 << cls
	}
	return slot
}

// consider makes an idle flow ready, now or at its pacing deadline, if it may send.
func (n *Network) consider(slot int32, f *flow) {
	if f.state != stateIdle || f.next >= f.size && !f.resends() || !n.timed(f) {
		return
	}
	if f.due > n.eng.Now() {
		n.await(slot, f)
		return
	}
	if !f.open() {
		return
	}
	n.pushTurn(slot, f)
	pi := n.hosts[f.src].port
	n.kick(pi, &n.ports[pi])
}

// open reports whether the window allows another packet. The check is before the packet, so a flow may exceed its window by
// less than one packet.
func (f *flow) open() bool { return f.ctl.Window == 0 || f.next-f.una < f.ctl.Window || f.resends() }

// timed reports whether a future pacing deadline needs an event. It does not when the window is full; ns-3 keeps the event
// anyway, and the time at which it was set decides ties with other events.
func (n *Network) timed(f *flow) bool { return n.truncate || f.open() }

// await schedules the flow's pacing deadline.
func (n *Network) await(slot int32, f *flow) {
	f.state, f.wake = stateWaiting, f.due
	if !n.truncate && (f.demand == 0 || f.paced < float64(f.demand)*1000) {
		f.wake = min(f.due, n.eng.Now()+longestSleep)
	}
	n.eng.Schedule(f.wake, evPace, slot, int32(f.gen))
}

// longestSleep is the longest wait for a pacing deadline before the flow checks whether its rate has risen since. At the lowest
// rates, congestion control can recover within one packet gap; ns-3, whose lowest rate is 1 Gbit/s, keeps every deadline.
const longestSleep = 50 * quantity.Microsecond

// pace handles the pacing deadline of a flow.
func (n *Network) pace(slot int32, gen uint16, at quantity.Picoseconds) {
	f := n.flow(slot)
	if f.gen != gen || f.state != stateWaiting || f.wake != at {
		return // the deadline has moved, or the flow has ended
	}
	f.state = stateIdle
	if f.due > at {
		n.settle(slot, f)
		if f.rate() > f.paced {
			n.repace(slot, f)
		}
	}
	n.consider(slot, f)
}

// settle advances the timers of a flow to now. A flow without congestion usually has no timers, so its algorithm's state need
// not be loaded into the cache.
func (n *Network) settle(slot int32, f *flow) {
	if !f.quiet {
		n.cfg.Algorithms[f.algo].Settle(slot, n.eng.Now(), &f.ctl)
	}
}

// emit starts the next packet of the flow next in turn. It returns false when the flow has nothing to send now.
func (n *Network) emit(pi int32, p *port, slot int32) bool {
	f := n.flow(slot)
	now := n.eng.Now()
	if f.state == stateFree { // the flow ended while in the turn queue
		n.recycle(slot)
		return false
	}
	f.state = stateIdle
	tr := &n.traits[f.algo]
	n.settle(slot, f)
	if f.next >= f.size && !f.resends() || !n.timed(f) {
		return false
	}
	if f.due > now {
		n.await(slot, f)
		return false
	}
	if !f.open() {
		return false
	}
	seq := f.next
	if f.resends() {
		at, ok := n.missing(slot, f)
		if ok {
			seq = at
		} else if f.next >= f.size || !f.open() {
			return false
		}
	}
	load := min(int64(n.cfg.Payload), f.size-seq)
	pk := n.pool.get()
	k := n.pool.at(pk)
	*k = packet{
		sent: now, seq: seq, flow: slot, dst: f.dst, hash: f.hash, tel: none, in: none,
		wire: uint16(load) + tr.data, load: uint16(load), gen: f.gen, kind: kindData, cls: f.cls, flag: tr.flags &^ n.hosts[f.src].incapable,
		dom: n.hosts[f.src].domain,
	}
	if f.next == f.una {
		f.moved = now // unsent data cannot be late
	}
	if seq == f.next {
		f.next += load
	} else {
		k.flag |= flagResent
	}
	if seq+load >= f.size {
		k.flag |= flagLast
	}
	if tr.tel {
		k.tel = n.records.get()
	}
	if st := tr.stamper; st != nil {
		n.stamp(k, st.Stamp(slot, now))
	}
	if len(n.maps) > 0 {
		n.countClass(pi, k)
	}
	n.totals.SentPackets++
	n.totals.SentBytes += uint64(load)
	n.start(pi, p, pk)
	n.spaced(f, p, int(tr.data)+int(load), now)
	if tr.sent && !f.quiet {
		n.cfg.Algorithms[f.algo].Sent(slot, now, int(tr.data)+int(load), &f.ctl)
	}
	n.again(slot, f, p)
	return true
}

func (n *Network) stamp(k *packet, s cc.Stamp) {
	k.fair = s.FairRate
	k.rtt = uint16(min(s.RTT, 1<<16-1))
	if s.Burst {
		k.flag |= flagBurst
	}
}

// spaced sets the deadline of the packet after the one just started.
func (n *Network) spaced(f *flow, p *port, wire int, now quantity.Picoseconds) {
	rate := f.rate()
	f.wire = uint16(wire)
	if rate >= float64(p.rate) {
		f.due, f.paced = p.freeAt, 0
		return
	}
	g := n.gap(wire, rate)
	f.due, f.paced = max(min(f.due, now), now-n.cfg.PaceCredit)+g, rate
}

// rate returns the rate that congestion control and the application allow.
func (f *flow) rate() float64 {
	if f.demand > 0 {
		return min(float64(f.demand)*1000, f.ctl.Rate)
	}
	return f.ctl.Rate
}

// again returns a flow that has just sent to the turn queue, or to its wait for the deadline.
func (n *Network) again(slot int32, f *flow, p *port) {
	if f.next >= f.size && !f.resends() || !n.timed(f) {
		return
	}
	if f.due <= p.freeAt || n.truncate { // ns-3 checks the deadline when the link becomes free
		n.pushTurn(slot, f)
		return
	}
	n.await(slot, f)
}

// repace moves the deadline of a flow whose rate has changed (HPCC) by the difference between the gaps at the new and the
// previous rate.
func (n *Network) repace(slot int32, f *flow) {
	line := n.ports[n.hosts[f.src].port].rate
	was, is := f.paced, f.rate()
	if is >= float64(line) {
		is = float64(line)
	}
	if was == 0 {
		was = float64(line)
	}
	if was == is || f.wire == 0 {
		return
	}
	f.due += n.gap(int(f.wire), is) - n.gap(int(f.wire), was)
	f.paced = is
	switch {
	case f.state != stateWaiting || f.due >= f.wake:
	case f.due <= n.eng.Now():
		f.state = stateIdle // the caller calls consider
	default:
		n.await(slot, f)
	}
}
