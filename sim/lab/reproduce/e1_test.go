package reproduce

import (
	"strings"
	"testing"

	"fairlane/sim/fabric"
)

// The reported rows of E1, from one repetition.
func TestE1(t *testing.T) {
	t.Parallel()
	r, err := Repeat(t.Context(), Options{Seed: 1}, "s1-fairness")
	if err != nil {
		t.Fatal(err)
	}
	for metric, within := range map[string]float64{"a+b-over-d.off": 0.01, "a+b-over-e.off": 0.01, "jain-3flows.off": 0.001} {
		closeTo(t, metric, metricOf(t, r.Rows, metric).Ours, 1, within)
	}
	off := metricOf(t, r.Rows, "jitter.off").Ours
	readings := append(readingsOfS1(1), useReadingsOfS1(1)...)
	for _, v := range readings {
		checkRemedy(t, v, r.Rows)
		if on := metricOf(t, r.Rows, "jitter.on."+v.label()).Ours; on < off || on > 0.15 {
			t.Errorf("%s: jitter %.4f, want more than 0 but little (off: %.4f)", v.label(), on, off)
		}
	}
	drawable(t, r.Figures)
	if got, want := len(r.Figures), 1+len(readings); got != want {
		t.Errorf("%d figures, want %d: congestion control off and each reading", got, want)
	}
	if f := r.Figures[0]; f.Name != "s1-fairness.off" {
		t.Errorf("the first figure is %s, want the figure without congestion control", f.Name)
	} else {
		checkCourse(t, f)
	}
}

// checkRemedy verifies E1 with congestion control on. The four rates are nearly equal. With the shallow queue, and by
// utilization at both thresholds, they are within 5 % of S1; by utilization over a short window, within 6 %. With the deep
// queue the far flows lose more than that. By utilization, the link is used up to the threshold.
func checkRemedy(t *testing.T, v variant, rows []Row) {
	t.Helper()
	at := ".on." + v.label()
	if j := metricOf(t, rows, "jain-4flows"+at).Ours; j < 0.985 {
		t.Errorf("%s: Jain index %.4f, want four nearly equal rates", v.label(), j)
	}
	for _, m := range []string{"a+b-over-d", "a+b-over-e", "jain-4flows", "jain-3flows"} {
		r := metricOf(t, rows, m+at)
		switch {
		case v.window != 0:
			closeTo(t, r.Metric, r.Ours, *r.Published, 0.06)
		case v.threshold == shallowThreshold || v.by == fabric.MarkByUse:
			closeTo(t, r.Metric, r.Ours, *r.Published, 0.05)
		case strings.HasPrefix(m, "a+b"):
			if x := r.Ours / *r.Published; x < 0.8 || x > 0.95 {
				t.Errorf("%s: %.3f of the published figure, want lower rates of the far flows because of the deep queue", r.Metric, x)
			}
		}
	}
	if v.by == fabric.MarkByUse {
		closeTo(t, v.label()+": link use", metricOf(t, rows, "link-use"+at).Ours, fabric.ThresholdUse(v.threshold), 0.05)
	}
}

// checkCourse verifies that E1 over time agrees with S1's figure: the times at which each host sends, and the parking lot
// without congestion control.
func checkCourse(t *testing.T, f Figure) {
	t.Helper()
	for i, s := range f.Series {
		if len(s.Points) != 81 {
			t.Fatalf("%s: %d points, want one for each tenth of 8 s and the end", s.Name, len(s.Points))
		}
		for k, p := range s.Points[:80] {
			sends := k >= 10*i && k < 10*(i+5)
			drains := k == 10*(i+5) // packets in the fabric when the flow stopped
			if sends != (p.Y > 0) && !drains {
				t.Errorf("%s at %v s: %v Gbit/s", s.Name, p.X, p.Y)
			}
		}
	}
	closeTo(t, "A by D at 4 s", f.Series[0].Points[40].Y/f.Series[2].Points[40].Y, 0.5, 0.01)
}

// With one mark in 64 packets, the four flows need more marks than the switch can make, and the unfair shares of the parking
// lot return despite congestion control.
func TestParkingLotReturnsWithTooFewMarks(t *testing.T) {
	t.Parallel()
	v := base(1, false)
	v.marking = 64
	r, err := runFairness(t.Context(), 1, &v)
	if err != nil {
		t.Fatal(err)
	}
	closeTo(t, "A and B by D", (r.all[0]+r.all[1])/r.all[2], 1, 0.05)
}
