package series_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fairlane/service/series"
)

func TestMeasuredValuesKeepFiveDigits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		v := math.Exp(80*r.Float64() - 40)
		if got := series.Significant(v); math.Abs(got/v-1) > 1.0/(1<<17) {
			t.Errorf("%v is kept as %v", v, got)
		}
	}
	for _, v := range []float64{0, 1, 0.5, 3, 98304, math.Inf(1), math.MaxFloat64} {
		if got := series.Significant(v); got != v && !(v == math.MaxFloat64 && math.IsInf(got, 1)) {
			t.Errorf("%v is kept as %v", v, got)
		}
	}
}
