package ibcc

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Delays are computed in eighths of a packet time, the finest unit of the encoding (Shift 3), so that table arithmetic is exact
// in integers.
const (
	eighths = 1 << MaxShift
	// MaxFactor is the largest delay of an entry, in packet times.
	MaxFactor = MaxMultiplier
	maxEighth = MaxMultiplier * eighths
)

// Limits of the table builders.
const (
	MinRatio = 1001 // thousandths: a geometric table grows by at least 0.1 % per step
	MaxRatio = 4000
	// MaxTableEntries is the largest possible table: a device reports its number of 64-entry blocks in ControlTableCap, 8 bits
	// wide.
	MaxTableEntries = 255 * 64
)

// EntryFromFactor encodes an injection rate delay of x packet times, 0 to MaxFactor, with the largest possible shift, which is
// the finest encoding (IBTA annex A10, CongestionControlTable). Zero is 0:0. It returns an error for a negative, too large or
// undefined x.
func EntryFromFactor(x float64) (Entry, error) {
	if !(x >= 0 && x <= MaxFactor) {
		return Entry{}, fmt.Errorf("injection rate delay of %v packet times: want 0 to %d", x, MaxFactor)
	}
	for s := MaxShift; s > 0; s-- {
		if y := x * float64(int(1)<<s); y <= MaxMultiplier {
			return normal(Entry{Shift: uint8(s), Multiplier: uint16(math.Floor(y + 0.5))}), nil
		}
	}
	return Entry{Multiplier: uint16(math.Floor(x + 0.5))}, nil
}

// entryFromEighths encodes a delay in eighths of a packet time, rounded to the nearest encodable value; larger delays become
// the maximum.
func entryFromEighths(e uint64) Entry {
	for s := MaxShift; s >= 0; s-- {
		drop := uint(MaxShift - s)
		if m := (e + (1<<drop)>>1) >> drop; m <= MaxMultiplier {
			return normal(Entry{Shift: uint8(s), Multiplier: uint16(m)})
		}
	}
	return Entry{Multiplier: MaxMultiplier}
}

// normal returns the normal form 0:0 for the zero delay.
func normal(e Entry) Entry {
	if e.Multiplier == 0 {
		return Entry{}
	}
	return e
}

// Eighths returns the delay in eighths of a packet time, exactly.
func (e Entry) Eighths() uint32 { return uint32(e.Multiplier) << (MaxShift - e.Shift&MaxShift) }

// Factor returns the delay in packet times, exactly.
func (e Entry) Factor() float64 { return float64(e.Eighths()) / eighths }

// Rate returns the rate of a flow at this entry on a link of the given rate, rounded down: line / (1 + Multiplier/2^Shift).
func (e Entry) Rate(line quantity.BitRate) quantity.BitRate {
	d := int64(eighths + e.Eighths())
	q, r := int64(line)/d, int64(line)%d
	return quantity.BitRate(q*eighths + r*eighths/d)
}

// String formats the entry as shift:multiplier, the form of ibccconfig.
func (e Entry) String() string { return fmt.Sprintf("%d:%d", e.Shift, e.Multiplier) }

// Geometric returns a table in which each step slows a flow by the same factor; ratio is this factor in thousandths (1050 is
// 1.05). 1 + delay starts at 1 and grows by ratio, and each entry is rounded to the nearest encodable value. Where the growth
// is finer than an eighth of a packet time, neighbouring entries are equal, so that one CCTI step is worth the same factor on
// average. A forced step of an eighth there would make a fast flow's saw-tooth twice as coarse and cost it about 4 % of its
// share. A geometric table keeps the relative size of the saw-tooth the same at every rate, and so gives smaller share errors
// than a quadratic one.
func Geometric(entries, ratio int) ([]Entry, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	if ratio < MinRatio || ratio > MaxRatio {
		return nil, fmt.Errorf("CCT ratio of %d thousandths: want %d to %d", ratio, MinRatio, MaxRatio)
	}
	const frac = 24 // fixed point: eighths with 24 binary places
	out := make([]Entry, entries)
	z := uint64(eighths) << frac // eighths of (1 + delay)
	for i := 1; i < entries; i++ {
		z = min(z*uint64(ratio)/1000, (maxEighth+eighths)<<frac)
		out[i] = entryFromEighths((z+1<<(frac-1))>>frac - eighths)
	}
	return out, nil
}

// Quadratic returns a table with S1's shape, CCT(i) = 14·i²/1062 us (section 3 of the differentiated-bandwidth paper, S1),
// which S1 uses with 1024-byte packets at 10 Gbit/s. In packet times, the unit of a device, this is 0.01609·i² at every speed
// and MTU. scale stretches the table, in thousandths: 1000 is S1's own. Where S1's law is finer than the encoding, steps are an
// eighth of a packet time.
func Quadratic(entries, scale int) ([]Entry, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	if scale < 1 || scale > 1_000_000 {
		return nil, fmt.Errorf("CCT scale of %d thousandths: want 1 to 1000000", scale)
	}
	// 14/1062 us divided by a packet time of 0.8192 us, in eighths: 14·8·10^4 / (1062·8192) · i².
	const num, den = 14 * 8 * 10_000, 1062 * 8192 * 1000
	out := make([]Entry, entries)
	prev := uint64(0)
	for i := 1; i < entries; i++ {
		ideal := (uint64(i)*uint64(i)*num/den*uint64(scale) +
			(uint64(i)*uint64(i)*num%den*uint64(scale)+den/2)/den)
		prev = min(max(prev+1, ideal), maxEighth)
		out[i] = entryFromEighths(prev)
	}
	return out, nil
}

func checkEntries(n int) error {
	if n < 2 || n > MaxTableEntries {
		return fmt.Errorf("CCT of %d entries: want 2 to %d", n, MaxTableEntries)
	}
	return nil
}

// Steps returns the lowest index whose entry holds a flow at or below the wanted rate on a link of the given rate, and false if
// even the last entry is too fast.
func Steps(table []Entry, line, want quantity.BitRate) (int, bool) {
	for i, e := range table {
		if e.Rate(line) <= want {
			return i, true
		}
	}
	return len(table) - 1, false
}
