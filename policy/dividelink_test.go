package policy

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
		parts := make([]part, rapid.IntRange(1, 8).Draw(r, "tenants"))
		for i := range parts {
			parts[i] = part{weight: float64(rapid.IntRange(1, 100_000).Draw(r, "weight")), floor: float64(rapid.IntRange(0, 60).Draw(r, "floor")) * 1e9, limit: math.Inf(1)}
			if rapid.Bool().Draw(r, "capped") {
				parts[i].limit = float64(rapid.IntRange(1, 100).Draw(r, "limit")) * 1e9
				parts[i].floor = min(parts[i].floor, parts[i].limit)
			}
		}
		scaleFloors(parts, line)
		at := func(level float64) (all []float64, sum float64) {
			for _, p := range parts {
				x := min(p.limit, max(p.floor, p.weight*level))
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
		for i, got := range divideLink(parts, line) {
			if math.Abs(got-want[i]) > 1 {
				r.Errorf("tenant %d has %g, want %g of %+v", i, got, want[i], parts)
			}
		}
	})
}
