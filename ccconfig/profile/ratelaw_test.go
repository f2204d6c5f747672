package profile

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The law equals the sum over all numbers of periods between two marks, and its results are in equilibrium.
func TestTheLawIsTheSumOverPeriodsBetweenMarks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		marks := rapid.Float64Range(0.05, 8).Draw(rt, "marks")
		sum := 0.0
		for k := 1.0; k < 1000; k++ {
			sum += math.Exp(-k*marks) * (1 - math.Exp2(-k))
		}
		gain, _ := gainAt(marks)
		if got := 1 / sum; math.Abs(got/gain-1) > 1e-9 {
			rt.Fatalf("%g marks in a period: gain %g, want %g", marks, gain, got)
		}
		if got := marksAt(gain); math.Abs(got/marks-1) > 1e-9 {
			rt.Fatalf("gain %g: %g marks, want %g", gain, got, marks)
		}
	})
}

func TestRegistersOffTheLeverHaveTheRateOfTheLaw(t *testing.T) {
	t.Parallel()
	w := mustLookup(t, Default).Law()
	near := func(rt *rapid.T, name string, got, want float64) {
		if math.Abs(got/want-1) > 1e-8 {
			rt.Fatalf("%s: %g, want %g", name, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		period, increase := rapid.Float64Range(0.05, 20).Draw(rt, "period"), rapid.Float64Range(0.05, 500).Draw(rt, "increase")
		rate := w.Rate(period, increase)
		gain, _ := gainAt(w.marks * period * rate)
		near(rt, "gain at rest", gain, w.gain*increase/rate)
		near(rt, "rate at the period for an increase", w.Rate(w.Period(increase), increase), 1)
		near(rt, "rate at the increase for a period", w.Rate(period, w.Increase(period)), 1)
		const by = 1e-5
		slope := math.Log(w.Rate(period*(1-by), increase)/w.Rate(period*(1+by), increase)) / math.Log((1+by)/(1-by))
		if got := w.Decline(rate, increase); math.Abs(got-slope) > 1e-4 {
			rt.Fatalf("decline %g, want %g", got, slope)
		}
	})
}
