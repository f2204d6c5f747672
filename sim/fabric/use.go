package fabric

import (
	"math/bits"

	"fairlane/internal/quantity"
)

// useParts and usePartsStep define the threshold range in parts of 1/75 of the link, so that every threshold is exact: the
// whole link for threshold 0, three fifths for threshold 15.
const (
	useParts     = 75
	usePartsStep = 2
)

// ThresholdUse returns the link utilization, from 0.6 to 1, that corresponds to a marking threshold under MarkByUse: 1 -
// 0.4·threshold/15. S1 (4.1) gives 0.6 for threshold 15 ("packets of 256 bytes, 176 bytes apart") and a linear increase from
// 15 to 1, but no end point. Here the end point is the whole link for threshold 0, which never marks.
func ThresholdUse(threshold uint8) float64 {
	return float64(useParts-usePartsStep*int(min(threshold, 15))) / useParts
}

// useMeter averages the utilization of a switch port's link with the time sliding window of RFC 2859. For packets of equal size
// and spacing, the average is exactly transmission time divided by spacing, and never above one. Without packets it decays.
type useMeter struct {
	window quantity.Picoseconds
	limit  quantity.Picoseconds // busy time in the window at the threshold
	busy   quantity.Picoseconds // busy time in the window at time last; at most the whole window
	last   quantity.Picoseconds // end of the last packet
	until  quantity.Picoseconds // time at which the utilization falls to the limit unless a packet is sent

	above   quantity.Picoseconds // total time above the limit, up to time counted
	counted quantity.Picoseconds
}

// over reports whether the utilization is above the limit.
func (m *useMeter) over(now quantity.Picoseconds) bool { return now < m.until }

// sent adds a packet of transmission time t whose last byte leaves at end.
func (m *useMeter) sent(end, t quantity.Picoseconds) {
	m.count(end)
	m.busy = scaled(m.busy+t, m.window, m.window+end-m.last)
	m.last = end
	m.setCrossing()
}

// allow sets the limit from a threshold.
func (m *useMeter) allow(threshold uint8, now quantity.Picoseconds) {
	m.count(now)
	m.limit = m.window * quantity.Picoseconds(useParts-usePartsStep*int(min(threshold, 15))) / useParts
	m.setCrossing()
}

// setCrossing computes when the utilization falls to the limit: busy·window/(window + time) = limit.
func (m *useMeter) setCrossing() {
	m.until = 0
	if m.busy > m.limit {
		m.until = m.last + scaled(m.busy, m.window, m.limit) - m.window
	}
}

// aboveAt returns the total time above the limit up to now.
func (m *useMeter) aboveAt(now quantity.Picoseconds) quantity.Picoseconds {
	return m.above + max(0, min(now, m.until)-m.counted)
}

func (m *useMeter) count(now quantity.Picoseconds) {
	m.above = m.aboveAt(now)
	m.counted = max(m.counted, now)
}

// scaled returns v·by/of. No argument may be negative, of must be positive, and the result must fit.
func scaled(v, by, of quantity.Picoseconds) quantity.Picoseconds {
	hi, lo := bits.Mul64(uint64(v), uint64(by))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return quantity.Picoseconds(q)
}
