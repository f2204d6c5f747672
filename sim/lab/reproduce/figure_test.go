package reproduce

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawable verifies that figures can be drawn and stored as files.
func drawable(t *testing.T, figures []Figure) {
	t.Helper()
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,80}$`)
	seen := map[string]bool{}
	for _, f := range figures {
		if !name.MatchString(f.Name) || seen[f.Name] || f.Title == "" {
			t.Errorf("figure %q, titled %q: want a unique file name and a title", f.Name, f.Title)
		}
		seen[f.Name] = true
		for _, s := range f.Series {
			if s.Name == "" || len(s.Points) == 0 {
				t.Errorf("%s: series %q has %d points", f.Name, s.Name, len(s.Points))
			}
			for i, p := range s.Points {
				bad := math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0)
				bad = bad || f.X.Log && p.X <= 0 || f.Y.Log && p.Y <= 0
				bad = bad || len(f.Categories) > 0 && (p.X != math.Trunc(p.X) || p.X < 0 || int(p.X) >= len(f.Categories))
				if bad || i > 0 && p.X < s.Points[i-1].X {
					t.Errorf("%s, %s: point %d is %v", f.Name, s.Name, i, p)
					break
				}
			}
		}
	}
}

func TestFiguresCanBeDrawn(t *testing.T) {
	t.Parallel()
	names := []string{"s1-ratelimit", "s2-recovery", "s4-clamp"}
	r, err := Repeat(t.Context(), Options{Seed: 1}, names...)
	if err != nil {
		t.Fatal(err)
	}
	drawable(t, r.Figures)
	of := map[string]int{}
	for _, f := range r.Figures {
		of[f.Experiment]++
	}
	if d := cmp.Diff(of, map[string]int{"s1-ratelimit": 1, "s2-recovery": 3, "s4-clamp": 3}); d != "" {
		t.Error(d)
	}
}

// Bars contain the existing rows, by form of the timer and by threshold.
func TestBarsOfRows(t *testing.T) {
	t.Parallel()
	rows := []Row{
		published("x.free-running", 2, 1, "", ""), published("x.restart-on-becn", 2, 3, "", ""), unpublished("y.free-running", 5, "", ""),
		published("x.free-running.threshold15", 2, 4, "", ""), unpublished("z.restart-on-becn.threshold15", 6, "", ""),
	}
	got := barsOf(Figure{Name: "f", Categories: []string{"X", "Y", "Z"}}, rows, readingsOfS1(0), variant.legend, []string{"x", "y", "z"})
	want := []Series{
		{Name: "published", Published: true, Points: []Point{{0, 2}}},
		{Name: "free-running, threshold 8", Points: []Point{{0, 1}, {1, 5}}},
		{Name: "free-running, threshold 15", Points: []Point{{0, 4}}},
		{Name: "restarted by BECN, threshold 8", Points: []Point{{0, 3}}},
		{Name: "restarted by BECN, threshold 15", Points: []Point{{2, 6}}},
	}
	if d := cmp.Diff(got.Series, want); d != "" {
		t.Error(d)
	}
}

// The figures of E3 and of the sensitivity find all their metrics by name.
func TestFiguresOfRowsFindTheirMetrics(t *testing.T) {
	t.Parallel()
	phases := make([]phase, len(schedule()))
	for i, n := range schedule() {
		phases[i] = phase{flows: n, tenant1: 4e9, tenant2: 4e9, d: 1e9, becns: 100 / float64(n)}
	}
	var rows []Row
	for _, v := range append(readingsOfS1(1), useReadingsOfS1(1)...) {
		rows = append(rows, phaseRows(v, phases)...)
	}
	var choices []Row
	for _, o := range append(openChoices(1), useChoices(1)...) {
		o.e3 = phases[:3]
		o.e1 = fairnessRun{all: [4]float64{1, 1, 1, 1}}
		choices = append(choices, o.rows()...)
	}
	choices = append(choices, useClosedFormRows()...)
	for _, figures := range [][]Figure{tenantFigures(rows), sensitivityFigures(choices)} {
		drawable(t, figures)
		for _, f := range figures {
			for _, s := range f.Series {
				want := len(f.Categories)
				switch {
				case f.X.Label == "threshold" && strings.HasPrefix(s.Name, "by queue"):
					want = 5 // thresholds 15, 12, 8, 4 and 1
				case f.X.Label == "threshold":
					want = mostThreshold
				case want == 0:
					want = len(openMarkings())
				}
				if len(s.Points) != want {
					t.Errorf("%s, %s: %d points, want %d", f.Name, s.Name, len(s.Points), want)
				}
			}
		}
	}
}
