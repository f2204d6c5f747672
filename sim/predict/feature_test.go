package predict

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

const us = quantity.Microsecond

func TestFilterFollowsEquations2And3(t *testing.T) {
	t.Parallel()
	// Calculated by hand: S = 10, 0.2*20+0.8*10 = 12, 0.2*7+0.8*12 = 11, 0.2*11+0.8*11 = 11.
	var f Filter
	for i, c := range []struct {
		rtt, smoothed, k float64
		ready            bool
	}{{10, 10, 0, false}, {20, 12, 8.0 / 12, false}, {7, 11, -4.0 / 11, true}, {11, 11, 0, true}} {
		f.Add(c.rtt)
		if math.Abs(f.Smoothed()-c.smoothed) > 1e-12 || math.Abs(f.Features()[2]-c.k) > 1e-12 || f.Ready() != c.ready {
			t.Errorf("sample %d: S %v, K %v, ready %v; want %+v", i, f.Smoothed(), f.Features()[2], f.Ready(), c)
		}
	}
	want := [Sequence]float64{8.0 / 12, -4.0 / 11, 0}
	if diff := cmp.Diff(want, *f.Features(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
}

func TestFeaturesDoNotDependOnTheUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var a, b Filter
		for _, x := range rapid.SliceOfN(rapid.Float64Range(1, 1000), 1, 20).Draw(rt, "rtt") {
			a.Add(x)
			b.Add(1e6 * x)
			for i := range Sequence {
				if math.Abs(a.k[i]-b.k[i]) > 1e-9 {
					rt.Fatalf("feature %d is %v in us and %v in ps", i, a.k[i], b.k[i])
				}
			}
			if a.k[Sequence-1] <= -1 || a.k[Sequence-1] >= 4 {
				rt.Fatalf("feature %v outside (-1, 4), which contradicts equation 3", a.k[Sequence-1])
			}
		}
	})
}

func TestRecorderMakesRowsOfThreeFeaturesAndTheNextValue(t *testing.T) {
	t.Parallel()
	r := NewRecorder(10)
	for _, x := range []quantity.Picoseconds{10, 20, 7} {
		r.Add(0, x*us)
		r.Add(5, 3*us) // another flow, without jitter
	}
	if n := len(r.Rows()); n != 0 {
		t.Fatalf("%d rows before a label is known", n)
	}
	r.Add(0, 22*us)
	want := []Row{{K: [3]float64{0, 8.0 / 12, -4.0 / 11}, L: 1}}
	if diff := cmp.Diff(want, r.Rows(), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Error(diff)
	}
	r.Add(5, 3*us)
	if got := r.Rows()[1]; got != (Row{}) {
		t.Errorf("row of a flow without jitter: %v", got)
	}
}

func TestRecorderSeparatesSeriesAndEnforcesItsBounds(t *testing.T) {
	t.Parallel()
	r := NewRecorder(2)
	for range 3 {
		r.Add(0, 5*us)
	}
	r.Start(0)
	r.Start(7) // no sample of this series yet
	for range 3 {
		r.Add(0, 9*us)
	}
	if len(r.Rows()) != 0 {
		t.Error("a row contains samples of two flows of one series")
	}
	for range 5 {
		r.Add(0, 9*us)
	}
	if len(r.Rows()) != 2 || r.Dropped() != 3 {
		t.Errorf("%d rows, %d dropped; want 2 and 3", len(r.Rows()), r.Dropped())
	}
	r.Add(-1, us)
	r.Add(MaxSeries, us)
	r.Add(0, 0)
	r.Add(0, -us)
	if len(r.filters) != 1 || r.Dropped() != 3 {
		t.Errorf("invalid samples were accepted: %d series, %d dropped", len(r.filters), r.Dropped())
	}
	if none := NewRecorder(-1); none.max != 0 {
		t.Error("a negative limit is not 0")
	}
}
