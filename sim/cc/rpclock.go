package cc

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// Bits of rpClock.flags.
const (
	rpActive    uint8 = 1 << iota // the flow's timers are running
	rpAlphaDue                    // a notification arrived since the last expiry of the alpha timer
	rpCutDue                      // a notification is pending for the next expiry of the cut timer
	rpTimerLast                   // the timer caused the last increase since the cut
	rpBytesLast                   // the byte counter caused the last increase since the cut
)

// neverTick is the next expiry of a stopped timer.
const neverTick = sim.Never

// distantPast is earlier than every instant of a simulation, and subtraction from an instant does not overflow.
const distantPast quantity.Picoseconds = math.MinInt64 / 2

// rpClock is a reaction point whose alpha and cut timers run freely after the first notification (the readings of ns-3 and
// the vendor). Expiries without effect are counted, not executed: Alpha is the value at alphaAt, and the alpha of any instant
// follows from the expiries since. The result is therefore the same however often a flow is settled.
type rpClock struct {
	RPState
	line    float64              // rate of the port, bit/s
	alphaAt quantity.Picoseconds // an expiry of the alpha timer, or its start; Alpha is the value after it
	cutAt   quantity.Picoseconds // with rpCutDue, the expiry that cuts; otherwise a past expiry, or the start
	incAt   quantity.Picoseconds // next expiry of the increase timer; neverTick while it is stopped
	seen    quantity.Picoseconds // time of the last settlement
	flags   uint8
}

func (f *rpClock) is(bit uint8) bool { return f.flags&bit != 0 }

// begin starts the alpha timer at now, and the cut timer offset later. The first notification is pending for the cut timer; the
// initial alpha already includes its effect on alpha.
func (f *rpClock) begin(now, offset, cutPeriod quantity.Picoseconds, alpha float64) {
	f.Alpha, f.alphaAt = alpha, now
	f.cutAt, f.incAt = now+offset+cutPeriod, neverTick
	f.flags = rpActive | rpCutDue
	f.TimeStage, f.ByteStage = 0, 0
}

// notified handles a notification at now; the timers must be settled to now. It takes effect at the next expiry of each timer
// after now.
func (f *rpClock) notified(now, cutPeriod quantity.Picoseconds, a *alphaFilter) {
	f.notifiedAlpha(now, a)
	if !f.is(rpCutDue) {
		f.cutAt += ((now-f.cutAt)/cutPeriod + 1) * cutPeriod
		f.flags |= rpCutDue
	}
}

// notifiedAlpha is notified for the alpha timer only.
func (f *rpClock) notifiedAlpha(now quantity.Picoseconds, a *alphaFilter) {
	if !f.is(rpAlphaDue) {
		k := (now - f.alphaAt) / a.period
		f.Alpha = a.decay(f.Alpha, int64(k))
		f.alphaAt += k * a.period
		f.flags |= rpAlphaDue
	}
}

// settleAlpha applies the expiry of the alpha timer after a notification, unless it is later than t.
func (f *rpClock) settleAlpha(t quantity.Picoseconds, a *alphaFilter) {
	if f.is(rpAlphaDue) && f.alphaAt+a.period <= t {
		f.Alpha = a.marked(f.Alpha)
		f.alphaAt += a.period
		f.flags &^= rpAlphaDue
	}
}

// alphaNow returns alpha at t; alpha must be settled to t.
func (f *rpClock) alphaNow(t quantity.Picoseconds, a *alphaFilter) float64 {
	if !f.is(rpActive) || f.is(rpAlphaDue) {
		return f.Alpha
	}
	return a.decay(f.Alpha, int64((t-f.alphaAt)/a.period))
}

// alphaFilter is the filter of alpha: in each period alpha = keep·alpha, plus gain if a notification arrived in the period.
type alphaFilter struct {
	period quantity.Picoseconds
	keep   float64
	gain   float64
	top    float64
	whole  bool // alpha is truncated to an integer in each period
	powers [64]float64
}

func newAlphaFilter(period quantity.Picoseconds, keep, gain, top float64) alphaFilter {
	a := alphaFilter{period: period, keep: keep, gain: gain, top: top}
	p := 1.0
	for i := range a.powers {
		a.powers[i] = p
		p *= keep
	}
	return a
}

// decay returns alpha after k periods without a notification.
func (a *alphaFilter) decay(alpha float64, k int64) float64 {
	switch {
	case a.whole:
		// Each period lowers an integer alpha, at most 1023, by at least one.
		for ; k > 0 && alpha > 0; k-- {
			alpha = math.Floor(a.keep * alpha)
		}
		return alpha
	case k < int64(len(a.powers)):
		return float64(alpha * a.powers[k]) // prevents fusing into a multiply-add
	default:
		return alpha * math.Pow(a.keep, float64(k))
	}
}

// marked returns alpha after a period with a notification.
func (a *alphaFilter) marked(alpha float64) float64 {
	return min(a.decay(alpha, 1)+a.gain, a.top)
}
