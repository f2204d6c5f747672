package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/profile"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet/topogen"
)

func quick() Options {
	return Options{Profile: profile.Default, Seed: 1, Jobs: 2, Quick: true, Command: "fairlane calibrate --quick"}
}

func TestQuickCalibrationIsReproducibleAndValid(t *testing.T) {
	t.Parallel()
	o := quick()
	var done []int
	o.Progress = func(n, all int) {
		if n < 1 || n > all {
			t.Errorf("progress %d of %d", n, all)
		}
		done = append(done, n)
	}
	a, err := Calibrate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(done) != a.Runs || !slices.IsSorted(done) {
		t.Errorf("progress %v of %d runs", done, a.Runs)
	}
	if a.Profile.Made != o.Command || a.Use < 0.9 || len(a.Checks) == 0 {
		t.Errorf("made by %q, least use %g, %d checks", a.Profile.Made, a.Use, len(a.Checks))
	}
	o.Jobs, o.Progress = 1, nil
	b, err := Calibrate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("the number of jobs changed the result: %s", d)
	}
	o.Seed = 2
	if b, err = Calibrate(t.Context(), o); err != nil || cmp.Equal(a.Profile.Response, b.Profile.Response) {
		t.Errorf("another seed gave the same response (error %v)", err)
	}
}

// A calibration that is continued does not repeat finished runs, and has the same result as one without interruption.
func TestAStoppedCalibrationContinues(t *testing.T) {
	t.Parallel()
	whole, err := Calibrate(t.Context(), quick())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	o := quick()
	o.Jobs = 1
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	kept := 0
	o.Finished = func(key string, m *Measured) error {
		if kept++; kept == 5 {
			cancel()
		}
		return WriteFinished(&file, key, m)
	}
	if _, err := Calibrate(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want canceled", err)
	}
	before := kept
	o = quick()
	if o.Known, err = ReadFinished(&file); err != nil || len(o.Known) != before {
		t.Fatalf("%d runs known, %d kept, error %v", len(o.Known), before, err)
	}
	fresh := 0
	o.Finished = func(key string, _ *Measured) error {
		if _, again := o.Known[key]; again {
			t.Errorf("%s was repeated", key)
		}
		fresh++
		return nil
	}
	again, err := Calibrate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if fresh != whole.Runs-before {
		t.Errorf("%d runs completed after %d of %d", fresh, before, whole.Runs)
	}
	if d := cmp.Diff(whole, again); d != "" {
		t.Error(d)
	}
}

// endsAfter is a context that ends after a number of calls of Err.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left == 0 {
		return context.Canceled
	}
	c.left--
	return nil
}

func TestCancelledCalibrationReturnsImmediately(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(2, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := ether.New(topo, ether.Config{Payload: 1000, Algorithms: []cc.Algorithm{algorithm(t)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := settle(&endsAfter{t.Context(), 3}, n, 100*sampling); !errors.Is(err, context.Canceled) || n.Now() != 3*sampling {
		t.Errorf("%v at %s, want canceled at %s", err, n.Now(), 3*sampling)
	}
	if err := settle(t.Context(), n, 7*sampling/2); err != nil || n.Now() != 7*sampling/2 {
		t.Errorf("%v at %s, want %s", err, n.Now(), 7*sampling/2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	points := (&maker{p: uncalibrated(t), g: quickGrid(), seed: 1}).all()
	run := points[0].run
	run.Counted = 0
	if m, err := run.Do(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a run: %+v, %v, want canceled", m, err)
	}
	o := quick()
	o.Known = make(map[string]Measured)
	for i := range points {
		o.Known[points[i].key] = Measured{Rates: slices.Repeat([]float64{1}, len(points[i].run.Groups)), Use: 1}
	}
	o.Progress = func(done, all int) { t.Errorf("continues with %d of %d", done, all) }
	if _, err := Calibrate(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want canceled", err)
	}
}

func uncalibrated(t *testing.T) *profile.Profile {
	t.Helper()
	p, err := profile.Uncalibrated(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func algorithm(t *testing.T) cc.Algorithm {
	t.Helper()
	s := dcqcn.Default()
	a, err := cc.NewMlx(&s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCalibrateRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Profile = "connectx-1" }, "want one of connectx-5"},
		{func(o *Options) { o.Jobs = 0 }, "want 1 to 256"},
		{func(o *Options) { o.Jobs = 257 }, "want 1 to 256"},
		{func(o *Options) { o.Finished = func(string, *Measured) error { return errors.New("disk full") } }, "disk full"},
	} {
		o := quick()
		c.change(&o)
		if _, err := Calibrate(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %q", err, c.want)
		}
	}
}

func TestResumeFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := Measured{Rates: rapid.SliceOfN(rapid.Float64Range(1, 1e11), 1, 5).Draw(t, "rates"), Use: 0.5, Pauses: rapid.Uint64().Draw(t, "pauses")}
		key := rapid.StringMatching(`[a-z0-9 :]{1,40}`).Draw(t, "key")
		var b bytes.Buffer
		if err := WriteFinished(&b, key, &m); err != nil {
			t.Fatal(err)
		}
		cut := b.String() + b.String()[:rapid.IntRange(0, b.Len()-2).Draw(t, "cut")]
		got, err := ReadFinished(strings.NewReader(cut))
		if err != nil || !cmp.Equal(got, map[string]Measured{key: m}) {
			t.Fatalf("%v: %v", err, got)
		}
	})
	for _, bad := range []string{"no json\n{}\n", "my notes", "{\"key\":\"\"}\n{\"key\":\"a\"}\n"} {
		if _, err := ReadFinished(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: error %v, want one with the line number", bad, err)
		}
	}
	if _, err := ReadFinished(strings.NewReader(strings.Repeat("x", MaxLine+1))); err == nil {
		t.Error("a line that is too long was accepted")
	}
}

func FuzzReadFinished(f *testing.F) {
	f.Add([]byte("{\"key\":\"a\",\"rates_bps\":[1,2],\"use\":0.5}\n{\"key\":\"b\""))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ReadFinished(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		for key, m := range got {
			if err := WriteFinished(&b, key, &m); err != nil {
				t.Fatal(err)
			}
		}
		if back, err := ReadFinished(&b); err != nil || !cmp.Equal(got, back) {
			t.Fatalf("%v: %v, want %v", err, back, got)
		}
	})
}

// A result that cannot belong to a run is not accepted as known.
func TestGivenResultsMustMatchTheProblem(t *testing.T) {
	t.Parallel()
	r := Run{Rate: 25 * quantity.Gbps, Groups: make([]Group, 2)}
	for _, c := range []struct {
		m  Measured
		ok bool
	}{
		{Measured{Rates: []float64{1e9, 2e9}, Use: 0.9}, true},
		{Measured{Rates: []float64{1e9}, Use: 0.9}, false},
		{Measured{Rates: []float64{1e9, 0}, Use: 0.9}, false},
		{Measured{Rates: []float64{1e9, 26e9}, Use: 0.9}, false},
		{Measured{Rates: []float64{1e9, 2e9}, Use: 0}, false},
		{Measured{Rates: []float64{1e9, math.NaN()}, Use: 0.9}, false},
	} {
		if c.m.fits(&r) != c.ok {
			t.Errorf("%+v: fits %v, want %v", c.m, !c.ok, c.ok)
		}
	}
}

// The result of isotonic regression is monotone, and no other monotone sequence is nearer to the values.
func TestFallingIsTheNearestThatNeverRises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-5, 0), 1, 8).Draw(t, "values")
		fit := falling(v)
		far := func(x []float64) (sum float64) {
			for i := range v {
				sum += (x[i] - v[i]) * (x[i] - v[i])
			}
			return sum
		}
		for i := 1; i < len(fit); i++ {
			if fit[i] > fit[i-1]+1e-12 {
				t.Fatalf("%v rises to %v", v, fit)
			}
		}
		other := slices.Clone(fit)
		for i := range other {
			other[i] += rapid.Float64Range(-1, 1).Draw(t, "shift")
		}
		slices.SortFunc(other, func(a, b float64) int { return -int(math.Copysign(1, a-b)) })
		if far(other) < far(fit)-1e-9 {
			t.Fatalf("%v: %v is nearer than %v", v, other, fit)
		}
	})
}

// Each run of a design has a unique key, and so have runs with different settings. Every run waits until its slowest flows
// have settled.
func TestKeysAreOfOneRunEach(t *testing.T) {
	t.Parallel()
	for _, name := range profile.Names() {
		p, err := profile.Uncalibrated(name)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, pt := range (&maker{p: p, g: fullGrid(p), seed: 1}).all() {
			if seen[pt.key] {
				t.Errorf("%s: two runs %s", name, pt.key)
			}
			seen[pt.key] = true
			for k, g := range pt.run.Groups {
				if err := g.Settings.Validate(p.Limits()); err != nil {
					t.Errorf("%s: %v", pt.key, err)
				}
				if need := profile.Settle(pt.rates[k], &g.Settings); pt.run.Settle.Seconds() < need || pt.run.Counted < pt.run.Settle {
					t.Errorf("%s: settling time %s and counted time %s, want %g s", pt.key, pt.run.Settle, pt.run.Counted, need)
				}
			}
		}
		p.Lever.Step = 0.03
		for _, pt := range (&maker{p: p, g: fullGrid(p), seed: 1}).all() {
			if seen[pt.key] && pt.kind == kindGrid {
				t.Errorf("%s: the key is the same with a different lever", pt.key)
			}
		}
	}
}

func TestRunRefusesSettingsNoRegisterHolds(t *testing.T) {
	t.Parallel()
	s := dcqcn.Default()
	s.TimeReset = 0
	r := Run{Rate: 25 * quantity.Gbps, Delay: quantity.Microsecond, Payload: payload, Groups: []Group{{1, 1, s}}, Counted: quantity.Millisecond}
	if _, err := r.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "rpg_time_reset") {
		t.Errorf("error %v, want one about rpg_time_reset", err)
	}
}

// The law of the lever: flows with increases proportional to their rates and periods inversely proportional to them share a
// link in that ratio, for any number of flows.
func TestTheLeverDividesALink(t *testing.T) {
	t.Parallel()
	p, err := profile.Lookup(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, shares := range [][]share{
		{{1, 1, 4}, {1, 1, 1}}, {{2, 2, 4}, {2, 2, 1}}, {{1, 2, 2}, {1, 8, 1}}, {{1, 4, 3}, {1, 2, 2}, {1, 4, 1}},
	} {
		m := &maker{p: p, g: quickGrid(), seed: 3}
		m.g.least = 40 * quantity.Millisecond
		pt := m.addRun(kindMix, "law", 25*quantity.Gbps, 6, 3, shares)
		got, err := pt.run.Do(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Use < 0.97 || got.Pauses > 0 {
			t.Errorf("%v: use %g, %d pauses: want 0.97 or more and none", shares, got.Use, got.Pauses)
		}
		predicted, measured := (&fitter{p: p}).parts(pt, got)
		for g := range predicted {
			if off := math.Abs(predicted[g]-measured[g]) / measured[g]; off > 0.1 {
				t.Errorf("%v: group %d has a share of %.4f, predicted %.4f", shares, g, measured[g], predicted[g])
			}
		}
	}
}

// A single fast flow that competes with many slow ones gets its marks in bursts, and more so the faster it is. The fit does
// not include such runs, and no runs at 200 Gbit/s.
func TestOneFastFlowAmongManySlowOnesIsPredicted(t *testing.T) {
	t.Parallel()
	p, err := profile.Lookup(profile.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		speed quantity.BitRate
		most  float64 // largest relative error of a slow flow's rate
	}{{100 * quantity.Gbps, 0.05}, {200 * quantity.Gbps, 0.12}} {
		for _, slow := range []int{8, 16} {
			for _, ratio := range []float64{5, 20, 60} {
				t.Run(fmt.Sprintf("%s %d slow %g to 1", c.speed, slow, ratio), func(t *testing.T) {
					t.Parallel()
					m := &maker{p: p, g: fullGrid(p)}
					pt := m.addRun(kindMix, "few fast", c.speed, 4, 71, []share{{1, 1, ratio}, {4, slow / 4, 1}})
					m.wait(pt)
					got, err := pt.run.Do(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					predicted, measured := (&fitter{p: p}).parts(pt, got)
					off := measured[1]/predicted[1] - 1
					t.Logf("slow flows have a rate %+.1f %% from the prediction", 100*off)
					if math.Abs(off) > c.most {
						t.Errorf("slow flows have a share of %.4f, predicted %.4f: want within %.0f %%", measured[1], predicted[1], 100*c.most)
					}
				})
			}
		}
	}
}
