package reproduce

import (
	"math"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawable proves that figures can be drawn and kept as files.
func drawable(t *testing.T, figures []Figure) {
	t.Helper()
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,80}$`)
	seen := map[string]bool{}
	for _, f := range figures {
		if !name.MatchString(f.Name) || seen[f.Name] || f.Title == "" {
			t.Errorf("figure %q, titled %q: want a file name of its own and a title", f.Name, f.Title)
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
	names := []string{"s1-ratelimit", "s1-fairness", "s2-recovery", "s4-clamp"}
	r, err := Repeat(t.Context(), Options{Seed: 1}, names...)
	if err != nil {
		t.Fatal(err)
	}
	drawable(t, r.Figures)
	of := map[string]int{}
	for _, f := range r.Figures {
		of[f.Experiment]++
	}
	if d := cmp.Diff(of, map[string]int{"s1-ratelimit": 1, "s1-fairness": 3, "s2-recovery": 3, "s4-clamp": 3}); d != "" {
		t.Error(d)
	}
}

// E1's course shows what S1's figure does: who sends when, and the parking lot without congestion control.
func TestCourseOfE1(t *testing.T) {
	t.Parallel()
	r, err := runFairness(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := r.figure("off")
	for i, s := range f.Series {
		if len(s.Points) != 81 {
			t.Fatalf("%s: %d points, want one for each tenth of 8 s and the end", s.Name, len(s.Points))
		}
		for k, p := range s.Points[:80] {
			sends := k >= 10*i && k < 10*(i+5)
			drains := k == 10*(i+5) // what was in the fabric when it stopped
			if sends != (p.Y > 0) && !drains {
				t.Errorf("%s at %v s: %v Gbit/s", s.Name, p.X, p.Y)
			}
		}
	}
	near(t, "A by D at 4 s", f.Series[0].Points[40].Y/f.Series[2].Points[40].Y, 0.5, 0.01)
}

// Bars are made of the rows that are there, by their form of the timer.
func TestBarsOfRows(t *testing.T) {
	t.Parallel()
	rows := []Row{
		published("x.free-running", 2, 1, "", ""), published("x.restart-on-becn", 2, 3, "", ""), own("y.free-running", 5, "", ""),
	}
	got := barsOf(Figure{Name: "f", Categories: []string{"X", "Y", "Z"}}, rows, []string{"x", "y", "z"})
	want := []Series{
		{Name: "published", Published: true, Points: []Point{{0, 2}}},
		{Name: "free-running", Points: []Point{{0, 1}, {1, 5}}},
		{Name: "restarted by BECN", Points: []Point{{0, 3}}},
	}
	if d := cmp.Diff(got.Series, want); d != "" {
		t.Error(d)
	}
}

// The figures of E3 and of the sensitivity are made from metrics by name: all of them are there.
func TestFiguresOfRowsFindTheirMetrics(t *testing.T) {
	t.Parallel()
	phases := make([]phase, len(schedule()))
	for i, n := range schedule() {
		phases[i] = phase{flows: n, tenant1: 4e9, tenant2: 4e9, d: 1e9, becns: 100 / float64(n)}
	}
	var rows []Row
	for _, restart := range []bool{false, true} {
		v := base(1, restart)
		rows = append(append(rows, becnRows(v, phases)...), shareRows(v, phases)...)
	}
	var choices []Row
	for _, o := range openChoices(1) {
		o.e3 = phases[:3]
		o.e1 = fairnessRun{all: [4]float64{1, 1, 1, 1}}
		choices = append(choices, o.rows()...)
	}
	for _, figures := range [][]Figure{tenantFigures(rows), sensitivityFigures(choices)} {
		drawable(t, figures)
		for _, f := range figures {
			want := len(f.Categories)
			if want == 0 {
				want = len(openMarkings())
			}
			for _, s := range f.Series {
				if len(s.Points) != want {
					t.Errorf("%s, %s: %d points, want %d", f.Name, s.Name, len(s.Points), want)
				}
			}
		}
	}
}
