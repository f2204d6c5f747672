package series

import "math"

// significantBits are the binary digits of measured values that are kept. Further digits differ at random from sample to sample, and would
// double the size of the series.
const significantBits = 17

// Significant returns what is kept of a measured value: v with a relative error of at most 2^-17 (0.0008 %).
func Significant(v float64) float64 {
	const dropped = 53 - significantBits
	return math.Float64frombits((math.Float64bits(v) + 1<<(dropped-1)) &^ (1<<dropped - 1))
}
