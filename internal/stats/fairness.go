// Package stats holds the statistics that simulations, telemetry and reports share: histograms in
// fixed memory, quantiles, running moments, fairness and share error, slowdowns by flow size. It is
// pure, and any package may import it.
package stats

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Jain is Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984), (Σx)² / (n·Σx²), of values
// that are not negative: from 1/n, where one has all, to 1, where all are equal, which all-zero
// values are too. Zero is no index: it stands for no values, where fairness is not known. A
// negative, infinite or not-a-number value makes the result not-a-number.
func Jain(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	largest := 0.0
	for _, x := range values {
		if !(x >= 0) || math.IsInf(x, 1) {
			return math.NaN()
		}
		largest = max(largest, x)
	}
	if largest == 0 {
		return 1
	}
	var sum, squares float64
	for _, x := range values {
		x /= largest // the index does not depend on the unit, and squares of large values overflow
		sum += x
		squares += float64(x * x)
	}
	return float64(sum*sum) / float64(float64(len(values))*squares)
}

// ShareError is |delivered - entitled| / entitled; 0 when nothing is entitled.
func ShareError(delivered, entitled quantity.BitRate) float64 {
	if entitled <= 0 {
		return 0
	}
	return math.Abs(float64(delivered)-float64(entitled)) / float64(entitled)
}

// WeightedShareErrors compares what tenants got of one contended link with their weights alone: each
// is entitled to the part of the sum of all rates that its weight is of the sum of all weights. It
// returns one error per tenant by the rule of ShareError, all zero when nothing was delivered. It suits
// tenants that always have traffic there and have no guarantee, cap or second bottleneck; with any of these
// the compiler's entitlement is the measure. Different numbers of rates and weights, a negative rate
// or an illegal weight are errors.
func WeightedShareErrors(delivered []quantity.BitRate, weights []quantity.Weight) ([]float64, error) {
	if len(delivered) != len(weights) {
		return nil, fmt.Errorf("share errors: %d rates and %d weights: want as many", len(delivered), len(weights))
	}
	var total, sum float64
	for i, w := range weights {
		if err := w.Validate(); err != nil {
			return nil, fmt.Errorf("share errors: tenant %d: %w", i, err)
		}
		if delivered[i] < 0 {
			return nil, fmt.Errorf("share errors: tenant %d: rate %s: want none below zero", i, delivered[i])
		}
		total += float64(delivered[i])
		sum += w.Float()
	}
	out := make([]float64, len(weights))
	if total == 0 {
		return out, nil
	}
	for i, w := range weights {
		entitled := total * w.Float() / sum
		out[i] = math.Abs(float64(delivered[i])-entitled) / entitled
	}
	return out, nil
}
