package ether

import "fairlane/internal/quantity"

// maxWindow is the largest distance above a missing packet at which a receiver keeps packets under selective repeat. It fits
// the field of a NACK.
const maxWindow = 1 << 16

// nack describes the last NACK that a receiver sent.
type nack struct {
	seq int64
	at  quantity.Picoseconds
}

// scoreboard tracks packets above the first missing one under selective repeat, at either end of a flow. Packets are numbered
// by their position in the flow.
type scoreboard struct {
	have map[int64]struct{} // packets received above the first missing one
	high int64              // one above the highest received
	// sender: missing packets from resend to high must be resent
	resend int64
}

// gapped handles a data packet above the first missing byte: it is kept or dropped, and a NACK is sent at most once per
// NackGap.
func (n *Network) gapped(hi int32, f *flow, pk int32) {
	k := n.pool.at(pk)
	now := n.eng.Now()
	n.hosts[hi].stats.OutOfOrder++
	n.receiving(k.flow).OutOfOrder++
	if n.cfg.Recovery.Mode == SelectiveRepeat {
		n.keep(hi, f, pk)
		return
	}
	if last, ok := n.nacks[k.flow]; ok && last.seq == f.expected && now-last.at < n.cfg.Recovery.NackGap {
		n.release(k)
		n.pool.put(pk)
		return
	}
	n.nacks[k.flow] = nack{f.expected, now}
	n.totals.Nacks++
	n.hosts[hi].stats.Nacks++
	n.receiving(k.flow).Nacks++
	n.acknowledge(hi, f, pk, kindNack)
}

// keep stores an out-of-sequence packet and reports it to the sender.
func (n *Network) keep(hi int32, f *flow, pk int32) {
	k := n.pool.at(pk)
	number := k.seq / int64(n.cfg.Payload)
	above := number - f.expected/int64(n.cfg.Payload)
	if above >= maxWindow {
		n.release(k)
		n.pool.put(pk)
		return
	}
	b := n.board(n.kept, k.flow)
	if _, again := b.have[number]; !again {
		b.have[number] = struct{}{}
		n.totals.AcceptedBytes += uint64(k.load)
		f.pending |= pendingGap
	}
	f.packets++
	if k.flag&flagMarked != 0 {
		f.marked++
	}
	k.rtt = uint16(above)
	n.totals.Nacks++
	n.hosts[hi].stats.Nacks++
	n.receiving(k.flow).Nacks++
	n.acknowledge(hi, f, pk, kindNack)
}

func (n *Network) board(all map[int32]*scoreboard, slot int32) *scoreboard {
	b := all[slot]
	if b == nil {
		b = &scoreboard{have: make(map[int64]struct{})}
		all[slot] = b
	}
	return b
}

// fill advances the first missing byte over packets that were received out of sequence.
func (n *Network) fill(slot int32, f *flow) {
	b := n.board(n.kept, slot)
	payload := int64(n.cfg.Payload)
	for {
		number := (f.expected + payload - 1) / payload
		if _, ok := b.have[number]; !ok {
			break
		}
		delete(b.have, number)
		f.expected = min((number+1)*payload, f.size)
	}
	if len(b.have) == 0 {
		f.pending &^= pendingGap
		delete(n.kept, slot)
	}
}

// lost handles a NACK at the sender.
func (n *Network) lost(slot int32, f *flow, k *packet) {
	if n.cfg.Recovery.Mode == GoBackN {
		n.restart(slot, f)
		return
	}
	payload := int64(n.cfg.Payload)
	first := f.una / payload
	number := k.seq/payload + int64(k.rtt)
	if number < first {
		return // an old NACK for packets that have arrived since
	}
	b := n.board(n.selective, slot)
	b.have[number] = struct{}{}
	b.resend = max(b.resend, first)
	b.high = max(b.high, number)
	f.setResends(b.resend < b.high)
}

// restart makes a sender resend all unacknowledged packets, except those known to have arrived.
func (n *Network) restart(slot int32, f *flow) {
	if n.cfg.Recovery.Mode == GoBackN {
		i := n.info(slot)
		i.top = max(i.top, f.next)
		f.next = f.una
		return
	}
	payload := int64(n.cfg.Payload)
	b := n.board(n.selective, slot)
	b.resend = f.una / payload
	b.high = max(b.high, (f.next+payload-1)/payload)
	f.setResends(true)
}

// arrived deletes the sender's records of packets that an acknowledgement covers.
func (n *Network) arrived(slot int32, f *flow, from int64) {
	b := n.selective[slot]
	if b == nil {
		return
	}
	payload := int64(n.cfg.Payload)
	end := f.una / payload
	for i := from / payload; i < end; i++ {
		delete(b.have, i)
	}
	if end >= b.high {
		delete(n.selective, slot)
		f.setResends(false)
	}
}

// missing returns the first byte of the next packet to resend.
func (n *Network) missing(slot int32, f *flow) (int64, bool) {
	b := n.board(n.selective, slot)
	payload := int64(n.cfg.Payload)
	b.resend = max(b.resend, f.una/payload)
	for ; b.resend < b.high; b.resend++ {
		if _, ok := b.have[b.resend]; ok {
			continue
		}
		seq := b.resend * payload
		b.resend++
		f.setResends(b.resend < b.high)
		return seq, true
	}
	f.setResends(false)
	return 0, false
}
