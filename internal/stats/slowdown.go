package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// MaxSizeBins is the maximum number of bounds in NewSlowdowns: each bin has a histogram.
const MaxSizeBins = 256

// slowdownUnit is the resolution of recorded slowdowns.
const slowdownUnit = 1e-4

// slowdownError is the maximum relative error of a slowdown's quantiles.
const slowdownError = 0.005

// MaxSlowdown is the largest recorded slowdown; larger ones are recorded as this value.
const MaxSlowdown = 1e12

// Slowdowns collects the slowdown of flows - completion time over that of the same flow alone on the idle path - by
// flow size, in memory that does not depend on the number of flows. It is not safe for concurrent use.
type Slowdowns struct {
	upper []int64      // ascending; the bin after the last has no bound
	bins  []*Histogram // nil until a flow was recorded in it
}

// NewSlowdowns returns an empty collection with one bin for each upper bound in bytes, which belongs to its bin, and
// one for larger flows. Bounds that do not ascend from at least 1 byte, or more than MaxSizeBins of them, are errors.
func NewSlowdowns(upper []int64) (*Slowdowns, error) {
	if len(upper) > MaxSizeBins {
		return nil, fmt.Errorf("flow size bins: %d bounds: want at most %d", len(upper), MaxSizeBins)
	}
	last := int64(0)
	for i, b := range upper {
		if b <= last {
			return nil, fmt.Errorf("flow size bins: bound %d is %d bytes: want more than %d", i, b, last)
		}
		last = b
	}
	return &Slowdowns{upper: slices.Clone(upper), bins: make([]*Histogram, len(upper)+1)}, nil
}

// histogram returns the histogram of a bin.
func (s *Slowdowns) histogram(bin int) (*Histogram, error) {
	if s.bins[bin] == nil {
		h, err := NewHistogram(slowdownError)
		if err != nil {
			return nil, fmt.Errorf("flow size bins: %w", err)
		}
		s.bins[bin] = h
	}
	return s.bins[bin], nil
}

// HadoopSizeBounds are the flow sizes, in bytes, below which 5, 10, ... 100 % of the flows of the Facebook Hadoop
// distribution lie, rounded. Slowdown tables in the style of the HPCC paper, such as S3's, have one row for each
// twentieth of the flows; rows named after sizes near 124 KB and 336 KB are those of 120 KB and 300 KB, shifted by the
// incast flows in the mix.
func HadoopSizeBounds() []int64 {
	return []int64{300, 325, 350, 400, 450, 500, 550, 600, 650, 700, 850, 1000, 1714, 7000, 36000, 46000, 68000, 120000, 300000, 10e6}
}

// DecadeSizeBounds returns the powers of ten from 100 bytes to 10 GB.
func DecadeSizeBounds() []int64 { return []int64{1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10} }

// Record counts one completed flow. A size below one byte, or a slowdown that is negative, infinite or NaN, is an
// error. It accepts slowdowns slightly below 1, because the ideal time comes from a model.
func (s *Slowdowns) Record(size int64, slowdown float64) error {
	if size < 1 {
		return fmt.Errorf("slowdown of a flow of %d bytes: want at least one byte", size)
	}
	if !(slowdown >= 0) || math.IsInf(slowdown, 1) {
		return fmt.Errorf("slowdown %v of a flow of %d bytes: want a number from 0", slowdown, size)
	}
	h, err := s.histogram(s.bin(size))
	if err != nil {
		return err
	}
	h.Record(int64(math.Round(min(slowdown, MaxSlowdown) / slowdownUnit)))
	return nil
}

func (s *Slowdowns) bin(size int64) int {
	return sort.Search(len(s.upper), func(i int) bool { return size <= s.upper[i] })
}

// Merge adds the flows of another collection with the same bounds; other bounds are an error.
func (s *Slowdowns) Merge(o *Slowdowns) error {
	if !slices.Equal(s.upper, o.upper) {
		return fmt.Errorf("merge slowdowns: bounds %v and %v: want equal ones", s.upper, o.upper)
	}
	for i, other := range o.bins {
		if other == nil {
			continue
		}
		h, err := s.histogram(i)
		if err != nil {
			return err
		}
		if err := h.Merge(other); err != nil {
			return fmt.Errorf("merge slowdowns: bin %d: %w", i, err)
		}
	}
	return nil
}

// SlowdownRow is the slowdown of flows in one range of sizes. Quantiles are within 0.5 %, the mean within 0.0001 and
// the maximum within 0.00005.
type SlowdownRow struct {
	Above int64   `json:"above_bytes"` // exclusive lower bound of the size
	UpTo  int64   `json:"up_to_bytes"` // inclusive upper bound; 0 if there is none
	Flows uint64  `json:"flows"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Rows returns the non-empty bins, from small to large.
func (s *Slowdowns) Rows() []SlowdownRow {
	var rows []SlowdownRow
	above := int64(0)
	for i, h := range s.bins {
		upTo := int64(0)
		if i < len(s.upper) {
			upTo = s.upper[i]
		}
		if h != nil {
			rows = append(rows, slowdownRow(h, above, upTo))
		}
		above = upTo
	}
	return rows
}

// Total returns the slowdown of all flows together; Above and UpTo are zero.
func (s *Slowdowns) Total() SlowdownRow {
	all, err := NewHistogram(slowdownError)
	if err != nil {
		return SlowdownRow{}
	}
	for _, h := range s.bins {
		if h == nil {
			continue
		}
		if err := all.Merge(h); err != nil {
			return SlowdownRow{}
		}
	}
	return slowdownRow(all, 0, 0)
}

func slowdownRow(h *Histogram, above, upTo int64) SlowdownRow {
	sum := h.Summary(1 / slowdownUnit)
	return SlowdownRow{Above: above, UpTo: upTo, Flows: sum.Count, Mean: sum.Mean, P50: sum.P50, P95: sum.P95, P99: sum.P99, Max: sum.Max}
}
