package dci

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// Far is the part of a DCI switch that faces its own data centre's receivers: the virtual output
// queues of packets from the long haul. It knows how much each holds; the packets are the switch's.
type Far struct {
	cfg    Config
	traits cc.Traits
	pace   cc.Algorithm // one slot a VOQ
	flow   cc.Flow
	voqs   []voq
	ready  readyHeap
	hosts  []farHost

	// Arguments of the algorithm live here: on the stack they would escape through the interface.
	ctl cc.Control
	ntf cc.Notification
}

type voq struct {
	next    quantity.Picoseconds // its head may leave from here on
	cut     quantity.Picoseconds // of the last CNP that it reacted to
	bytes   int64
	rate    float64 // bit/s, of the algorithm's last control
	packets int32
	epoch   uint32 // counts its owners; 0 is free
}

type farHost struct {
	told  quantity.Picoseconds // of the last notice
	voq   int32
	epoch uint32 // of voq when it was given; another one means that the host has none
}

// Arrival is what to do with a data packet from the long haul.
type Arrival struct {
	VOQ    int32   // queue it at the tail of this one
	Notice bool    // tell the near switch the rate that suits this destination
	Rate   float64 // of the notice, bit/s
}

// NewFar returns the receiver's side of a DCI switch. The algorithm paces the VOQs: DCQCN for BiCC. It
// is told of congestion by CNPs alone, so it must take them (Traits.CNP), and of no acknowledgements:
// a VOQ has none. It must not be used for anything else.
func NewFar(c Config, pace cc.Algorithm) (*Far, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("far side of a DCI switch: %w", err)
	}
	t := pace.Traits()
	if !t.CNP {
		return nil, errors.New("far side of a DCI switch: the algorithm that paces queues takes no CNPs: want one that does, such as dcqcn")
	}
	pace.Reserve(c.VOQs)
	return &Far{
		cfg: c, pace: pace, traits: t, voqs: make([]voq, c.VOQs), ready: newReadyHeap(c.VOQs),
		flow: cc.Flow{
			LineRate: c.LineRate, BaseRTT: c.LocalRTT, BDP: int64(float64(c.LineRate) / 8 * c.LocalRTT.Seconds()),
			Payload: c.Payload, Wire: c.Wire, Hops: 1, Weight: 1,
		},
	}, nil
}

// Reserve makes room for destination hosts 0 to hosts-1 and keeps what is known.
func (f *Far) Reserve(hosts int) {
	for len(f.hosts) < hosts {
		f.hosts = append(f.hosts, farHost{told: never})
	}
}

// Arrive takes a data packet of wire bytes for a host.
func (f *Far) Arrive(dst int32, wire int, now quantity.Picoseconds) Arrival {
	i := f.queueOf(dst, now)
	v := &f.voqs[i]
	v.bytes += int64(wire)
	v.packets++
	if v.packets == 1 {
		v.next = max(v.next, now)
		f.ready.push(i, v.next)
	}
	a := Arrival{VOQ: i}
	if h := &f.hosts[dst]; now-h.told >= f.cfg.NoticeInterval {
		f.settle(i, now)
		if v.bytes > f.cfg.NoticeBytes || v.rate < float64(f.cfg.LineRate) {
			a.Notice, a.Rate = true, f.suits(v)
			h.told = now
		}
	}
	return a
}

// suits returns the rate at which packets should come for a VOQ: that at which it drains, corrected so
// that a backlog comes to NoticeBytes within two round trips of the long haul. Half the excess in a
// round trip is what a loop with one round trip of delay bears without swinging. It is never less than
// half the drain rate: DCQCN comes back slowly from where it is pushed, and the VOQ would run dry.
func (f *Far) suits(v *voq) float64 {
	rate := min(v.rate, float64(f.cfg.LineRate))
	excess := float64(v.bytes-f.cfg.NoticeBytes) * 8 / (2 * f.cfg.HaulRTT.Seconds())
	return min(max(rate-excess, rate/2), float64(f.cfg.LineRate))
}

// Next returns the VOQ whose head may leave first and the instant from which it may, which may have
// passed; ok is false when all are empty. VOQs that may leave at one instant do so by number.
func (f *Far) Next() (queue int32, at quantity.Picoseconds, ok bool) { return f.ready.top() }

// Leave takes the head of a VOQ, wire bytes, out at now. The next one follows at the VOQ's rate.
func (f *Far) Leave(queue int32, wire int, now quantity.Picoseconds) {
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

// CNP takes a receiver's CNP that is on its way to the long haul, and reports whether it ends here.
// It always does: the near switch is told by notices. A VOQ reacts once a CNP gap,
// however many of its flows are complained of: it is one reaction point.
func (f *Far) CNP(dst int32, now quantity.Picoseconds) (ends bool) {
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

// Echo takes an acknowledgement on its way to the long haul that echoes marks, where receivers send
// no CNPs: to the VOQ it is one. It reports whether to clear the marks.
func (f *Far) Echo(dst int32, marked int, now quantity.Picoseconds) (clear bool) {
	return marked > 0 && f.CNP(dst, now)
}

// due reports whether the CNP gap of a VOQ has passed, and starts the next one.
func (f *Far) due(i int32, now quantity.Picoseconds) bool {
	if now-f.voqs[i].cut < f.cfg.CNPInterval {
		return false
	}
	f.voqs[i].cut = now
	return true
}

// Backlog returns the bytes and packets that a VOQ holds and its present rate in bit/s.
func (f *Far) Backlog(queue int32) (bytes int64, packets int32, rate float64) {
	v := &f.voqs[queue]
	return v.bytes, v.packets, v.rate
}

func (f *Far) settle(i int32, now quantity.Picoseconds) {
	f.ctl.Rate, f.ctl.Window = f.voqs[i].rate, 0
	f.pace.Settle(i, now, &f.ctl)
	f.voqs[i].rate = f.ctl.Rate
}

// queueOf returns the VOQ of a host and gives it one if it has none: a free one, else one that is
// empty and back at line rate, else the one that its number falls on, shared. A VOQ changes hands
// only when empty, so a flow's packets never overtake each other.
func (f *Far) queueOf(dst int32, now quantity.Picoseconds) int32 {
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
	h.told = never
	return h.voq
}

func (f *Far) unused(now quantity.Picoseconds) int32 {
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

func (f *Far) open(i int32, now quantity.Picoseconds) {
	v := &f.voqs[i]
	*v = voq{next: now, cut: never, epoch: max(v.epoch+1, 1)}
	f.ctl = f.pace.Start(i, now, &f.flow)
	v.rate = f.ctl.Rate
}
