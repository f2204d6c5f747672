package lab

import (
	"math"
	"slices"
	"testing"

	"fairlane/policy"
	"fairlane/sim/scenario"
)

// TestTablesOfASweepHaveACellUnderEachHeading includes failed runs and missing values.
func TestTablesOfASweepHaveACellUnderEachHeading(t *testing.T) {
	t.Parallel()
	measures := func(v float64) (m scenario.Measures) {
		for i := range m {
			m[i] = v
		}
		return m
	}
	sweep := &scenario.Sweep{Axes: []scenario.Axis{{Path: "a.b"}, {Path: "c"}}}
	points := []scenario.SweepPoint{{
		Settings: []scenario.Setting{{Path: "a.b", Value: "1"}, {Path: "c", Value: "x,y"}},
		Runs: []scenario.SweepRun{
			{Number: 1, Seed: 7, Finished: true, Measures: measures(0.1), Digest: "d1"},
			{Number: 2, Seed: 1<<64 - 1, Measures: measures(math.NaN()), Error: "deadlock"},
		},
		Mean: measures(0.1), Deviation: measures(math.NaN()),
	}}
	cell := func(rows [][]string, row int, column string) string {
		t.Helper()
		i := slices.Index(rows[0], column)
		if i < 0 {
			t.Fatalf("no column %s among %q", column, rows[0])
		}
		return rows[row][i]
	}
	runs, means := runRows(sweep, points), meanRows(sweep, points)
	for _, rows := range [][][]string{runs, means} {
		for _, row := range rows {
			if len(row) != len(rows[0]) {
				t.Errorf("a row has %d cells under %d headings: %q", len(row), len(rows[0]), row)
			}
		}
	}
	fct := scenario.FCTMean.String()
	for _, c := range []struct{ got, want string }{
		{cell(runs, 1, "c"), "x,y"}, {cell(runs, 1, "seed"), "7"}, {cell(runs, 1, "finished"), "true"}, {cell(runs, 1, fct), "0.1"},
		{cell(runs, 1, "digest"), "d1"}, {cell(runs, 1, "run"), "1"}, {cell(runs, 2, "seed"), "18446744073709551615"},
		{cell(runs, 2, fct), ""}, {cell(runs, 2, "error"), "deadlock"}, {cell(runs, 2, "run"), "2"},
		{cell(means, 1, "a.b"), "1"}, {cell(means, 1, "runs"), "1"}, {cell(means, 1, fct+"_mean"), "0.1"}, {cell(means, 1, fct+"_sd"), ""},
	} {
		if c.got != c.want {
			t.Errorf("a cell is %q, want %q", c.got, c.want)
		}
	}
}

func TestScenarioOfAnotherPlaneIsNotServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		is, asked policy.Plane
		good      bool
	}{{policy.PlaneIB, "", true}, {policy.PlaneIB, policy.PlaneIB, true}, {policy.PlaneRoCE, "", true}, {policy.PlaneIB, policy.PlaneRoCE, false}, {policy.PlaneWRCC, policy.PlaneRoCE, false}} {
		if err := requirePlane("x", c.is, c.asked); (err == nil) != c.good {
			t.Errorf("%s for %q: %v", c.is, c.asked, err)
		}
	}
}
