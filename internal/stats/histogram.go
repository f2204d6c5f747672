package stats

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
)

// Bounds of the relative error that NewHistogram accepts. The smaller one costs 442 KB a histogram.
const (
	MinRelativeError = 0.0005
	MaxRelativeError = 0.25
)

// DefaultRelativeError is one per cent, which costs 30 KB a histogram.
const DefaultRelativeError = 0.01

// Histogram counts values from 0 to the largest int64 in buckets whose width grows with the value,
// so that every value is known to a fixed relative error in fixed memory (the log-linear layout
// of HDR histograms): below 2^(p+1) each value has its own bucket; above, each power of two has
// 2^p buckets. Recording takes constant time and allocates nothing. The unit is the caller's:
// picoseconds, bytes or any other. The zero Histogram is not usable; see NewHistogram. It is not
// safe for concurrent use.
type Histogram struct {
	counts       []uint64
	p            uint // log2 of the buckets in a power of two
	n            uint64
	sumHi, sumLo uint64 // exact sum, 128 bits
	min, max     int64
}

// NewHistogram returns an empty histogram whose quantiles are off by at most the relative error,
// MinRelativeError to MaxRelativeError; any other is an error.
func NewHistogram(relativeError float64) (*Histogram, error) {
	if !(relativeError >= MinRelativeError && relativeError <= MaxRelativeError) {
		return nil, fmt.Errorf("histogram: relative error %v: want %v to %v", relativeError, MinRelativeError, MaxRelativeError)
	}
	// The middle of a bucket is off by half its width: 2^-(p+1) of its lower end.
	p := uint(math.Ceil(-math.Log2(relativeError))) - 1
	return &Histogram{counts: make([]uint64, (65-p)<<p), p: p}, nil
}

// RelativeError is the bound on |estimate - value| / value that the layout guarantees. It is the
// one asked for, or better.
func (h *Histogram) RelativeError() float64 { return 1 / float64(uint64(2)<<h.p) }

// Record counts one value. A negative value counts as zero: spans and sizes have none, and a
// rounding that makes one must not lose the sample.
func (h *Histogram) Record(v int64) { h.RecordN(v, 1) }

// RecordN counts a value n times. Counts wrap after 2^64 samples.
func (h *Histogram) RecordN(v int64, n uint64) {
	if n == 0 {
		return
	}
	v = max(v, 0)
	if h.n == 0 || v < h.min {
		h.min = v
	}
	h.max = max(h.max, v)
	h.counts[h.bucket(v)] += n
	h.n += n
	hi, lo := bits.Mul64(uint64(v), n)
	h.add(hi, lo)
}

func (h *Histogram) add(hi, lo uint64) {
	var carry uint64
	h.sumLo, carry = bits.Add64(h.sumLo, lo, 0)
	h.sumHi, _ = bits.Add64(h.sumHi, hi, carry)
}

// bucket is the index of the bucket that holds v >= 0: its p+1 leading bits, preceded by how
// far they are shifted.
func (h *Histogram) bucket(v int64) int {
	shift := max(bits.Len64(uint64(v)), int(h.p)+1) - int(h.p) - 1
	return shift<<h.p + int(v>>shift)
}

// span is the range of values, both ends included, of a bucket.
func (h *Histogram) span(i int) (low, high int64) {
	shift := max(i>>h.p, 1) - 1
	low = int64(i-shift<<h.p) << shift
	return low, low + (1<<shift - 1)
}

// Count is the number of recorded samples.
func (h *Histogram) Count() uint64 { return h.n }

// Min is the smallest recorded value, exact; 0 when nothing was recorded.
func (h *Histogram) Min() int64 { return h.min }

// Max is the largest recorded value, exact; 0 when nothing was recorded.
func (h *Histogram) Max() int64 { return h.max }

// Mean is the arithmetic mean from the exact sum, rounded once; 0 when nothing was recorded.
func (h *Histogram) Mean() float64 {
	if h.n == 0 {
		return 0
	}
	return (math.Ldexp(float64(h.sumHi), 64) + float64(h.sumLo)) / float64(h.n)
}

// Quantile estimates the q-quantile by nearest rank (see Quantile of this package): the value
// below or at which a part q of the samples lies, off by at most RelativeError. q below 0 counts
// as 0, above 1 and not-a-number as 1; q = 0 is Min and q = 1 is Max, both exact. It is 0 when
// nothing was recorded.
func (h *Histogram) Quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	rank := nearestRank(q, h.n)
	switch rank {
	case 1:
		return h.min
	case h.n:
		return h.max
	}
	for b := range h.Buckets() {
		if b.Cumulative >= rank {
			return min(max(b.Middle(), h.min), h.max)
		}
	}
	return h.max
}

// Bucket is one bucket of a histogram that holds samples.
type Bucket struct {
	Low, High  int64  // values it holds, both included
	Count      uint64 // its samples
	Cumulative uint64 // samples in it and in all buckets below
}

// Middle is the value that stands for all of the bucket.
func (b Bucket) Middle() int64 { return b.Low + (b.High-b.Low+1)/2 }

// Buckets yields the buckets that hold samples, from the lowest value to the highest.
func (h *Histogram) Buckets() iter.Seq[Bucket] {
	return func(yield func(Bucket) bool) {
		var below uint64
		for i, n := range h.counts {
			if n == 0 {
				continue
			}
			below += n
			low, high := h.span(i)
			if !yield(Bucket{Low: low, High: high, Count: n, Cumulative: below}) || below == h.n {
				return
			}
		}
	}
}

// Merge adds the samples of another histogram of the same layout; a different one is an error.
// Merging is exact: the order of recording and merging does not matter.
func (h *Histogram) Merge(o *Histogram) error {
	if h.p != o.p {
		return fmt.Errorf("merge histograms: relative errors %v and %v: want equal ones", h.RelativeError(), o.RelativeError())
	}
	if o.n == 0 {
		return nil
	}
	if h.n == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.n += o.n
	h.add(o.sumHi, o.sumLo)
	return nil
}

// Reset forgets all samples and keeps the memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	*h = Histogram{counts: h.counts, p: h.p}
}

// Summary is the figures of a histogram that a report prints, in a unit of the caller's choice.
type Summary struct {
	Count uint64  `json:"count"`
	Mean  float64 `json:"mean"`
	Min   float64 `json:"min"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Summary returns the figures with every value divided by unit, such as 1e6 for microseconds when
// picoseconds were recorded. A unit that is not a positive number counts as 1.
func (h *Histogram) Summary(unit float64) Summary {
	if !(unit > 0) || math.IsInf(unit, 1) {
		unit = 1
	}
	at := func(q float64) float64 { return float64(h.Quantile(q)) / unit }
	return Summary{
		Count: h.n, Mean: h.Mean() / unit, Min: float64(h.min) / unit, P50: at(0.5), P90: at(0.9), P95: at(0.95),
		P99: at(0.99), P999: at(0.999), Max: float64(h.max) / unit,
	}
}
