// Package stats has the statistics shared by simulations, telemetry and reports: histograms in constant memory,
// quantiles, running moments, fairness and share error, slowdowns by flow size. It is pure, and any package may import
// it.
package stats

import (
	"fmt"
	"math"

	"fairlane/internal/quantity"
)

// Jain is Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984), (Σx)² / (n·Σx²), of non-negative values: from
// 1/n, if one value has everything, to 1, if all are equal, also for all zeros. It returns 0, which is not an index,
// without values: fairness is then undefined. A negative, infinite or NaN value gives NaN.
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
		x /= largest // the index is independent of the unit, and squares of large values overflow
		sum += x
		squares += float64(x * x)
	}
	return float64(sum*sum) / float64(float64(len(values))*squares)
}

// ShareError is |delivered - entitled| / entitled; 0 if the entitlement is 0.
func ShareError(delivered, entitled quantity.BitRate) float64 {
	if entitled <= 0 {
		return 0
	}
	return math.Abs(float64(delivered)-float64(entitled)) / float64(entitled)
}

// WeightedShareErrors compares the tenants' rates on one contended link with their weights: each is entitled to the
// fraction of the total rate that its weight is of the total weight. It returns one error for each tenant as defined by
// ShareError, all zero if nothing was delivered. It applies to tenants that always have traffic there and have no
// guarantee, cap or second bottleneck; otherwise use the compiler's entitlement. Different numbers of rates and
// weights, a negative rate or an invalid weight are errors.
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
