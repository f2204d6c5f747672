package workload

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fairlane/sim"
)

// MaxKnots is the largest number of knots of a distribution.
const MaxKnots = 4096

// Knot is a point of a cumulative distribution: Percent of all flows have at most Bytes.
type Knot struct {
	Bytes   int64
	Percent float64
}

// Sizes is a distribution of flow sizes, linear between its knots. If the first knot has a percentage above 0, that fraction
// of the flows has exactly the size of the first knot. Sizes is immutable.
type Sizes struct {
	name, source string
	knots        []Knot
	mean         float64
}

// NewSizes builds a distribution. name is for display; source names the publication of the numbers.
//
// There are 1 to MaxKnots knots. Sizes are 0 to MaxBytes and increase from knot to knot; percentages are 0 to 100, never
// fall, and end at 100. A first knot of 0 bytes must have 0 %. The error names the knot, counted from 1.
func NewSizes(name, source string, knots []Knot) (*Sizes, error) {
	if len(knots) == 0 || len(knots) > MaxKnots {
		return nil, fmt.Errorf("sizes %q: %d knots: want 1 to %d", name, len(knots), MaxKnots)
	}
	for i := range knots {
		if err := checkKnot(knots, i); err != nil {
			return nil, fmt.Errorf("sizes %q: knot %d (%d bytes, %v %%): %w", name, i+1, knots[i].Bytes, knots[i].Percent, err)
		}
	}
	s := &Sizes{name: name, source: source, knots: slices.Clone(knots)}
	s.mean = float64(float64(knots[0].Bytes)*knots[0].Percent) / 100
	for i := 1; i < len(knots); i++ {
		middle := (float64(knots[i-1].Bytes) + float64(knots[i].Bytes)) / 2
		s.mean += float64(middle*(knots[i].Percent-knots[i-1].Percent)) / 100
	}
	return s, nil
}

func checkKnot(knots []Knot, i int) error {
	k := knots[i]
	if err := checkRange("size", k.Bytes, 0, MaxBytes); err != nil {
		return err
	}
	switch {
	case !(k.Percent >= 0 && k.Percent <= 100):
		return errors.New("want 0 to 100 %")
	case k.Bytes == 0 && k.Percent > 0:
		return errors.New("flows without bytes: want 0 % at 0 bytes")
	case i > 0 && k.Bytes <= knots[i-1].Bytes:
		return fmt.Errorf("want more than the %d bytes of the knot before", knots[i-1].Bytes)
	case i > 0 && k.Percent < knots[i-1].Percent:
		return fmt.Errorf("want at least the %v %% of the knot before", knots[i-1].Percent)
	case i == len(knots)-1 && k.Percent != 100:
		return errors.New("the last knot: want 100 %")
	}
	return nil
}

// FixedSize returns the distribution of flows of exactly n bytes, 1 to MaxBytes.
func FixedSize(n int64) (*Sizes, error) {
	return NewSizes("fixed", "", []Knot{{n, 100}})
}

// Name returns the name of the distribution.
func (s *Sizes) Name() string { return s.name }

// Publication returns the publication of the numbers.
func (s *Sizes) Publication() string { return s.source }

// Knots returns a copy of the knots.
func (s *Sizes) Knots() []Knot { return slices.Clone(s.knots) }

// Mean returns the mean size in bytes.
func (s *Sizes) Mean() float64 { return s.mean }

// CDF returns the fraction of flows, 0 to 1, with at most the given bytes.
func (s *Sizes) CDF(bytes float64) float64 {
	i, _ := slices.BinarySearchFunc(s.knots, bytes, func(k Knot, b float64) int {
		if float64(k.Bytes) <= b {
			return -1
		}
		return 1
	}) // first knot above the given bytes
	switch i {
	case 0:
		return 0
	case len(s.knots):
		return 1
	}
	a, z := s.knots[i-1], s.knots[i]
	part := (bytes - float64(a.Bytes)) / float64(z.Bytes-a.Bytes)
	return (a.Percent + float64(part*(z.Percent-a.Percent))) / 100
}

// Quantile returns the size that a fraction u of the flows does not exceed, in whole bytes and at least 1. u is limited to
// 0..1; NaN counts as 0.
func (s *Sizes) Quantile(u float64) int64 {
	if !(u > 0) {
		u = 0
	}
	percent := float64(min(u, 1) * 100)
	i, _ := slices.BinarySearchFunc(s.knots, percent, func(k Knot, p float64) int {
		if k.Percent < p {
			return -1
		}
		return 1
	}) // first knot that reaches percent
	if i == 0 {
		return max(s.knots[0].Bytes, 1)
	}
	a, z := s.knots[i-1], s.knots[i]
	part := (percent - a.Percent) / (z.Percent - a.Percent)
	return max(a.Bytes+int64(math.Round(part*float64(z.Bytes-a.Bytes))), 1)
}

// Sample draws a size.
func (s *Sizes) Sample(r *sim.RNG) int64 { return s.Quantile(r.Float64()) }
