package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// dcqcnMlx is DCQCN as in the vendor's NICs, according to the vendor's parameter page and firmware configuration database. It
// differs from the paper in four points: alpha is filtered in fixed periods, with or without notifications; a flow's rate is
// cut at most once per monitor period; the cut divides a 10-bit alpha by a power of two; and a flow that reaches full rate
// again loses its limiter, so the next notification attaches a new one.
//
// Behaviour that the vendor does not publish is a parameter: see the words and flags of the Spec. In addition, the model
// assumes: the notification that attaches a limiter counts for the first monitor period and, through the initial alpha, for
// the first alpha period; a limiter is released within 1 Mbit/s (the unit of the registers) of the full rate, unless a
// notification is still pending. At the same instant the order is: alpha, increase timer, cut, packets.
type dcqcnMlx struct {
	mlxPoint
	flows  slots[dcqcnMlxFlow]  // copy of the pointers in common, to save one indirection
	common *slots[dcqcnMlxFlow] // the algorithms of a run may share it, because each slot belongs to one flow
}

// mlxPoint is the reaction point of one NIC port: its registers in the units of the calculation.
type mlxPoint struct {
	rp      RPParams
	alpha   alphaFilter
	initial float64 // alpha at attachment, 0 to 1023
	monitor quantity.Picoseconds
	inc     quantity.Picoseconds
	bytes   int64
	divisor float64              // 2^rpg_gd
	least   float64              // smallest ratio of new to old rate in one cut
	maxRate float64              // bit/s; 0 means line rate
	first   float64              // rate_to_set_on_first_cnp, bit/s; 0 means line rate
	gap     quantity.Picoseconds // minimum time between notifications
	clamp   bool
	clampAT bool // clamp the target after an increase by time, too
	off     bool // notifications are ignored
	spaced  bool // the minimum time between cuts is a monitor period, and a cut occurs at the notification
}

type dcqcnMlxFlow struct {
	rpClock
	echoAt quantity.Picoseconds
	sent   int64
}

// alphaScale is the value 1 in the vendor's 10-bit alpha; alphaMost is its largest value.
const (
	alphaScale = 1024
	alphaMost  = 1023
)

// limiterUnit is the resolution of the vendor's rates, bit/s.
const limiterUnit = 1e6

func (d *dcqcnMlx) Traits() Traits {
	return Traits{ECN: true, CNP: true, Quiet: true, Sent: d.bytes > 0}
}

func (d *dcqcnMlx) Reserve(n int) {
	d.common.reserve(n)
	d.flows = *d.common
}

func (d *dcqcnMlx) Start(slot int32, now quantity.Picoseconds, f *Flow) Control {
	return d.begin(d.flows.at(slot), now, f)
}

// begin initializes the state of a flow without congestion.
func (d *mlxPoint) begin(s *dcqcnMlxFlow, now quantity.Picoseconds, f *Flow) Control {
	*s = dcqcnMlxFlow{rpClock: rpClock{line: float64(f.LineRate), seen: now}, echoAt: distantPast}
	d.release(&s.rpClock)
	return Control{Rate: s.line}
}

// release removes the limiter.
func (d *mlxPoint) release(f *rpClock) {
	f.Rate, f.Target, f.Alpha = f.line, f.line, d.initial
	f.TimeStage, f.ByteStage, f.flags = 0, 0, 0
}

// top returns the largest rate that a limiter allows.
func (d *mlxPoint) top(f *rpClock) float64 {
	if d.maxRate == 0 {
		return f.line
	}
	return min(d.maxRate, f.line)
}

func (d *dcqcnMlx) Settle(slot int32, now quantity.Picoseconds, c *Control) {
	d.upTo(d.flows.at(slot), now, c)
}

// upTo applies every timer that has expired up to and including now.
func (d *mlxPoint) upTo(f *dcqcnMlxFlow, now quantity.Picoseconds, c *Control) {
	f.seen = now
	if !f.is(rpActive) {
		return
	}
	d.settle(f, now)
	c.Rate = f.Rate
}

func (d *mlxPoint) settle(f *dcqcnMlxFlow, now quantity.Picoseconds) {
	if !d.spaced && f.is(rpCutDue) && f.cutAt <= now {
		d.increase(&f.rpClock, f.cutAt)
		f.settleAlpha(f.cutAt, &d.alpha)
		d.lower(f, f.cutAt)
	}
	d.increase(&f.rpClock, now)
	f.settleAlpha(now, &d.alpha)
}

// increase applies the expiries of the increase timer up to and including t.
func (d *mlxPoint) increase(f *rpClock, t quantity.Picoseconds) {
	if f.incAt > t {
		return
	}
	top, stop := d.top(f), noStop
	if !d.waits(f) {
		stop = top - limiterUnit
	}
	f.incAt = f.expire(&d.rp, top, stop, f.incAt, t, d.inc)
	f.flags = f.flags&^rpBytesLast | rpTimerLast
	d.releaseIfFull(f)
}

// waits reports whether a notification is pending for the next cut.
func (d *mlxPoint) waits(f *rpClock) bool { return !d.spaced && f.is(rpCutDue) }

func (d *mlxPoint) releaseIfFull(f *rpClock) {
	if !d.waits(f) && f.Rate >= d.top(f)-limiterUnit {
		d.release(f)
		f.incAt = neverTick
	}
}

// lower cuts the rate at t: current = current · max(1 - A/2^GD, min_dec_fac), where A is the integer alpha.
func (d *mlxPoint) lower(f *dcqcnMlxFlow, t quantity.Picoseconds) {
	if d.clamp || f.is(rpBytesLast) || f.is(rpTimerLast) && d.clampAT {
		f.Target = f.Rate
	}
	a := math.Floor(f.alphaNow(t, &d.alpha))
	factor := max(1-a/d.divisor, d.least)
	f.Rate = max(f.Rate*factor, min(d.rp.Floor, d.top(&f.rpClock)))
	f.TimeStage, f.ByteStage = 0, 0
	f.flags &^= rpCutDue | rpTimerLast | rpBytesLast
	f.incAt, f.sent = t+d.inc, 0
}

func (d *dcqcnMlx) Sent(slot int32, now quantity.Picoseconds, wire int, c *Control) {
	d.count(d.flows.at(slot), now, wire, c)
}

// count adds a packet to the byte counter.
func (d *mlxPoint) count(f *dcqcnMlxFlow, now quantity.Picoseconds, wire int, c *Control) {
	d.upTo(f, now, c)
	if !f.is(rpActive) || !counted(&f.sent, wire, d.bytes) {
		return
	}
	f.ByteStep(&d.rp, d.top(&f.rpClock))
	f.flags = f.flags&^rpTimerLast | rpBytesLast
	d.releaseIfFull(&f.rpClock)
	c.Rate = f.Rate
}

func (d *dcqcnMlx) Ack(slot int32, a *Ack, c *Control) {
	d.echoed(d.flows.at(slot), a, c)
}

// echoed handles an acknowledgement that may echo marks.
func (d *mlxPoint) echoed(f *dcqcnMlxFlow, a *Ack, c *Control) {
	if a.Marked > 0 && a.Now-f.echoAt >= d.gap {
		f.echoAt = a.Now
		d.notified(f, a.Now, c)
	}
}

func (d *dcqcnMlx) Notify(slot int32, n *Notification, c *Control) {
	if n.Kind == NotifyCNP {
		d.notified(d.flows.at(slot), n.Now, c)
	}
}

func (d *mlxPoint) notified(f *dcqcnMlxFlow, now quantity.Picoseconds, c *Control) {
	switch {
	case d.off:
	case !f.is(rpActive):
		d.attach(f, now)
	case d.spaced:
		f.rpClock.notifiedAlpha(now, &d.alpha)
		if now-f.cutAt >= d.monitor {
			d.lower(f, now)
			f.cutAt = now
		}
	default:
		f.rpClock.notified(now, d.monitor, &d.alpha)
	}
	c.Rate = f.Rate
}

// attach attaches a limiter to the flow.
func (d *mlxPoint) attach(f *dcqcnMlxFlow, now quantity.Picoseconds) {
	f.begin(now, 0, d.monitor, d.initial)
	f.incAt, f.sent = now+d.inc, 0
	if d.spaced {
		f.cutAt = now
	}
	top := d.top(&f.rpClock)
	f.Rate = top
	if d.first > 0 {
		f.Rate = max(min(d.first, top), min(d.rp.Floor, top))
	}
	f.Target = f.Rate
}

func (d *dcqcnMlx) Gauges() []string { return rpGauges() }

func (d *dcqcnMlx) Read(slot int32, dst []float64) {
	d.gauges(d.flows.at(slot), dst)
}

// gauges stores the values named by rpGauges.
func (d *mlxPoint) gauges(f *dcqcnMlxFlow, dst []float64) {
	dst[0], dst[1], dst[2] = f.Target, f.alphaNow(f.seen, &d.alpha)/alphaScale, float64(max(f.TimeStage, f.ByteStage))
}
