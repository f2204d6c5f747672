package stats

import (
	"cmp"
	"math"
	"slices"
)

// nearestRank is the 1-based rank of the q-quantile of n >= 1 sorted values: the smallest k with
// k/n >= q. The small deduction keeps a product such as 0.07*100, which rounds to a little over 7,
// at rank 7.
func nearestRank(q float64, n uint64) uint64 {
	if !(q < 1) {
		return n
	}
	at := max(q, 0) * float64(n)
	rank := uint64(math.Ceil(at - float64(at*1e-12)))
	return min(max(rank, 1), n)
}

// Quantile returns the q-quantile of values sorted in ascending order by nearest rank: the smallest
// value such that at least the part q of all values is at or below it. Unlike interpolation it
// invents no value, so it suits samples with gaps such as completion times. q below 0 counts as 0,
// above 1 and not-a-number as 1. It is false when there are no values.
func Quantile[T cmp.Ordered](sorted []T, q float64) (T, bool) {
	if len(sorted) == 0 {
		var zero T
		return zero, false
	}
	return sorted[nearestRank(q, uint64(len(sorted)))-1], true
}

// Percentile returns the p-th percentile, p from 0 to 100, of values in any order by the rule of
// Quantile, and false when there are none. It sorts a copy: for several percentiles of the same
// values sort once and use Quantile.
func Percentile[T cmp.Ordered](values []T, p float64) (T, bool) {
	return Quantile(slices.Sorted(slices.Values(values)), p/100)
}
