package dci

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// ReceiverSide is the receiver's side of a DCI switch: the virtual output queues of packets from the long haul. It tracks the bytes in
// each queue; the switch stores the packets.
type ReceiverSide struct {
	cfg    Config
	traits cc.Traits
	pace   cc.Algorithm // one slot per VOQ
	flow   cc.Flow
	voqs   []voq
	ready  readyHeap
	hosts  []receiverHost

	// Arguments of the algorithm: as local variables, they would escape to the heap through the interface.
	ctl cc.Control
	ntf cc.Notification
}

type voq struct {
	next    quantity.Picoseconds // earliest departure of the first packet
	cut     quantity.Picoseconds // time of the last CNP that reached the algorithm
	bytes   int64
	rate    float64 // bit/s, from the algorithm's last control
	packets int32
	epoch   uint32 // number of assignments to a destination; 0 means free
}

type receiverHost struct {
	notified quantity.Picoseconds // time of the last notice
	voq      int32
	epoch    uint32 // epoch of the VOQ when it was assigned; if it has changed since, the host has no VOQ
}

// Arrival is the decision on a data packet from the long haul.
type Arrival struct {
	VOQ    int32   // queue that the packet joins
	Notice bool    // send the near switch a notice for this destination
	Rate   float64 // rate in the notice, bit/s
}

// NewReceiverSide returns the receiver's side of a DCI switch. The algorithm paces the VOQs: DCQCN for BiCC. It receives CNPs only,
// because a VOQ has no acknowledgements, so it must react to CNPs (Traits.CNP). The algorithm must not be used elsewhere.
func NewReceiverSide(c Config, pace cc.Algorithm) (*ReceiverSide, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("far side of a DCI switch: %w", err)
	}
	t := pace.Traits()
	if !t.CNP {
		return nil, errors.New("far side of a DCI switch: the algorithm that paces queues takes no CNPs: want one that does, such as dcqcn")
	}
	pace.Reserve(c.VOQs)
	return &ReceiverSide{
		cfg: c, pace: pace, traits: t, voqs: make([]voq, c.VOQs), ready: newReadyHeap(c.VOQs),
		flow: cc.Flow{
			LineRate: c.LineRate, BaseRTT: c.LocalRTT, BDP: int64(float64(c.LineRate) / 8 * c.LocalRTT.Seconds()),
			Payload: c.Payload, Wire: c.Wire, Hops: 1, Weight: 1,
		},
	}, nil
}

// Reserve allocates space for destination hosts 0 to hosts-1 and preserves their state.
func (f *ReceiverSide) Reserve(hosts int) {
	for len(f.hosts) < hosts {
		f.hosts = append(f.hosts, receiverHost{notified: never})
	}
}

// Arrive handles a data packet of wire bytes for a host.
func (f *ReceiverSide) Arrive(dst int32, wire int, now quantity.Picoseconds) Arrival {
	i := f.queueOf(dst, now)
	v := &f.voqs[i]
	v.bytes += int64(wire)
	v.packets++
	if v.packets == 1 {
		v.next = max(v.next, now)
		f.ready.push(i, v.next)
	}
	a := Arrival{VOQ: i}
	if h := &f.hosts[dst]; now-h.notified >= f.cfg.NoticeInterval {
		f.settle(i, now)
		if v.bytes > f.cfg.NoticeBytes || v.rate < float64(f.cfg.LineRate) {
			a.Notice, a.Rate = true, f.targetRate(v)
			h.notified = now
		}
	}
	return a
}

// targetRate returns the suitable arrival rate for a VOQ: its drain rate, corrected so that the backlog reaches NoticeBytes within
// two round trips of the long haul. A loop with one round trip of delay tolerates a correction of half the excess per round
// trip without oscillation. The rate is at least half the drain rate, because DCQCN recovers slowly and the VOQ would run
// empty.
func (f *ReceiverSide) targetRate(v *voq) float64 {
	rate := min(v.rate, float64(f.cfg.LineRate))
	excess := float64(v.bytes-f.cfg.NoticeBytes) * 8 / (2 * f.cfg.HaulRTT.Seconds())
	return min(max(rate-excess, rate/2), float64(f.cfg.LineRate))
}

// Next returns the VOQ whose first packet may leave first, and the earliest time, which may be in the past; ok is false when
// all VOQs are empty. VOQs with the same time are ordered by number.
func (f *ReceiverSide) Next() (queue int32, at quantity.Picoseconds, ok bool) { return f.ready.top() }

// Leave removes the first packet of a VOQ, wire bytes, at now. The next packet follows at the VOQ's rate.
func (f *ReceiverSide) Leave(queue int32, wire int, now quantity.Picoseconds) {
	v := &f.voqs[queue]
	if v.packets == 0 {
		return
	}
	f.settle(queue, now)
	if f.traits.Sent {
		f.pace.Sent(queue, now, wire, &f.ctl)
		v.rate = f.ctl.Rate
	}
	v.next = now + quantity.Picoseconds(float64(wire)*8/min(max(v.rate, 1), float64(f.cfg.LineRate))*float64(quantity.Second))
	v.bytes -= int64(wire)
	v.packets--
	f.ready.remove(queue)
	if v.packets > 0 {
		f.ready.push(queue, v.next)
	}
}

// CNP handles a receiver's CNP on its way to the long haul, and reports whether the switch must drop it. The result is always
// true, because the near switch receives notices instead. A VOQ reacts at most once per CNP gap, for any number of its flows:
// it is one reaction point.
func (f *ReceiverSide) CNP(dst int32, now quantity.Picoseconds) (ends bool) {
	i := f.queueOf(dst, now)
	if !f.due(i, now) {
		return true
	}
	f.settle(i, now)
	f.ntf = cc.Notification{Now: now, Kind: cc.NotifyCNP}
	f.pace.Notify(i, &f.ntf, &f.ctl)
	f.voqs[i].rate = f.ctl.Rate
	return true
}

// Echo handles an acknowledgement that echoes marks, on its way to the long haul. It replaces CNP when receivers send no
// CNPs. The VOQ reacts as to a CNP. Echo reports whether the switch must clear the marks.
func (f *ReceiverSide) Echo(dst int32, marked int, now quantity.Picoseconds) (clear bool) {
	return marked > 0 && f.CNP(dst, now)
}

// due reports whether the CNP gap of a VOQ has passed, and if so starts the next gap.
func (f *ReceiverSide) due(i int32, now quantity.Picoseconds) bool {
	if now-f.voqs[i].cut < f.cfg.CNPInterval {
		return false
	}
	f.voqs[i].cut = now
	return true
}

// Backlog returns the bytes and packets in a VOQ and its current rate in bit/s.
func (f *ReceiverSide) Backlog(queue int32) (bytes int64, packets int32, rate float64) {
	v := &f.voqs[queue]
	return v.bytes, v.packets, v.rate
}

func (f *ReceiverSide) settle(i int32, now quantity.Picoseconds) {
	f.ctl.Rate, f.ctl.Window = f.voqs[i].rate, 0
	f.pace.Settle(i, now, &f.ctl)
	f.voqs[i].rate = f.ctl.Rate
}

// queueOf returns the VOQ of a host, and assigns one if necessary: a free VOQ, otherwise an empty one at line rate, otherwise a
// shared one selected by the host's number. Only an empty VOQ changes its owner, so the packets of a flow stay in order.
func (f *ReceiverSide) queueOf(dst int32, now quantity.Picoseconds) int32 {
	h := &f.hosts[dst]
	if h.epoch != 0 && f.voqs[h.voq].epoch == h.epoch {
		return h.voq
	}
	h.voq = f.unused(now)
	if h.voq < 0 {
		h.voq = dst % int32(len(f.voqs))
	} else {
		f.open(h.voq, now)
	}
	h.epoch = f.voqs[h.voq].epoch
	h.notified = never
	return h.voq
}

func (f *ReceiverSide) unused(now quantity.Picoseconds) int32 {
	for i := range f.voqs {
		if f.voqs[i].epoch == 0 {
			return int32(i)
		}
	}
	for i := range f.voqs {
		v := &f.voqs[i]
		if v.packets > 0 || now < v.next {
			continue
		}
		f.settle(int32(i), now)
		if v.rate >= float64(f.cfg.LineRate) {
			return int32(i)
		}
	}
	return -1
}

func (f *ReceiverSide) open(i int32, now quantity.Picoseconds) {
	v := &f.voqs[i]
	*v = voq{next: now, cut: never, epoch: max(v.epoch+1, 1)}
	f.ctl = f.pace.Start(i, now, &f.flow)
	v.rate = f.ctl.Rate
}
