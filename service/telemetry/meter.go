package telemetry

import (
	"errors"
	"math/bits"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Reasons why a counter could not be measured over a window, for errors.Is.
var (
	// ErrSaturated means that a counter was found saturated, for an unknown time.
	ErrSaturated = errors.New("at its end")
	// ErrGap means that two readings are too far apart for a 32-bit counter to be unambiguous.
	ErrGap = errors.New("too long between two readings")
	// ErrCleared means that another program cleared a counter.
	ErrCleared = errors.New("cleared by another collector")
	// ErrReset means that a counter or a clock jumped, as after a restart.
	ErrReset = errors.New("counter or clock was reset")
	// ErrUnread means that a port was not read at both ends of the window.
	ErrUnread error = &phrase.Error{Text: phrase.Of("measure.unread")}
	// ErrNoSLCounters means that a device has no PortXmitDataSL.
	ErrNoSLCounters error = &phrase.Error{Text: phrase.Of("measure.no-sl-counters")}
	// ErrNoTime means that the device's clock did not move in a window.
	ErrNoTime error = &phrase.Error{Text: phrase.Of("measure.clock-stopped")}
)

const (
	wordOctets = 4     // data counters are in units of four octets
	wordBits   = 8 * 4 // and so of 32 bits
	counterEnd = 1<<32 - 1
	// clearAt is the value from which a counter is cleared after reading: half its range. The other half is left for the
	// time until the next reading.
	clearAt = 1 << 31
	// assumedRate replaces an unknown link rate: no link in use is faster.
	assumedRate = 1600 * quantity.Gbps
)

// SafeInterval returns the longest time between two readings of a port for which a 32-bit counter of four-octet words
// stays unambiguous and, cleared beyond half its range, never saturates: half of the time that the link takes for 2^31
// words, which leaves a factor of two for late readings. It is in the time of the device: 0.344 s at 100 Gbit/s, 86 ms at
// 400 Gbit/s. A rate of zero or less counts as 1.6 Tbit/s.
func SafeInterval(rate quantity.BitRate) quantity.Picoseconds {
	if rate <= 0 {
		rate = assumedRate
	}
	return quantity.Picoseconds(mulDiv(clearAt*wordBits, uint64(quantity.Second), uint64(rate)) / 2)
}

// mulDiv returns a*b/c rounded to nearest, through 128 bits; it saturates at the largest uint64. c must not be zero.
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

// rateOf returns the rate of words of four octets in a time span, rounded to nearest. The span must be positive.
func rateOf(words uint64, span quantity.Picoseconds) quantity.BitRate {
	bitCount := mulDiv(words, wordBits, 1)
	return quantity.BitRate(min(mulDiv(bitCount, uint64(quantity.Second), uint64(span)), 1<<63-1))
}

// wordsIn returns the maximum number of words that a link can carry in a span, with a margin of a quarter and 256 KiB for
// what a device moves between its queues and its counters.
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

// advance moves the clock to a TimeStamp read less than 73 minutes of device time after the last one. A clock that was
// set back looks like a jump far ahead.
func (c *deviceClock) advance(ticks uint32) quantity.Picoseconds {
	if c.seen {
		c.now += ticksOf(ticks - c.last)
	}
	c.seen, c.last = true, ticks
	return c.now
}

// ticksOf returns the duration of this many units of TimeStamp.
func ticksOf(n uint32) quantity.Picoseconds {
	return quantity.Picoseconds(n) * ibcc.TimerUnitPicoseconds
}

// reading holds the counters of a port at one time.
type reading struct {
	before, after quantity.Picoseconds // device clock around the counters
	xmit          uint64               // PortCountersExtended.XmitData
	sl            [ident.NumSLs]uint32 // PortXmitDataSL, when perSL
	perSL         bool
}

func (r reading) width() quantity.Picoseconds  { return r.after - r.before }
func (r reading) middle() quantity.Picoseconds { return r.before + r.width()/2 }

// tally is the sum of a counter's moves and of the time in which they are certain. Neither ever decreases.
type tally struct {
	words uint64
	time  quantity.Picoseconds
	why   error // reason of the latest time that was not counted
}

func (t *tally) add(words uint64, time quantity.Picoseconds) {
	t.words += words
	t.time += time
}

// totals are the tallies of a port.
type totals struct {
	port tally // data sent
	sl   [ident.NumSLs]tally
	// edges is half the duration of the readings at which counting started or broke off.
	edges quantity.Picoseconds
}

// leave records why the time up to now is not counted.
func (t *totals) leave(why error) {
	t.port.why = why
	t.leaveSLs(why)
}

func (t *totals) leaveSLs(why error) {
	for sl := range t.sl {
		t.sl[sl].why = why
	}
}

// meter sums the moves of one port's counters between readings, and their times. Intervals between two inconsistent
// readings count in neither. Its arithmetic is exact.
type meter struct {
	totals

	rate quantity.BitRate
	seen bool
	last reading
}

// observe adds a reading.
func (m *meter) observe(r reading) {
	if m.seen {
		m.advance(r)
	} else {
		m.edges += r.width() / 2
	}
	m.seen, m.last = true, r
}

// breakOff makes the next reading a new baseline.
func (m *meter) breakOff(why error) {
	if m.seen {
		m.edges += m.last.width() / 2
	}
	m.seen = false
	m.leave(why)
}

// restart makes a reading the new baseline, after the counters were cleared.
func (m *meter) restart(r reading) {
	m.edges += (m.last.width() + r.width()) / 2
	m.seen, m.last = true, r
}

// needsClear reports whether a counter is beyond half its range.
func (m *meter) needsClear() bool {
	for _, v := range m.last.sl {
		if m.seen && v >= clearAt {
			return true
		}
	}
	return false
}

// advance adds the moves of the counters since the last reading.
func (m *meter) advance(r reading) {
	span := r.after - m.last.before // the longest possible time between the two
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
			t.add(uint64(r.sl[sl]-m.last.sl[sl]), time) // modulo 2^32: correct over one wrap
		}
	}
}

// judge returns which counters by SL did not show what was sent since the last reading, or why none did. moved is the
// move of the port's 64-bit counter, most the capacity of the link.
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
	// The two kinds of counters are read at times that differ by up to the duration of the readings.
	slack := wordsIn(r.width()+m.last.width(), m.rate) + moved/clearedParts
	if sum > moved+slack {
		return faults, clearedBySL(sum, moved)
	}
	for sl, v := range r.sl {
		last := m.last.sl[sl]
		switch {
		case faults[sl] != nil:
		case stuck && v < last: // the port cannot distinguish the causes
			faults[sl] = phrase.Because(ErrCleared, phrase.Of("measure.sl-wrapped", "sl", sl))
		case stuck || sum+slack >= moved:
		case v < last || uint64(last) <= moved+slack: // otherwise it shows more than possible since a clear, so other traffic is not counted
			faults[sl] = clearedBySL(sum, moved)
		}
	}
	return faults, nil
}

// clearedBySL returns ErrCleared with the evidence: the counters by SL together moved by sum while the port sent moved.
func clearedBySL(sum, moved uint64) error {
	return phrase.Because(ErrCleared, phrase.Of("measure.sl-short", "part", phrase.PercentOf(float64(sum)/float64(max(moved, 1)), 0)))
}

// clearedParts bounds, as a fraction of what a port sent, what its counters by SL may lack before the meter concludes
// that another collector cleared them.
const clearedParts = 64
