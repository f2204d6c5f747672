package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/subnet/topofile"
)

// text returns a scenario File with the given contents.
func text(t testing.TB, body string) *File {
	t.Helper()
	return &File{name: "x.yaml", data: []byte(body)}
}

func TestSettingsReachTheScenario(t *testing.T) {
	t.Parallel()
	s, err := ParseWith("x.yaml", []byte(goodEther), nil,
		Setting{"model.payload", "4000"}, Setting{"model.ecn", "{min: 5, max: 9}"}, Setting{"workload.0.load", "0.3"},
		Setting{"fabric.hosts", "9"}, Setting{"congestion_control.algorithm", "hpcc"}, Setting{"congestion_control.int", "wire"},
		Setting{"model.recovery.timeout", "3ms"}, Setting{"description", `"a: b"`}, Setting{"flows.0.src", "[h5, h6]"})
	if err != nil {
		t.Fatal(err)
	}
	e := s.Ethernet
	if e.Model.Payload != 4000 || e.Model.ECN.Min != 5 || e.Workload[0].Load != 0.3 || len(Hosts(s.Fabric)) != 9 || e.Controls[0].Algorithm != "hpcc" ||
		len(e.Controls[0].Values) != 1 || e.Model.Recovery.Timeout != 3*ms || s.Description != "a: b" || len(e.Flows) != 2 {
		t.Errorf("%+v, %+v", s, e)
	}
}

func TestAWrongSettingIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, value, want string }{
		{"model.payload", "5", `setting model.payload=5: model.payload: found "5": want a number from 64 to 9216`},
		{"model.mtu", "5", `setting model.mtu=5: unknown key in model: found "mtu": want one of preset, payload`},
		{"model.ecn.min", "5", `setting model.ecn.min=5: ecn: found "one of min and max": want both or none`},
		{"workload.1.load", "0.1", `setting workload.1.load=0.1: workload.1: found "1": want 0: the list has one item`},
		{"workload.load", "0.1", `workload.load: found "load": want 0: the list has one item`},
		{"name.first", "y", `setting name.first=y: name: found "x": want a mapping or a list, to set first in it`},
		{"congestion_control.g", "7", `setting congestion_control.g=7: congestion_control.g: found "7": want a number from`},
		{"congestion_control.algorithm", "tcp", `setting congestion_control.algorithm=tcp: congestion control "tcp": want one of none`},
		{"fabric.hosts", "1", `with fabric.hosts=1: x.yaml:3: fabric: found "1 linked hosts": want at least 2`},
		{"fabric.hosts", "2", `with fabric.hosts=2: x.yaml:9: flow.dst: port "h3": no such port`},
		{"model..ecn", "5", "want a path of 1 to 16 keys"},
		{"model.payload", "[1", "setting model.payload=[1: not a YAML value"},
		{"model.payload", "", "want a value after the equals sign"},
		{"plane", "fddi", `setting plane=fddi: plane: found "fddi"`},
	} {
		_, err := ParseWith("x.yaml", []byte(goodEther), nil, Setting{c.path, c.value})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %q", c.path, c.value, err, c.want)
		}
		var pe *topofile.ParseError
		if err != nil && !errors.As(err, &pe) {
			t.Errorf("%s=%s: %T is not a ParseError", c.path, c.value, err)
		}
	}
}

func TestParseSettingsAndSeeds(t *testing.T) {
	t.Parallel()
	path, values, err := ParseSettings(`a.b=1, {x: 1, y: [2, 3]},"p,q",'r,s',5us`)
	if want := []string{"1", "{x: 1, y: [2, 3]}", `"p,q"`, "'r,s'", "5us"}; err != nil || path != "a.b" || !slices.Equal(values, want) {
		t.Errorf("%q %q, %v", path, values, err)
	}
	for _, bad := range []string{"", "a", "=1", "a=", "a=1,,2", "a=1,1"} {
		if _, _, err := ParseSettings(bad); err == nil {
			t.Errorf("ParseSettings accepted %q", bad)
		}
	}
	seeds, err := ParseSeeds("3..5,1, 18446744073709551615")
	if want := []uint64{3, 4, 5, 1, math.MaxUint64}; err != nil || !slices.Equal(seeds, want) {
		t.Errorf("%d, %v", seeds, err)
	}
	for _, bad := range []string{"", "x", "1..", "5..3", "1,1", "1..3,2", "0..10000", "0..18446744073709551615", "1..2..3", "-1", "1,"} {
		if got, err := ParseSeeds(bad); err == nil {
			t.Errorf("seeds %q: got %d", bad, len(got))
		}
	}
}

const redAndBlue = `name: x
plane: ethernet
duration: 5ms
fabric: {topology: star, hosts: 4}
congestion_control: {algorithm: dcqcn}
tenants: [{name: red, weight: 3}, {name: blue, weight: 1}]
flows:
  - {tenant: red, src: h1, dst: h4, bytes: 300_000}
  - {tenant: blue, src: [h2, h3], dst: h4, bytes: 300_000}
`

// The result of a sweep does not depend on the order in which its runs end. Each run equals the run of the scenario alone.
func TestASweepDoesNotDependOnItsJobs(t *testing.T) {
	t.Parallel()
	s, err := NewSweep(text(t, redAndBlue), []Axis{{"model.payload", []string{"500", "1000"}}, {"model.ecn.p_max", []string{"0.1", "1"}}}, []uint64{5, 2, 9})
	if err != nil || s.Runs() != 12 {
		t.Fatalf("%d runs, %v", s.Runs(), err)
	}
	if err := s.Check(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	var texts []string
	var points []SweepPoint
	for _, jobs := range []int{1, 5} {
		last := 0
		points, err = s.Run(context.Background(), jobs, nil, func(done int) {
			if done != last+1 {
				t.Errorf("progress reports %d after %d", done, last)
			}
			last = done
		})
		if err != nil || last != 12 {
			t.Fatalf("%d runs: %v", last, err)
		}
		text, err := json.Marshal(points)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	if texts[0] != texts[1] {
		t.Error("results with one job and with five jobs differ")
	}
	if got := points[2].Settings; got[0] != (Setting{"model.payload", "1000"}) || got[1] != (Setting{"model.ecn.p_max", "0.1"}) {
		t.Errorf("the third combination is %v", got)
	}
	sc, err := ParseWith("x.yaml", []byte(redAndBlue), nil, points[2].Settings...)
	if err != nil {
		t.Fatal(err)
	}
	sc.Config.Seed = 2
	want := runEther(t, sc, EtherOptions{})
	if got := points[2].Runs[1]; got.Seed != 2 || got.Digest != want.Totals.Digest || !got.Finished || got.Measures[Completed] != 3 || got.Measures[FCTMean] != want.FCT.Mean {
		t.Errorf("%+v, alone %+v", got, want.Totals)
	}
	var back []SweepPoint
	if err := json.Unmarshal([]byte(texts[0]), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(points, back, cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })); diff != "" {
		t.Errorf("the result differs after encoding to JSON and decoding:\n%s", diff)
	}
}

func TestSweepsOfInfiniBand(t *testing.T) {
	t.Parallel()
	f, err := Open("ib3to2")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep(f, []Axis{{"duration", []string{"105ms", "110ms"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Run(context.Background(), 2, nil, nil)
	if err != nil || len(points) != 2 || len(points[0].Runs) != 1 {
		t.Fatalf("%+v, %v", points, err)
	}
	m := points[0].Runs[0].Measures
	if m[Utilisation] < 0.9 || !(m[ShareError] > 0.1) || !math.IsNaN(m[SlowdownP50]) || m[Hops] >= points[1].Runs[0].Measures[Hops] || !math.IsNaN(points[0].Deviation[Hops]) {
		t.Errorf("%v", m)
	}
}

// A failed run is in the result with its error and excluded from the means. After an interruption some runs are missing.
func TestSweepsKeepFinishedRuns(t *testing.T) {
	t.Parallel()
	s, err := NewSweep(text(t, redAndBlue+"workload: [{kind: trace, tenant: red, file: none.csv}]\n"), nil, []uint64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Run(context.Background(), 1, nil, nil)
	if err != nil || len(points) != 1 || !strings.Contains(points[0].Runs[1].Error, "none.csv") || !math.IsNaN(points[0].Mean[Completed]) {
		t.Errorf("%+v, %v", points, err)
	}
	s, err = NewSweep(text(t, redAndBlue), nil, []uint64{1, 2, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	points, err = s.Run(ctx, 1, nil, func(done int) {
		if done == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(points) != 1 || len(points[0].Runs) != 2 || points[0].Mean[Completed] != 3 {
		t.Errorf("%+v, %v", points, err)
	}
	if err := s.Check(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("check of an interrupted sweep: %v", err)
	}
}

func TestSweepsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	many := make([]string, 101)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	for _, c := range []struct {
		axes  []Axis
		seeds int
		want  string
	}{
		{[]Axis{{"a", many}, {"b", many}}, 1, "more than 10000 runs"},
		{[]Axis{{"a", many}}, 100, "more than 10000 runs"},
		{[]Axis{{"a", []string{"1"}}, {"a", []string{"2"}}}, 1, "setting a twice"},
		{[]Axis{{"seed", []string{"1"}}}, 1, "--seeds"},
		{[]Axis{{"a", nil}}, 1, "no value"},
		{make([]Axis, 65), 1, "at most 64"},
	} {
		seeds := make([]uint64, c.seeds)
		if _, err := NewSweep(text(t, redAndBlue), c.axes, seeds); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.axes, err, c.want)
		}
	}
	s, err := NewSweep(text(t, redAndBlue), []Axis{{"model.payload", []string{"1000", "7", "8"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(context.Background(), 3); err == nil || !strings.Contains(err.Error(), "setting model.payload=7") {
		t.Errorf("the first error is %v", err)
	}
}

func TestSummaryOmitsMissingValues(t *testing.T) {
	t.Parallel()
	a, b, c := noMeasures(), noMeasures(), noMeasures()
	a[Hops], b[Hops], c[Hops] = 1, 2, 6
	b[Jain] = 0.5
	mean, dev := summary([]Measures{a, b, c})
	closeTo(t, "mean", mean[Hops], 3, 1e-12)
	closeTo(t, "deviation", dev[Hops], math.Sqrt(7), 1e-12)
	if mean[Jain] != 0.5 || !math.IsNaN(dev[Jain]) || !math.IsNaN(mean[Drops]) {
		t.Errorf("%v, %v", mean, dev)
	}
}

// Settings never break the tree to which they are applied, for any path and value.
func TestAnySettingIsPutOrRefused(t *testing.T) {
	t.Parallel()
	keys := []string{"model", "ecn", "min", "workload", "0", "1", "flows", "src", "fabric", "hosts", "tenants", "x", "", "-1", "plane"}
	values := []string{"1", "0", "x", "[]", "{}", "[h1, h2]", "{min: 1}", "~", "&a b", "*a", "!!binary x", "- 1", "# c", "ethernet", "1us"}
	rapid.Check(t, func(rt *rapid.T) {
		var settings []Setting
		for range rapid.IntRange(1, 4).Draw(rt, "settings") {
			path := rapid.SliceOfN(rapid.SampledFrom(keys), 1, 4).Draw(rt, "path")
			settings = append(settings, Setting{strings.Join(path, "."), rapid.SampledFrom(values).Draw(rt, "value")})
		}
		s, err := ParseWith("x.yaml", []byte(goodEther), nil, settings...)
		if (s == nil) == (err == nil) {
			rt.Fatalf("%v: scenario %v, error %v", settings, s, err)
		}
	})
}
