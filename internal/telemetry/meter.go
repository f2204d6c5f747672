package telemetry

import (
	"errors"
	"fmt"
	"math/bits"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
)

// Why a counter could not be measured over a window, for errors.Is.
var (
	// ErrSaturated is a counter found at its end, where it may have been stuck for any time.
	ErrSaturated = errors.New("counter at its end")
	// ErrGap is a pair of readings too far apart for a 32-bit counter to be unambiguous.
	ErrGap = errors.New("too long between two readings")
	// ErrReset is a counter or a clock that jumped: cleared by another tool, or a restart.
	ErrReset = errors.New("counter or clock was reset")
	// ErrUnread is a port that was not read at both ends of the window.
	ErrUnread = errors.New("counters were not read")
	// ErrNoSLCounters is a device without PortXmitDataSL.
	ErrNoSLCounters = errors.New("device does not count by service level")
	// ErrNoTime is a window in which the device's clock did not move.
	ErrNoTime = errors.New("device clock did not advance")
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

// meter accumulates one port's counters in 64 bits. Its arithmetic is exact.
type meter struct {
	rate quantity.BitRate

	seen  bool
	last  reading
	epoch int   // counts the breaks in continuity
	why   error // of the last break
	xmit  uint64
	sl    [ident.NumSLs]uint64
}

// observe takes a reading. A break in continuity starts a new epoch: totals of different
// epochs must not be subtracted. The error says that the reading itself is of no use.
func (m *meter) observe(r reading) error {
	for sl, v := range r.sl {
		if r.perSL && v == counterEnd {
			m.breakOff(fmt.Errorf("SL %d: %w", sl, ErrSaturated))
			return m.why
		}
	}
	if m.seen {
		if err := m.check(r); err != nil {
			m.breakOff(err)
		}
	}
	if m.seen {
		m.xmit += r.xmit - m.last.xmit
		for sl, v := range r.sl {
			m.sl[sl] += uint64(v - m.last.sl[sl]) // modulo 2^32: right over one wrap
		}
	}
	m.seen, m.last = true, r
	return nil
}

// check reports why r cannot follow the last reading.
func (m *meter) check(r reading) error {
	span := r.after - m.last.before // the longest time there can be between the two
	if span < 0 {
		return fmt.Errorf("clock went back: %w", ErrReset)
	}
	most := wordsIn(span, m.rate)
	if r.xmit < m.last.xmit || r.xmit-m.last.xmit > most {
		return fmt.Errorf("PortCountersExtended: %w", ErrReset)
	}
	if !r.perSL {
		return nil
	}
	if most > counterEnd {
		return fmt.Errorf("%s: %w", span, ErrGap)
	}
	for sl, v := range r.sl {
		if uint64(v-m.last.sl[sl]) > most {
			return fmt.Errorf("SL %d: %w", sl, ErrReset)
		}
	}
	return nil
}

// breakOff ends the epoch: the next reading is a new base line.
func (m *meter) breakOff(why error) {
	m.seen, m.why = false, why
	m.epoch++
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

// cleared says that the per-SL counters were set to zero right after the last reading.
func (m *meter) cleared() { m.last.sl = [ident.NumSLs]uint32{} }
