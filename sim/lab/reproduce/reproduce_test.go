package reproduce

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
)

func closeTo(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.Abs(got-want) > tol*math.Abs(want) {
		t.Errorf("%s: got %.4g, want %.4g within %.2g %%", what, got, want, tol*100)
	}
}

func TestUnknownNameListsTheKnownOnes(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), 1, nil, "s1-fairness", "s9-nothing")
	if !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `"s9-nothing"`) {
		t.Fatalf("got %v, want ErrUnknown with the name", err)
	}
	for _, n := range Names() {
		if !strings.Contains(err.Error(), n) {
			t.Errorf("%v does not list %s", err, n)
		}
		if err := Check(n); err != nil {
			t.Error(err)
		}
	}
	if len(List()) != len(Names()) {
		t.Errorf("%d experiments, %d names", len(List()), len(Names()))
	}
}

func TestDuplicateNameCountsOnce(t *testing.T) {
	t.Parallel()
	chosen, err := choose([]string{"s4-clamp", "s1-ratelimit", "s4-clamp", "s1-ratelimit"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range chosen {
		got = append(got, e.Name)
	}
	if want := []string{"s4-clamp", "s1-ratelimit"}; !slices.Equal(got, want) {
		t.Errorf("chosen %v, want %v", got, want)
	}
	if _, err := choose([]string{"s4-clamp", "s4-clamp", "s9-nothing"}); !errors.Is(err, ErrUnknown) {
		t.Errorf("error for an unknown name after a repeated one: %v", err)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Run(ctx, 1, func(float64) { cancel() }, "s1-ratelimit", "s1-tenants", "s1-sensitivity")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// When the context ends, Repeat returns the complete experiments, and the error states their number.
func TestAnInterruptedRunReturnsFinishedExperiments(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Seed: 1, Progress: func(float64) { cancel() }} // recovery is one job without a simulation; slowdown takes minutes
	r, err := Repeat(ctx, o, "s2-recovery", "s3-slowdown")
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 of 2 experiments finished") {
		t.Fatalf("got %v, want the context's error after 1 of 2", err)
	}
	whole, err := Repeat(t.Context(), Options{Seed: 1}, "s2-recovery")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, r); diff != "" {
		t.Errorf("rows of the finished experiment (-want +got):\n%s", diff)
	}
}

// Every row belongs to a requested experiment, and its ratio is our value divided by the published one. The same seed gives the
// same rows.
func TestRowsAreCompleteAndDeterministic(t *testing.T) {
	t.Parallel()
	var last float64
	names := []string{"s1-ratelimit", "s1-fairness"}
	rows, err := Run(t.Context(), 3, func(done float64) {
		if done <= last || done > 1 {
			t.Errorf("progress %v after %v", done, last)
		}
		last = done
	}, names...)
	if err != nil {
		t.Fatal(err)
	}
	if last != 1 {
		t.Errorf("progress ends at %v, want 1", last)
	}
	var order []string
	seen := map[string]bool{}
	for _, r := range rows {
		order = append(order, r.Name)
		if seen[r.Name+r.Metric] {
			t.Errorf("%s %s appears twice", r.Name, r.Metric)
		}
		seen[r.Name+r.Metric] = true
		if (r.Published == nil) != (r.Ratio == nil) {
			t.Errorf("%+v: a ratio needs a published figure", r)
		}
		if r.Published != nil {
			closeTo(t, r.Metric, *r.Ratio**r.Published, r.Ours, 1e-12)
		}
	}
	if got := slices.Compact(order); !slices.Equal(got, names) {
		t.Errorf("rows of %v, want %v", got, names)
	}
	again, err := Run(t.Context(), 3, nil, names...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rows, again); d != "" {
		t.Errorf("the same seed gave different rows:\n%s", d)
	}
}

func TestSeedsDiffer(t *testing.T) {
	t.Parallel()
	var got [2][]phase
	for i := range got {
		var err error
		if got[i], err = runTenants(t.Context(), base(uint64(i), false), []int{1}, lengths{40 * ms, 10 * ms}); err != nil {
			t.Fatal(err)
		}
	}
	if got[0][0] == got[1][0] {
		t.Error("a different seed gave the same figures")
	}
}

func TestRowWithoutPublishedFigureLeavesItOut(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal([]Row{unpublished("x", 2, "ms", ""), published("y", 4, 2, "", "")})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"name":"","metric":"x","ours":2,"unit":"ms"},{"name":"","metric":"y","published":4,"ours":2}]`
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// S1 prints the rates 1 Gbit/s, 100 Mbit/s and 10 Mbit/s for these delays. The rates of the two other readings are 16 times as
// high (up to the line rate) and nearly four times as high.
func TestReadingsOfTheDelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    reading
		ird  quantity.Picoseconds
		want float64
	}{
		{readS1, 2048 * quantity.Nanosecond, 1e9},
		{readS1, 20480 * quantity.Nanosecond, 1e8},
		{readS1, 204800 * quantity.Nanosecond, 1e7},
		{readIBTA, 2048 * quantity.Nanosecond, 8192 / 2.888e-6},
		{readIBTA, 204800 * quantity.Nanosecond, 8192 / 205.64e-6},
		{readAggregate, 2048 * quantity.Nanosecond, 1e10 * 1024 / 1050},
		{readAggregate, 204800 * quantity.Nanosecond, 1.6e8},
	} {
		closeTo(t, string(c.r)+" "+c.ird.String(), c.r.payloadRate(c.ird), c.want, 1e-6)
	}
}

// The simulator limits a flow to the rate of each reading, within the encoding's resolution of an eighth of a packet time.
func TestRateLimitFollowsTheReading(t *testing.T) {
	t.Parallel()
	for _, r := range []reading{readS1, readIBTA, readAggregate} {
		for _, l := range s1Limits() {
			got, err := limitedRate(t.Context(), 1, r, l.ird)
			if err != nil {
				t.Fatal(err)
			}
			closeTo(t, string(r)+" "+l.ird.String(), got, r.payloadRate(l.ird), 0.025)
		}
	}
}

func TestS1TableNeverSpeedsUp(t *testing.T) {
	t.Parallel()
	for _, r := range []reading{readS1, readIBTA, readAggregate} {
		table, err := s1Table(r)
		if err != nil {
			t.Fatal(err)
		}
		s := ibcc.CASettings{Limit: tableEntries - 1, Table: table}
		if err := s.Validate(); err != nil {
			t.Errorf("%s: %v", r, err)
		}
		// CCT(127) is 212.6 us.
		closeTo(t, string(r), 8192e10/8400/(1+table[127].Factor()), r.payloadRate(212624*quantity.Nanosecond), 0.01)
	}
}

func TestClosedForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restart bool
		want    [3]float64
	}{{false, [3]float64{790, 395, 263.3}}, {true, [3]float64{790, 462.1, 327.9}}} {
		for i, want := range c.want {
			closeTo(t, "BECNs", 790*closedForm(c.restart, i+1), want, 0.001)
		}
	}
}
