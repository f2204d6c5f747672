package predict

import (
	"math"

	"fairlane/sim"
)

// Ranges is the number of ranges of |K| that Balance distinguishes.
const Ranges = 4

// rangeEnds are the exclusive upper limits of all ranges except the last (S3, 3.3.1).
var rangeEnds = [Ranges - 1]float64{0.02, 0.08, 0.15}

// RangeOf returns the range of |k|, 0 to 3: [0, 0.02), [0.02, 0.08), [0.08, 0.15), [0.15, inf)
// (S3, 3.3.1).
func RangeOf(k float64) int {
	k = math.Abs(k)
	for i, end := range rangeEnds {
		if k < end {
			return i
		}
	}
	return Ranges - 1
}

// Balance draws rows so that all ranges of their newest |K| contribute about equally. Most congestion controls keep the RTT
// steady most of the time, and a network trained mainly on such rows learns to predict zero (S3, 3.3.1). Each range
// contributes perRange rows, drawn at random without replacement, or all its rows if it has fewer. A perRange below 1 means
// the size of the smallest range. The result is in random order and a function of rows, perRange and seed; rows is not
// changed.
func Balance(rows []Row, perRange int, seed uint64) []Row {
	var by [Ranges][]int
	for i := range rows {
		n := RangeOf(rows[i].K[Sequence-1])
		by[n] = append(by[n], i)
	}
	if perRange < 1 {
		perRange = len(rows)
		for _, in := range by {
			perRange = min(perRange, len(in))
		}
	}
	rng := sim.NewRNG(seed)
	var out []Row
	for _, in := range by {
		shuffle(&rng, in)
		for _, i := range in[:min(perRange, len(in))] {
			out = append(out, rows[i])
		}
	}
	shuffle(&rng, out)
	return out
}

// shuffle puts s in random order (Fisher and Yates).
func shuffle[T any](rng *sim.RNG, s []T) {
	for i := len(s) - 1; i > 0; i-- {
		j := int(rng.Uint64n(uint64(i + 1)))
		s[i], s[j] = s[j], s[i]
	}
}
