package telemetry

import (
	"errors"
	"math/bits"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Why a counter could not be measured over a window, for errors.Is.
var (
	// ErrSaturated is a counter found at its end, where it may have been stuck for any time.
	ErrSaturated = errors.New("at its end")
	// ErrGap is a pair of readings too far apart for a 32-bit counter to be unambiguous.
	ErrGap = errors.New("too long between two readings")
	// ErrCleared is a counter that something other than this collector set back.
	ErrCleared = errors.New("cleared by another collector")
	// ErrReset is a counter or a clock that jumped, as after a restart.
	ErrReset = errors.New("counter or clock was reset")
	// ErrUnread is a port that was not read at both ends of the window.
	ErrUnread error = &phrase.Error{Text: phrase.Of("measure.unread")}
	// ErrNoSLCounters is a device without PortXmitDataSL.
	ErrNoSLCounters error = &phrase.Error{Text: phrase.Of("measure.no-sl-counters")}
	// ErrNoTime is a window in which the device's clock did not move.
	ErrNoTime error = &phrase.Error{Text: phrase.Of("measure.clock-stopped")}
)

const (
	wordOctets = 4     // data counters are in units of four octets
	wordBits   = 8 * 4 // and so of 32 bits
	counterEnd = 1<<32 - 1
	// clearAt is the value from which a counter is cleared after reading: half its range, which
	// leaves the other half for the time until the next reading.
	clearAt = 1 << 31
	// assumedRate stands for a link rate that is not known: no link in use is faster.
	assumedRate = 1600 * quantity.Gbps
)

// SafeInterval returns the longest time between two readings of a port for which a 32-bit
// counter of four-octet words stays unambiguous and, being cleared beyond half its range,
// never reaches its end: half of the time that the link takes for 2^31 words, which leaves a
// margin of two for readings that are late. It is in the time of the device: 0.344 s at
// 100 Gbit/s, 86 ms at 400 Gbit/s. A rate of zero or less is taken as 1.6 Tbit/s.
func SafeInterval(rate quantity.BitRate) quantity.Picoseconds {
	if rate <= 0 {
		rate = assumedRate
	}
	return quantity.Picoseconds(mulDiv(clearAt*wordBits, uint64(quantity.Second), uint64(rate)) / 2)
}

// mulDiv is a*b/c rounded to nearest, through 128 bits; it saturates at the largest uint64.
// c must not be zero.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c/2, 0)
	hi += carry
	if hi >= c {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// rateOf is the rate of words of four octets in a span of time, rounded to nearest. The span
// must be positive.
func rateOf(words uint64, span quantity.Picoseconds) quantity.BitRate {
	bitCount := mulDiv(words, wordBits, 1)
	return quantity.BitRate(min(mulDiv(bitCount, uint64(quantity.Second), uint64(span)), 1<<63-1))
}

// wordsIn is the most words a link can carry in a span, with a margin of a quarter and
// 256 KiB for what a device moves between its queues and its counters.
func wordsIn(span quantity.Picoseconds, rate quantity.BitRate) uint64 {
	if rate <= 0 {
		rate = assumedRate
	}
	w := mulDiv(uint64(max(span, 0)), uint64(rate), uint64(quantity.Second)*wordBits)
	return w + w/4 + 1<<16
}

// deviceClock unwraps a 32-bit TimeStamp into picoseconds since it was first read.
type deviceClock struct {
	seen bool
	last uint32
	now  quantity.Picoseconds
}

// advance moves to a TimeStamp that was read less than 73 minutes of device time after the
// last one. A clock that was set back looks like one that jumped far ahead.
func (c *deviceClock) advance(ticks uint32) quantity.Picoseconds {
	if c.seen {
		c.now += ticksOf(ticks - c.last)
	}
	c.seen, c.last = true, ticks
	return c.now
}

// ticksOf is the time of so many units of TimeStamp.
func ticksOf(n uint32) quantity.Picoseconds {
	return quantity.Picoseconds(n) * ibcc.TimerUnitPicoseconds
}

// reading is what was read from a port at one time.
type reading struct {
	before, after quantity.Picoseconds // device clock around the counters
	xmit          uint64               // PortCountersExtended.XmitData
	sl            [ident.NumSLs]uint32 // PortXmitDataSL, when perSL
	perSL         bool
}

func (r reading) width() quantity.Picoseconds  { return r.after - r.before }
func (r reading) middle() quantity.Picoseconds { return r.before + r.width()/2 }

// tally is what a counter moved by, over the time in which that is certain. Neither ever shrinks.
type tally struct {
	words uint64
	time  quantity.Picoseconds
	why   error // why the latest time that was left out was
}

func (t *tally) add(words uint64, time quantity.Picoseconds) {
	t.words += words
	t.time += time
}

// totals are the tallies of a port.
type totals struct {
	port tally // data sent
	sl   [ident.NumSLs]tally
	// edges is half the time that those readings took at which counting began or broke off.
	edges quantity.Picoseconds
}

// leave notes why the time up to now is left out of the tallies.
func (t *totals) leave(why error) {
	t.port.why = why
	t.leaveSLs(why)
}

func (t *totals) leaveSLs(why error) {
	for sl := range t.sl {
		t.sl[sl].why = why
	}
}

// meter adds up what one port's counters moved by between one reading and the next, and for how long. What lies between
// two readings that cannot follow each other is left out of both. Its arithmetic is exact.
type meter struct {
	totals

	rate quantity.BitRate
	seen bool
	last reading
}

// observe takes a reading.
func (m *meter) observe(r reading) {
	if m.seen {
		m.advance(r)
	} else {
		m.edges += r.width() / 2
	}
	m.seen, m.last = true, r
}

// breakOff makes the next reading a new base line.
func (m *meter) breakOff(why error) {
	if m.seen {
		m.edges += m.last.width() / 2
	}
	m.seen = false
	m.leave(why)
}

// restart takes a reading as the new base line, after the counters were cleared.
func (m *meter) restart(r reading) {
	m.edges += (m.last.width() + r.width()) / 2
	m.seen, m.last = true, r
}

// wantsClear reports that a counter is beyond half its range.
func (m *meter) wantsClear() bool {
	for _, v := range m.last.sl {
		if m.seen && v >= clearAt {
			return true
		}
	}
	return false
}

// advance adds what the counters moved by since the last reading.
func (m *meter) advance(r reading) {
	span := r.after - m.last.before // the longest time there can be between the two
	most := wordsIn(span, m.rate)
	moved := r.xmit - m.last.xmit
	switch {
	case r.before < m.last.after:
		m.leave(phrase.Because(ErrReset, phrase.Of("measure.clock-reset-after", "after", r.before, "before", m.last.after)))
		return
	case r.xmit < m.last.xmit:
		m.leave(phrase.Because(ErrCleared, phrase.Of("measure.cleared")))
		return
	case moved > most:
		m.leave(phrase.Because(ErrReset, phrase.Of("measure.port-reset")))
		return
	}
	time := r.middle() - m.last.middle()
	m.port.add(moved, time)
	if !r.perSL || !m.last.perSL {
		return
	}
	faults, err := m.judge(r, moved, most)
	if err != nil {
		m.leaveSLs(err)
		return
	}
	for sl, fault := range faults {
		if t := &m.sl[sl]; fault != nil {
			t.why = fault
		} else {
			t.add(uint64(r.sl[sl]-m.last.sl[sl]), time) // modulo 2^32: right over one wrap
		}
	}
}

// judge says which counters by SL did not show what was sent since the last reading, or why none did. moved is what the
// 64-bit counter of the port moved by, most what the link carries.
func (m *meter) judge(r reading, moved, most uint64) (faults [ident.NumSLs]error, err error) {
	sum, stuck := uint64(0), false
	for sl, v := range r.sl {
		last := m.last.sl[sl]
		switch d := uint64(v - last); {
		case v == counterEnd || last == counterEnd:
			faults[sl] = phrase.Because(ErrSaturated, phrase.Of("measure.sl-saturated", "sl", sl))
			stuck = true
		case most > counterEnd:
			faults[sl] = phrase.Because(ErrGap, phrase.Of("measure.gap", "gap", r.after-m.last.before))
		case d > most && v < last:
			return faults, phrase.Because(ErrCleared, phrase.Of("measure.sl-cleared", "sl", sl))
		case d > most:
			return faults, phrase.Because(ErrReset, phrase.Of("measure.sl-reset", "sl", sl))
		default:
			sum += d
		}
	}
	if most > counterEnd {
		return faults, nil
	}
	// The two kinds of counters are of times that differ by as much as the readings took.
	slack := wordsIn(r.width()+m.last.width(), m.rate) + moved/clearedParts
	if sum > moved+slack {
		return faults, clearedBySL(sum, moved)
	}
	for sl, v := range r.sl {
		last := m.last.sl[sl]
		switch {
		case faults[sl] != nil:
		case stuck && v < last: // what the port sent cannot tell the one from the other
			faults[sl] = phrase.Because(ErrCleared, phrase.Of("measure.sl-wrapped", "sl", sl))
		case stuck || sum+slack >= moved:
		case v < last || uint64(last) <= moved+slack: // else it shows more than it could since a clear, and other traffic is not counted
			faults[sl] = clearedBySL(sum, moved)
		}
	}
	return faults, nil
}

// clearedBySL is ErrCleared, shown by counters by SL that together moved by sum while the port sent moved.
func clearedBySL(sum, moved uint64) error {
	return phrase.Because(ErrCleared, phrase.Of("measure.sl-short", "part", phrase.PercentOf(float64(sum)/float64(max(moved, 1)), 0)))
}

// clearedParts is the part of what a port sent that its counters by SL may lack before another collector is held to have
// cleared them.
const clearedParts = 64
