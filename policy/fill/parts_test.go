package fill

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The parts are those of the level at which they fill the link, found by bisection.
func TestPartsOfALinkAreThoseOfOneLevel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		const line = 100e9
		var p Problem
		booked := 0.0
		for range rapid.IntRange(1, 8).Draw(r, "tenants") {
			floor, limit := float64(rapid.IntRange(0, 60).Draw(r, "floor"))*1e9, 0.0
			if rapid.Bool().Draw(r, "capped") {
				limit = float64(rapid.IntRange(1, 100).Draw(r, "limit")) * 1e9
				floor = min(floor, limit)
			}
			p.TenantWeight = append(p.TenantWeight, float64(rapid.IntRange(1, 100_000).Draw(r, "weight")))
			p.Guarantee, p.Cap = append(p.Guarantee, floor), append(p.Cap, limit)
			booked += floor
		}
		at := func(level float64) (all []float64, sum float64) {
			for i, weight := range p.TenantWeight {
				x := max(p.Guarantee[i]*min(1, 0.99*line/booked), weight*level)
				if p.Cap[i] > 0 {
					x = min(x, p.Cap[i])
				}
				all, sum = append(all, x), sum+x
			}
			return all, sum
		}
		low, high := 0.0, line
		for range 200 {
			if mid := (low + high) / 2; mid > 0 {
				if _, sum := at(mid); sum < line {
					low = mid
				} else {
					high = mid
				}
			}
		}
		want, _ := at(high)
		for i, got := range p.Parts(line) {
			if math.Abs(got-want[i]) > 1 {
				r.Errorf("tenant %d has %g, want %g of %+v", i, got, want[i], p)
			}
		}
	})
}
