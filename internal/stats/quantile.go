package stats

import (
	"cmp"
	"math"
	"slices"
)

// nearestRank returns the 1-based rank of the q-quantile of n >= 1 sorted values: the smallest k with k/n >= q. A small
// deduction keeps a product such as 0.07*100, which rounds to slightly more than 7, at rank 7.
func nearestRank(q float64, n uint64) uint64 {
	if !(q < 1) {
		return n
	}
	at := max(q, 0) * float64(n)
	rank := uint64(math.Ceil(at - float64(at*1e-12)))
	return min(max(rank, 1), n)
}

// Quantile returns the q-quantile by nearest rank of values in ascending order: the smallest value such that at least a
// fraction q of all values is less than or equal to it. Unlike interpolation it returns only existing values, so it
// suits samples with gaps such as completion times. q below 0 counts as 0, q above 1 and NaN as 1. It returns false
// without values.
func Quantile[T cmp.Ordered](sorted []T, q float64) (T, bool) {
	if len(sorted) == 0 {
		var zero T
		return zero, false
	}
	return sorted[nearestRank(q, uint64(len(sorted)))-1], true
}

// Percentile returns the p-th percentile, p from 0 to 100, of values in any order, as defined by Quantile; false
// without values. It sorts a copy: for several percentiles of the same values, sort once and use Quantile.
func Percentile[T cmp.Ordered](values []T, p float64) (T, bool) {
	return Quantile(slices.Sorted(slices.Values(values)), p/100)
}
