package cc

import (
	"math"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// Bits of rpClock.flags.
const (
	rpActive    uint8 = 1 << iota // the flow's timers run
	rpAlphaDue                    // the next expiry of the alpha timer follows a notification
	rpCutDue                      // a notification waits for the next expiry of the cut timer
	rpTimerLast                   // the last increase since the cut came from the timer
	rpBytesLast                   // the last increase since the cut came from the byte counter
)

// neverTick is the next expiry of a timer that does not run.
const neverTick = sim.Never

// longAgo is before every instant of a simulation, and can be subtracted from one.
const longAgo quantity.Picoseconds = math.MinInt64 / 2

// rpClock is a reaction point whose alpha and cut timers run freely from the first notification on
// (the ns-3 and the vendor reading). Expiries with nothing to do are counted, not run: alpha is
// what it was at alphaAt, and an instant's alpha follows from the expiries since. What it is thus
// does not depend on how often a flow is settled.
type rpClock struct {
	RPState
	line    float64              // rate of the port, bit/s
	alphaAt quantity.Picoseconds // an expiry of the alpha timer, or its start: Alpha is as after it
	cutAt   quantity.Picoseconds // with rpCutDue the expiry that cuts, otherwise an expiry passed, or the start
	incAt   quantity.Picoseconds // next expiry of the increase timer; neverTick while it does not run
	seen    quantity.Picoseconds // last settled
	flags   uint8
}

func (f *rpClock) is(bit uint8) bool { return f.flags&bit != 0 }

// begin starts the alpha timer at now, and the cut timer a moment later. The notification that
// begins them waits for the cut timer; the initial alpha stands for what it adds to alpha.
func (f *rpClock) begin(now, offset, cutPeriod quantity.Picoseconds, alpha float64) {
	f.Alpha, f.alphaAt = alpha, now
	f.cutAt, f.incAt = now+offset+cutPeriod, neverTick
	f.flags = rpActive | rpCutDue
	f.TimeStage, f.ByteStage = 0, 0
}

// notified takes a notification at now, up to which the timers have been settled: the first expiry
// after now of each of the two will see it.
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

// settleAlpha applies the expiry of the alpha timer that follows a notification, if it is not
// after t.
func (f *rpClock) settleAlpha(t quantity.Picoseconds, a *alphaFilter) {
	if f.is(rpAlphaDue) && f.alphaAt+a.period <= t {
		f.Alpha = a.marked(f.Alpha)
		f.alphaAt += a.period
		f.flags &^= rpAlphaDue
	}
}

// alphaNow returns alpha at t, up to which it has been settled.
func (f *rpClock) alphaNow(t quantity.Picoseconds, a *alphaFilter) float64 {
	if !f.is(rpActive) || f.is(rpAlphaDue) {
		return f.Alpha
	}
	return a.decay(f.Alpha, int64((t-f.alphaAt)/a.period))
}

// alphaFilter is the filter of alpha: in each period alpha = keep·alpha, and gain is added if a
// notification came in the period.
type alphaFilter struct {
	period quantity.Picoseconds
	keep   float64
	gain   float64
	top    float64
	whole  bool // alpha is truncated to an integer each time
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
		// Each period takes at least one from an integer alpha, of at most 1023.
		for ; k > 0 && alpha > 0; k-- {
			alpha = math.Floor(a.keep * alpha)
		}
		return alpha
	case k < int64(len(a.powers)):
		return float64(alpha * a.powers[k]) // not to be fused into a sum
	default:
		return alpha * math.Pow(a.keep, float64(k))
	}
}

// marked returns alpha after a period with a notification.
func (a *alphaFilter) marked(alpha float64) float64 {
	return min(a.decay(alpha, 1)+a.gain, a.top)
}
