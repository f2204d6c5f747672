package ib

import (
	"math"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/sim"
)

// TestTicksAreLostNearTheLineRate compares the curve with the chain itself, stepped at random.
func TestTicksAreLostNearTheLineRate(t *testing.T) {
	t.Parallel()
	table, err := ibcc.Geometric(128, 1040)
	if err != nil {
		t.Fatal(err)
	}
	for _, restart := range []bool{false, true} {
		curve := newTopCurve(table, restart)
		last := 0.0
		for i, share := range curve.share {
			if share <= last || curve.taken[i] > 1.002 {
				t.Errorf("restart %v: point %d: share %v after %v, %v of the ticks taken", restart, i, share, last, curve.taken[i])
			}
			last = share
		}
		for _, share := range []float64{0.2, 0.5, 0.7, 0.85, 0.93} {
			took := curve.at(share)
			got := stepped(table, restart, share/took)
			if math.Abs(got-share) > 0.01 {
				t.Errorf("restart %v: a CCTI that takes %.3f of its ticks lets %.4f of the line rate through, want %.4f", restart, took, got, share)
			}
			if share <= 0.5 && took < 0.99 || share >= 0.85 && took > 0.97 {
				t.Errorf("restart %v: %.3f of the ticks taken at %v of the line rate", restart, took, share)
			}
		}
		if got := curve.at(1); got != minTicksTaken {
			t.Errorf("restart %v: %v of the ticks taken at line rate, want %v", restart, got, minTicksTaken)
		}
	}
}

// stepped runs a CCTI whose naive rate is a part of the line rate for many periods, in time slices of a 64th.
func stepped(table []ibcc.Entry, restart bool, naive float64) float64 {
	const slices, periods = 64, 400_000
	rng := sim.NewRNG(7)
	pressure := ibcc.Response(1, restart) / naive
	ccti, since, sum := 0, 0, 0.0
	for range periods * slices {
		lets := 1 / (1 + table[ccti].Factor())
		sum += lets
		since++
		if rng.Float64() < pressure*lets/slices {
			ccti = min(ccti+1, len(table)-1)
			if restart {
				since = 0
			}
		}
		if since == slices {
			since, ccti = 0, max(0, ccti-1)
		}
	}
	return sum / periods / slices
}

func BenchmarkTopCurve(b *testing.B) {
	table, err := ibcc.Geometric(128, 1040)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		newTopCurve(table, false)
	}
}
