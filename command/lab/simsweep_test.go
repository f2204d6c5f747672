package lab

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/plot"
	"fairlane/sim/scenario"
)

// sweepOf returns points with one setting each and runs with the given use of the busiest link.
func sweepOf(values []string, uses ...[]float64) []scenario.SweepPoint {
	var out []scenario.SweepPoint
	for i, v := range values {
		p := scenario.SweepPoint{Settings: []scenario.Setting{{Path: "a.b", Value: v}}}
		for seed, use := range uses[i] {
			r := scenario.SweepRun{Seed: uint64(seed)}
			for m := range r.Measures {
				r.Measures[m] = math.NaN()
			}
			r.Measures[scenario.Utilisation] = use
			p.Runs = append(p.Runs, r)
			p.Mean[scenario.Utilisation] += use / float64(len(uses[i]))
		}
		out = append(out, p)
	}
	return out
}

func TestMeasureTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    scenario.Measure
		v    float64
		want string
	}{
		{scenario.Completed, 20, "20"}, {scenario.Completed, 1234567.25, "1234567.3"}, {scenario.Utilisation, 0.719, "71.9 %"},
		{scenario.Jain, 1, "1.0000"}, {scenario.SlowdownP99, 22.255, "22.25"}, {scenario.FCTMean, 18042.84, "18042.8"},
		{scenario.Hops, 1_270_000, "1.27"}, {scenario.ShareError, math.NaN(), "-"},
	} {
		if got := measureText(c.m, c.v); got != c.want {
			t.Errorf("%s %g: %q, want %q", c.m, c.v, got, c.want)
		}
	}
}

func TestValuesOfOneKindMakeAnAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []string
		unit   string
		log    bool
		want   []float64
	}{
		{[]string{"1", "0.5", "20"}, "", true, []float64{1, 0.5, 20}},
		{[]string{"0", "100"}, "", false, []float64{0, 100}},
		{[]string{"1us", "2ms"}, "us", true, []float64{1, 2000}},
		{[]string{"20Mbit/s", "1Gbit/s", "100Mbit/s"}, "Gbit/s", true, []float64{0.02, 1, 0.1}},
		{[]string{"1us", "2"}, "", false, nil},
		{[]string{"dcqcn", "hpcc"}, "", false, nil},
		{[]string{"nan"}, "", false, nil},
	} {
		axis, xs := valueAxis("a.b", c.values)
		if axis.Label != "a.b" || axis.Unit != c.unit || axis.Log != c.log || !slices.Equal(xs, c.want) {
			t.Errorf("%q: %+v, %v", c.values, axis, xs)
		}
	}
}

func TestSeriesOfASweep(t *testing.T) {
	t.Parallel()
	points := sweepOf([]string{"5", "1"}, []float64{0.2, 0.4}, []float64{0.9, 0.7})
	points[0].Runs = append(points[0].Runs, scenario.SweepRun{Error: "deadlock"})
	got := sweepSeries(points, scenario.Utilisation, "use", []float64{5, 1}, true)
	if len(got) != 3 || got[1].Kind != plot.Line || !got[2].Dashed || got[0].Group != got[2].Group {
		t.Fatalf("%+v", got)
	}
	for i, want := range [][]plot.Point{{{X: 1, Y: 0.8}, {X: 5, Y: 0.3}}, {{X: 1, Y: 0.7}, {X: 5, Y: 0.2}}, {{X: 1, Y: 0.9}, {X: 5, Y: 0.4}}} {
		for k := range want {
			if math.Abs(got[i].Points[k].X-want[k].X)+math.Abs(got[i].Points[k].Y-want[k].Y) > 1e-12 {
				t.Errorf("%s: %v, want %v", got[i].Name, got[i].Points, want)
			}
		}
	}
	if got := sweepSeries(points, scenario.Jain, "jain", nil, false); len(got) != 1 || len(got[0].Points) != 0 {
		t.Errorf("a measure without values: %+v", got)
	}
	bars := sweepSeries(points, scenario.Utilisation, "use", nil, true)
	if len(bars) != 3 || bars[1].Kind != plot.Bars || bars[1].Name != "use" || bars[0].Group == bars[1].Group && bars[0].Group != "" {
		t.Errorf("bars %+v", bars)
	}
}

func TestFailedRunsAreCounted(t *testing.T) {
	t.Parallel()
	points := sweepOf([]string{"1", "2"}, []float64{0.1, 0.2}, []float64{0.3})
	if n, err := countRuns(points); n != 3 || err != nil {
		t.Errorf("%d runs, %v", n, err)
	}
	points[1].Runs[0].Error = "it stood still"
	n, err := countRuns(points)
	if n != 3 || err == nil || !strings.Contains(err.Error(), "1 of 3 runs ended with an error; the first: a.b=2, seed 0: it stood still") {
		t.Errorf("%d runs, %v", n, err)
	}
	if goodRuns(&points[0]) != 2 || goodRuns(&points[1]) != 0 {
		t.Error("the runs without an error are counted wrong")
	}
}
