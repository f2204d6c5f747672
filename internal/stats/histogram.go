package stats

import (
	"fmt"
	"iter"
	"math"
	"math/bits"
)

// Limits of the relative error in NewHistogram. The smaller one costs 442 KB for each histogram.
const (
	MinRelativeError = 0.0005
	MaxRelativeError = 0.25
)

// DefaultRelativeError is one per cent, which costs 30 KB for each histogram.
const DefaultRelativeError = 0.01

// Histogram counts values from 0 to the largest int64 in buckets whose width grows with the value, so that every value
// is known with a constant relative error in constant memory (the log-linear layout of HDR histograms): below 2^(p+1)
// each value has its own bucket; above, each power of two has 2^p buckets. Recording takes constant time and does not
// allocate. The caller chooses the unit, such as picoseconds or bytes. The zero Histogram is not usable; see
// NewHistogram. It is not safe for concurrent use.
type Histogram struct {
	counts       []uint64
	p            uint // log2 of the number of buckets in a power of two
	n            uint64
	sumHi, sumLo uint64 // exact sum, 128 bits
	min, max     int64
}

// NewHistogram returns an empty histogram whose quantiles have at most the relative error, MinRelativeError to
// MaxRelativeError; any other value is an error.
func NewHistogram(relativeError float64) (*Histogram, error) {
	if !(relativeError >= MinRelativeError && relativeError <= MaxRelativeError) {
		return nil, fmt.Errorf("histogram: relative error %v: want %v to %v", relativeError, MinRelativeError, MaxRelativeError)
	}
	// The middle of a bucket deviates by half its width: 2^-(p+1) of its lower end.
	p := uint(math.Ceil(-math.Log2(relativeError))) - 1
	return &Histogram{counts: make([]uint64, (65-p)<<p), p: p}, nil
}

// RelativeError is the bound on |estimate - value| / value that the layout guarantees: the requested one, or a smaller
// one.
func (h *Histogram) RelativeError() float64 { return 1 / float64(uint64(2)<<h.p) }

// Record counts one value. A negative value counts as zero: spans and sizes are never negative, and a rounding error
// must not lose the sample.
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

// bucket returns the index of the bucket for v >= 0: the p+1 leading bits, preceded by the number of bits below them.
func (h *Histogram) bucket(v int64) int {
	shift := max(bits.Len64(uint64(v)), int(h.p)+1) - int(h.p) - 1
	return shift<<h.p + int(v>>shift)
}

// span returns the range of values of a bucket, both ends included.
func (h *Histogram) span(i int) (low, high int64) {
	shift := max(i>>h.p, 1) - 1
	low = int64(i-shift<<h.p) << shift
	return low, low + (1<<shift - 1)
}

// Count returns the number of recorded samples.
func (h *Histogram) Count() uint64 { return h.n }

// Min returns the smallest recorded value, exactly; 0 if nothing was recorded.
func (h *Histogram) Min() int64 { return h.min }

// Max returns the largest recorded value, exactly; 0 if nothing was recorded.
func (h *Histogram) Max() int64 { return h.max }

// Mean returns the arithmetic mean from the exact sum, rounded once; 0 if nothing was recorded.
func (h *Histogram) Mean() float64 {
	if h.n == 0 {
		return 0
	}
	return (math.Ldexp(float64(h.sumHi), 64) + float64(h.sumLo)) / float64(h.n)
}

// Quantile estimates the q-quantile by nearest rank (see Quantile in this package): the value such that a fraction q of
// the samples is less than or equal to it, with an error of at most RelativeError. q below 0 counts as 0, q above 1 and
// NaN as 1; q = 0 gives Min and q = 1 gives Max, both exact. It returns 0 if nothing was recorded.
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

// Bucket is one non-empty bucket of a histogram.
type Bucket struct {
	Low, High  int64  // range of values, both ends included
	Count      uint64 // number of samples
	Cumulative uint64 // number of samples in it and in all lower buckets
}

// Middle returns the value that represents the bucket.
func (b Bucket) Middle() int64 { return b.Low + (b.High-b.Low+1)/2 }

// Buckets yields the non-empty buckets, from the lowest value to the highest.
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

// Merge adds the samples of another histogram with the same layout; a different layout is an error. Merging is exact:
// the order of recording and merging has no effect.
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

// Reset removes all samples and keeps the memory.
func (h *Histogram) Reset() {
	clear(h.counts)
	*h = Histogram{counts: h.counts, p: h.p}
}

// Summary is the figures of a histogram for a report, in a unit of the caller's choice.
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

// Summary returns the figures, each value divided by unit: for example 1e6 for microseconds if picoseconds were
// recorded. A unit that is not a positive number counts as 1.
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
