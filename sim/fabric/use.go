package fabric

import (
	"math/bits"

	"fairlane/internal/quantity"
)

// Use of the link at the two ends of the thresholds, in fifteenths of a fifth so that every threshold is
// exact: all of the link for threshold 0, three fifths for threshold 15.
const (
	useParts     = 75
	usePartsStep = 2
)

// ThresholdUse returns the part of a link, from 0.6 to 1, that a marking threshold stands for under
// MarkByUse: 1 - 0.4·threshold/15, 15 being the greatest. S1 (4.1) gives 0.6 for threshold 15, "packets of
// 256 bytes, 176 bytes apart", and a linear increase from 15 to 1. It does not say where that ends; here it
// ends where nothing can be exceeded any more, at all of the link for threshold 0, which never marks.
func ThresholdUse(threshold uint8) float64 {
	return float64(useParts-usePartsStep*int(min(threshold, 15))) / useParts
}

// useMeter averages how much of its time a switch port transmits: the time sliding window of RFC 2859, whose
// average for packets of equal size and distance is their transmission time by their distance, exactly, and
// never above one. Without packets it decays.
type useMeter struct {
	window quantity.Picoseconds
	limit  quantity.Picoseconds // busy time of the window that the threshold allows
	busy   quantity.Picoseconds // busy time of the window at last, at most all of it
	last   quantity.Picoseconds // end of the last packet
	until  quantity.Picoseconds // the use falls to the limit then, unless a packet is sent

	above   quantity.Picoseconds // how long the use has been above the limit, up to counted
	counted quantity.Picoseconds
}

// over reports whether the use is above the limit.
func (m *useMeter) over(now quantity.Picoseconds) bool { return now < m.until }

// sent counts a packet of transmission time t whose last byte leaves at end.
func (m *useMeter) sent(end, t quantity.Picoseconds) {
	m.count(end)
	m.busy = scaled(m.busy+t, m.window, m.window+end-m.last)
	m.last = end
	m.look()
}

// allow sets the limit from a threshold.
func (m *useMeter) allow(threshold uint8, now quantity.Picoseconds) {
	m.count(now)
	m.limit = m.window * quantity.Picoseconds(useParts-usePartsStep*int(min(threshold, 15))) / useParts
	m.look()
}

// look finds when the use falls to the limit: busy·window/(window + time) = limit.
func (m *useMeter) look() {
	m.until = 0
	if m.busy > m.limit {
		m.until = m.last + scaled(m.busy, m.window, m.limit) - m.window
	}
}

// aboveAt returns how long the use has been above the limit until now.
func (m *useMeter) aboveAt(now quantity.Picoseconds) quantity.Picoseconds {
	return m.above + max(0, min(now, m.until)-m.counted)
}

func (m *useMeter) count(now quantity.Picoseconds) {
	m.above = m.aboveAt(now)
	m.counted = max(m.counted, now)
}

// scaled is v·by/of for a result that fits; none of them is negative, of is positive.
func scaled(v, by, of quantity.Picoseconds) quantity.Picoseconds {
	hi, lo := bits.Mul64(uint64(v), uint64(by))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return quantity.Picoseconds(q)
}
