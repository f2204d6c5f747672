package cc

import (
	"math"

	"fairlane/internal/quantity"
)

// dcqcnMlx is DCQCN as the vendor's NICs have it, by the vendor's parameter page and firmware
// configuration database. It differs from the paper in that alpha is filtered in fixed periods with
// or without notifications, that a flow is cut at most once in a monitor period, that the cut
// divides a 10-bit alpha by a power of two, and that a flow back at full speed loses its limiter:
// the next notification then begins anew.
//
// What the vendor does not publish is a parameter: see the words and flags of the Spec. Beyond
// these: the notification that attaches a limiter counts for the first monitor period and, as the
// initial alpha, for the first alpha period; a limiter is released within one Mbit/s, the unit of
// the registers, of the full rate, unless a notification still waits. At one instant alpha goes
// first, then the increase timer, then the cut, then packets.
type dcqcnMlx struct {
	mlxPoint
	flows  slots[dcqcnMlxFlow]  // a copy of common, one access nearer
	common *slots[dcqcnMlxFlow] // where the algorithms of a run may keep their flows together: each slot is of one flow
}

// mlxPoint is the reaction point of one NIC port: its registers, ready for use.
type mlxPoint struct {
	rp      RPParams
	alpha   alphaFilter
	initial float64 // alpha at attachment, 0 to 1023
	monitor quantity.Picoseconds
	inc     quantity.Picoseconds
	bytes   int64
	divisor float64 // 2^rpg_gd
	least   float64 // of new/old rate in a cut
	maxRate float64 // bit/s; 0 is line rate
	first   float64 // rate_to_set_on_first_cnp, bit/s; 0 is line rate
	gap     quantity.Picoseconds
	clamp   bool
	clampAT bool // after an increase by time
	off     bool // notifications are ignored
	spaced  bool // a cut needs a monitor period since the last one, and comes at the notification
}

type dcqcnMlxFlow struct {
	rpClock
	echoAt quantity.Picoseconds
	sent   int64
}

// alphaScale is 1 in the vendor's 10-bit alpha, alphaMost the largest value it takes.
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

// begin makes the state of a flow that has met no congestion.
func (d *mlxPoint) begin(s *dcqcnMlxFlow, now quantity.Picoseconds, f *Flow) Control {
	*s = dcqcnMlxFlow{rpClock: rpClock{line: float64(f.LineRate), seen: now}, echoAt: longAgo}
	d.release(&s.rpClock)
	return Control{Rate: s.line}
}

// release takes the limiter off.
func (d *mlxPoint) release(f *rpClock) {
	f.Rate, f.Target, f.Alpha = f.line, f.line, d.initial
	f.TimeStage, f.ByteStage, f.flags = 0, 0, 0
}

// top is the most that a limiter allows.
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

// increase applies the increase timer up to and including t.
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

// waits reports whether a notification has still to cut.
func (d *mlxPoint) waits(f *rpClock) bool { return !d.spaced && f.is(rpCutDue) }

func (d *mlxPoint) releaseIfFull(f *rpClock) {
	if !d.waits(f) && f.Rate >= d.top(f)-limiterUnit {
		d.release(f)
		f.incAt = neverTick
	}
}

// lower cuts at t: current = current · max(1 - A/2^GD, min_dec_fac), A the integer alpha.
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

// count takes a packet into the byte counter.
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

// echoed takes an acknowledgement that may echo marks.
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

// attach gives the flow a limiter.
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

// gauges stores what rpGauges names.
func (d *mlxPoint) gauges(f *dcqcnMlxFlow, dst []float64) {
	dst[0], dst[1], dst[2] = f.Target, f.alphaNow(f.seen, &d.alpha)/alphaScale, float64(max(f.TimeStage, f.ByteStage))
}
