package reproduce

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
)

// The two curves of S4. With 1, every cut sets the target to the rate before the cut, so the target decreases in steps. With
// 0, the target does not change after the first cut of a burst, and recovery is faster.
func TestCurvesOfS4(t *testing.T) {
	t.Parallel()
	r, err := Repeat(t.Context(), Options{}, "s4-clamp")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Published != nil && row.Ours != *row.Published {
			t.Errorf("%s: %v, want %v", row.Metric, row.Ours, *row.Published)
		}
	}
	for i := range clampBursts() {
		name := []string{"target-levels-burst1.clamp1", "target-levels-burst2.clamp1", "target-levels-burst3.clamp1"}[i]
		if got := rowOf(t, r.Rows, name).Ours; got != clampPerBurst {
			t.Errorf("%s: %v levels, want one for each of %d cuts", name, got, clampPerBurst)
		}
	}
	if at := rowOf(t, r.Rows, "recovery-nine-tenths.clamp0").Ours; at <= 0 || at > 1500 {
		t.Errorf("with 0: nine tenths of line rate after %v us", at)
	}
	if at := rowOf(t, r.Rows, "recovery-half.clamp1").Ours; at != 0 {
		t.Errorf("with 1: half of line rate after %v us, want no recovery within the run, because only additive increase remains", at)
	}
	if x := rowOf(t, r.Rows, "mean-rate-0-over-1").Ours; x < 2 {
		t.Errorf("mean rate with 0 by that with 1: %v", x)
	}
	closeTo(t, "minimum rate", rowOf(t, r.Rows, "least-rate.clamp0").Ours, rowOf(t, r.Rows, "least-rate.clamp1").Ours, 0.01)
}

// Every notification of the schedule causes a cut, because the notifications are farther apart than the monitor period.
func TestEveryNotificationCuts(t *testing.T) {
	t.Parallel()
	for _, clamp := range []bool{false, true} {
		r, err := runClamp(clamp)
		if err != nil {
			t.Fatal(err)
		}
		if want := clampPerBurst * len(clampBursts()); len(r.cuts) != want || len(clampNotices()) != want {
			t.Errorf("clamp %v: %d cuts of %d notifications, want %d", clamp, len(r.cuts), len(clampNotices()), want)
		}
		for i := 1; i < len(r.rate); i++ {
			if r.rate[i].X <= r.rate[i-1].X {
				t.Fatalf("rate at %v after %v", r.rate[i].X, r.rate[i-1].X)
			}
		}
		if end := r.target[len(r.target)-1].X; end != clampSpan.Seconds()*1e3 {
			t.Errorf("the curve ends at %v ms", end)
		}
	}
}

func TestPartsOfCuts(t *testing.T) {
	t.Parallel()
	r := &clampRun{cuts: []cut{{burst: 0}, {burst: 0, kept: true}, {burst: 1}, {burst: 1, kept: true}, {burst: 1}}}
	kept := func(c cut) bool { return c.kept }
	closeTo(t, "of all", r.part(0, kept), 0.4, 1e-12)
	closeTo(t, "of the later", r.part(1, kept), 2.0/3, 1e-12)
	if got := r.part(3, kept); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

// A flow whose target every cut lowers loses against a flow whose target does not change, with and without the byte counter.
// The result does not depend on the length of the run.
func TestTheClampLosesItsFlowsTheLink(t *testing.T) {
	t.Parallel()
	for _, k := range []int{0, 2} {
		var l lever
		for _, x := range levers() {
			if x.label == "clamp-on-b" {
				l = x
			}
		}
		r, err := runLever(t.Context(), &l, leverColumns()[k], 1, 50*quantity.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if r.ratio() < 3 || r.use() < 0.97 || r.use() > 1.001 {
			t.Errorf("%s: ratio %.2f, use %.3f", leverColumns()[k].label, r.ratio(), r.use())
		}
	}
}

func TestLeversAreLegalAndEndWithTheContext(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, l := range levers() {
		if seen[l.label] {
			t.Errorf("%s is there twice", l.label)
		}
		seen[l.label] = true
		for _, v := range []map[string]float64{l.a, l.b} {
			if _, err := mlx(v); err != nil {
				t.Errorf("%s: %v", l.label, err)
			}
		}
	}
	if len(seen) != 9 {
		t.Errorf("%d levers, want 9", len(seen))
	}
}

func TestLeverResultIsTheGeometricMeanOfItsSeeds(t *testing.T) {
	t.Parallel()
	all, columns := levers(), leverColumns()
	cells := make([]leverCell, len(all)*len(columns))
	for i := range cells {
		cells[i] = leverCell{{a: 8e9, b: 1e9}, {a: 2e9, b: 1e9}}
	}
	res := leverResult(all, columns, cells)
	if len(res.Rows) != 2*len(cells) || len(res.Figures) != len(columns) {
		t.Fatalf("%d rows, %d figures", len(res.Rows), len(res.Figures))
	}
	row := rowOf(t, res.Rows, "ratio-clamp-on-b.4v4-nobytes")
	closeTo(t, "ratio", row.Ours, 4, 1e-12)
	closeTo(t, "published", *row.Published, 5.4, 1e-12)
	closeTo(t, "use", rowOf(t, res.Rows, "use-none.1v1-bytes").Ours, 100*6e9*1.048/1e11, 1e-12)
	mean, least, most := cells[0].ratio()
	if math.Abs(mean-4) > 1e-12 || least != 2 || most != 8 {
		t.Errorf("mean %v from %v to %v", mean, least, most)
	}
	drawable(t, res.Figures)
}
