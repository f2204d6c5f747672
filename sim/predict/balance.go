package predict

import (
	"math"

	"fairlane/sim"
)

// Ranges is the number of ranges of |K| that training rows are balanced over.
const Ranges = 4

// rangeEnds are the upper ends, exclusive, of all ranges but the last (S3, 3.3.1).
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

// Balance draws rows so that each range of their newest |K| gives about as many as the others: most
// congestion controls hold the RTT still most of the time, and a network that has seen little else
// learns to answer zero (S3, 3.3.1). A range gives perRange rows drawn at random without
// replacement, or all its rows when it has fewer. A perRange below 1 means the size of the smallest
// range. The result is in random order and a function of rows, perRange and seed; rows stays as it
// is.
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
