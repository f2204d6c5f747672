package wrcc_test

import (
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

// open is the loop of formula (4) with all its quantities. The port's rate c only sets the rate in equilibrium, n·R =
// c, and cancels out, as the paper states.
func open(l wrcc.Loop, n, w float64) complex128 {
	s := complex(0, w)
	rate := complex(l.Alpha/l.Base, 0) / s
	queue := complex(l.Beta/(n*l.Base*l.Base), 0) * complex(n, 0) / (s * s)
	return (rate + queue) * cmplx.Exp(-s*complex(l.Delay, 0))
}

// The margins equal those of the loop as written, for every number of flows, path and factor of the chosen range, and
// all loops are stable in S0's fluid model.
func TestFluidLoopIsStableForTheWholeRange(t *testing.T) {
	t.Parallel()
	for _, d := range []float64{2e-6, 12e-6, 24e-6, 100e-6, 2e-3} {
		for _, n := range []float64{2, 10, 100, 1000} {
			for level := 2.0; level <= 64; level *= 2 {
				l := wrcc.FluidLoop(1/level, d)
				m := l.Margins()
				if !m.Stable() {
					t.Errorf("N %v, d0 %v s, alpha 1/%v: %+v", n, d, level, m)
				}
				at := open(l, n, m.Crossover)
				if math.Abs(cmplx.Abs(at)-1) > 1e-9 || math.Abs(math.Pi+cmplx.Phase(at)-m.Phase) > 1e-9 {
					t.Errorf("N %v, d0 %v s, alpha 1/%v: at the crossover the loop is %v, margin %v", n, d, level, at, m.Phase)
				}
			}
		}
	}
}

func TestMarginsByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ alpha, phase, gain float64 }{
		{0.5, 0.2684, 2.142},     // x = 0.6360; the phase crossover is at 1.1656
		{1.0 / 64, 0.0873, 68.6}, // x = 0.0891
	} {
		m := wrcc.FluidLoop(c.alpha, 12e-6).Margins()
		if math.Abs(m.Phase-c.phase) > 5e-4 || math.Abs(m.Gain/c.gain-1) > 1e-3 {
			t.Errorf("alpha %v: %+v, want %+v", c.alpha, m, c)
		}
	}
}

// A gain margin of g means that the loop with g times the gain is at the limit of stability.
func TestGainMarginIsTheEdge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := wrcc.NewLoop(1/rapid.Float64Range(2, 64).Draw(t, "level"), rapid.Float64Range(2e-6, 2e-3).Draw(t, "rtt"), 24e-6)
		m := l.Margins()
		if m.Gain == 0 {
			if m.Phase > 0 {
				t.Fatalf("%+v: %+v", l, m)
			}
			return
		}
		l.Alpha *= m.Gain
		l.Beta *= m.Gain
		if edge := l.Margins(); math.Abs(edge.Phase) > 1e-6 {
			t.Fatalf("%+v with its gain margin: phase margin %v", l, edge.Phase)
		}
	})
}

// The margins are compared with a simulation: formula (4), integrated with its delay, decays or grows as the margins
// predict.
func TestMarginsAgreeWithTheLoopRun(t *testing.T) {
	t.Parallel()
	for _, l := range []wrcc.Loop{
		wrcc.FluidLoop(0.5, 12e-6), wrcc.FluidLoop(1.0/16, 2e-3), wrcc.FluidLoop(0.9, 12e-6),
		{Alpha: 0.5, Beta: 1, Delay: 12e-6, Base: 12e-6}, {Alpha: 2, Beta: 0.1, Delay: 1e-4, Base: 1e-4},
		wrcc.NewLoop(0.5, 12e-6, 24e-6),
	} {
		if got, want := settles(l), l.Margins().Stable(); got != want {
			t.Errorf("%+v: run dies out %v, margins %+v", l, got, l.Margins())
		}
	}
}

// settles integrates the linear loop for one flow after a disturbance, and reports whether the oscillation in the
// last part of the run is smaller than in an early part.
func settles(l wrcc.Loop) bool {
	const steps, parts = 400, 400 // of one delay; delays
	h := l.Delay / steps
	past := make([]float64, steps) // a ring of δR
	rate, queue := 1.0, 0.0
	early, late := 0.0, 0.0
	for i := range steps * parts {
		old := past[i%steps]
		past[i%steps] = rate
		rate += h * (-l.Alpha/l.Base*old - l.Beta/(l.Base*l.Base)*queue)
		queue += h * old
		switch {
		case i > steps*parts/8 && i < steps*parts/4:
			early = max(early, math.Abs(rate))
		case i > steps*parts*7/8:
			late = max(late, math.Abs(rate))
		}
	}
	return late < early
}

func TestCheckStable(t *testing.T) {
	t.Parallel()
	for _, rate := range []quantity.BitRate{10, 100, 400} {
		for _, intra := range []quantity.Picoseconds{2 * us, 12 * us, 100 * us} {
			for _, rtts := range []float64{2, 3, 4} {
				s, err := wrcc.Derive(wrcc.Facts{PortRate: rate * quantity.Gbps, MaxIntraRTT: intra, PeriodRTTs: rtts})
				if err != nil {
					t.Fatal(err)
				}
				// Paths inside the data centre and far beyond it.
				for _, rtt := range []float64{2e-6, intra.Seconds(), 4 * s.Port.Period.Seconds(), 2e-3, 10e-3} {
					if rtt > intra.Seconds() && rtt < 1.1*s.Port.Period.Seconds() {
						continue
					}
					if err := s.Port.CheckStable(rtt); err != nil {
						t.Errorf("%d Gbit/s, WRCCT of %v round trips of %s, path of %v s: %v", rate, rtts, intra, rtt, err)
					}
				}
			}
		}
	}
}

func TestAPeriodOfOneRoundTripIsNotStable(t *testing.T) {
	t.Parallel()
	p := params()
	err := p.CheckStable(24e-6)
	if err == nil || !strings.Contains(err.Error(), "alpha 1/64 with WRCCT 24 us and a round trip of 24 us") {
		t.Errorf("error %v", err)
	}
}

func TestWithoutAQueueTermTheLoopIsAPlainIntegrator(t *testing.T) {
	t.Parallel()
	m := wrcc.Loop{Alpha: 0.5, Delay: 2e-6, Base: 1e-6}.Margins()
	if math.Abs(m.Phase-(math.Pi/2-1)) > 1e-9 || math.Abs(m.Gain-math.Pi/2) > 1e-6 || math.Abs(m.Crossover-0.5e6) > 1 {
		t.Errorf("%+v", m)
	}
}

// Near the equilibrium, with the queue above its limit, the rate term leads by at most the ratio of the factors, two
// periods. Flows that receive a rate one period late, in addition to the delays of measuring and holding, destabilise
// the loop; a quarter of that delay does not.
func TestLateFeedbackDestabilizesALoop(t *testing.T) {
	t.Parallel()
	p := wrcc.DefaultParams(100*quantity.Gbps, 100*quantity.Microsecond)
	for _, c := range []struct {
		late   float64 // s
		stable bool
	}{{0, true}, {25e-6, true}, {80e-6, true}, {100e-6, false}, {1e-3, false}} {
		if err := p.CheckLate(10e-6, c.late); (err == nil) != c.stable {
			t.Errorf("%g s late: %v, want stable %v", c.late, err, c.stable)
		}
	}
	if p.CheckStable(10e-6) != nil || p.CheckStable(100e-6) == nil {
		t.Error("without late flows the loop is that of CheckStable")
	}
}
