package reproduce

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/workload"
)

// shortS0 returns the base traffic at a load, with a span short enough for a test.
func shortS0(t *testing.T, r s0Reading, percent int, span quantity.Picoseconds) (s0Scale, s0Traffic) {
	t.Helper()
	s := s0Scale{payload: 4000, warm: span / 3, span: span, limit: 80 * quantity.Millisecond}
	return s, s.traffic(r, percent)
}

// The load, the fraction of cross-domain flows and the use of half the long link agree with the readings.
func TestS0TrafficFollowsItsReadings(t *testing.T) {
	t.Parallel()
	for _, r := range s0Readings() {
		traffic := s0Traffic{load: 0.6, cross: r.cross, capacity: r.capacity, span: 100 * quantity.Millisecond}
		src, err := traffic.source(1)
		if err != nil {
			t.Fatal(err)
		}
		flows, crossing, bits := 0, 0, 0.0
		for a, ok := src.Next(); ok; a, ok = src.Next() {
			flows++
			bits += 8 * float64(a.Bytes)
			if a.Src/32 != a.Dst/32 {
				crossing++
			}
		}
		closeTo(t, r.label+": load", bits/traffic.span.Seconds()/float64(r.capacity), 0.6, 0.06)
		closeTo(t, r.label+": fraction that crosses", float64(crossing)/float64(flows), r.cross, 0.1)
	}
}

func TestS0LongFlowsAreHalfOfTheLongLink(t *testing.T) {
	t.Parallel()
	for _, fan := range []int{2, 8} {
		traffic := s0Traffic{incast: fan, long: s0LongFlow, span: 320 * quantity.Millisecond}
		bits, to := 0.0, map[quantity.Picoseconds]int32{}
		for _, a := range traffic.bursts(1) {
			bits += 8 * float64(a.Bytes)
			if a.Src >= 32 || a.Dst < 32 || a.Bytes != 50e6 {
				t.Fatalf("%+v: want 50 MB from the first data centre to the second", a)
			}
			if d, ok := to[a.At]; ok && d != a.Dst {
				t.Fatalf("a burst has receivers %d and %d, want one receiver", d, a.Dst)
			}
			to[a.At] = a.Dst
		}
		closeTo(t, "long flows", bits/traffic.span.Seconds(), 200e9, 1e-9)
	}
}

// The reductions that S0 prints in its text (4.1.2) follow from the published values that we compare with.
func TestS0PublishedReductionsFollowFromItsTable(t *testing.T) {
	t.Parallel()
	want := [3][2][2]float64{ // by peer: p50 and p99, minimum and maximum, percent
		{{24, 37}, {45, 58}}, {{8, 47}, {47, 70}}, {{9, 29}, {10, 39}},
	}
	for peer := range want {
		for k := range 2 {
			least, most := math.Inf(1), 0.0
			for _, percent := range []int{30, 60, 90} {
				f := s0Table3(percent)
				c := reduction(f[0][k], f[peer+1][k])
				least, most = min(least, c), max(most, c)
			}
			if w := want[peer][k]; math.Abs(least-w[0]) > 1 || math.Abs(most-w[1]) > 1 {
				t.Errorf("peer %d, percentile %d: %.1f to %.1f %%, S0 prints %v", peer, k, least, most, w)
			}
		}
	}
	if s0Table4(24) != s0Table3(60) {
		t.Error("the two tables differ for the same runs")
	}
}

// At the default load WRCC has the lowest median and tail, the shortest queues and a tenth of the pauses, and no control
// loses packets.
func TestS0RankingAtTheDefaultLoad(t *testing.T) {
	t.Parallel()
	scale, traffic := shortS0(t, s0Readings()[0], 60, 3*quantity.Millisecond)
	var cases []*s0Case
	for _, c := range s0Controls(s0Period) {
		cs := &s0Case{control: c, traffic: traffic, seed: 1}
		for _, j := range cs.jobs(scale, 1) {
			if err := j(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		cases = append(cases, cs)
	}
	for _, r := range s0Health(cases) {
		if r.Metric != "counted-flows" && r.Ours != 0 {
			t.Errorf("%s: %g, want none", r.Metric, r.Ours)
		}
		if r.Metric == "counted-flows" && r.Ours < 4*400 {
			t.Errorf("%g flows counted, want 400 of each", r.Ours)
		}
	}
	p50, p99 := cases[0].slowdowns()
	q, _ := stats.Quantile(cases[0].runs[0].standing(), 0.8)
	for _, c := range cases[1:] {
		o50, o99 := c.slowdowns()
		if p50 >= o50 || p99 >= o99 {
			t.Errorf("%s: p50 %.2f and p99 %.2f, WRCC %.2f and %.2f: want WRCC below", c.control.label, o50, o99, p50, p99)
		}
		if oq, _ := stats.Quantile(c.runs[0].standing(), 0.8); float64(q) > 0.6*float64(oq) {
			t.Errorf("%s: p80 queue %d, WRCC %d: want 40 %% less", c.control.label, oq, q)
		}
		if c.runs[0].paused < 10*cases[0].runs[0].paused {
			t.Errorf("%s: %s of pauses, WRCC %s: want a tenth", c.control.label, c.runs[0].paused, cases[0].runs[0].paused)
		}
	}
	rows := (&s0Block{reading: s0Readings()[0], percent: 60, cases: cases}).rows("load60", s0Table3(60), true)
	if len(rows) != 2*4+2*3 {
		t.Fatalf("%d rows, want 14", len(rows))
	}
	for _, r := range rows {
		if r.Published == nil || r.Ours == 0 {
			t.Errorf("%+v: want a published figure and ours", r)
		}
	}
	for _, f := range s0Bars("x", "load", []string{"load60"}, rows) {
		if len(f.Categories) != 4 || len(f.Series[0].Points) != 4 || len(f.Series[1].Points) != 4 {
			t.Errorf("figure %s: %d categories", f.Name, len(f.Categories))
		}
	}
}

// A flow counts if it starts after the warm-up; long flows do not count.
func TestS0CountsMixedFlowsAfterWarmUp(t *testing.T) {
	t.Parallel()
	scale, traffic := shortS0(t, s0Readings()[2], 30, 4*quantity.Millisecond)
	r, err := runS0(t.Context(), s0WRCC(s0Period), traffic, 2, scale.payload, scale.limit)
	if err != nil {
		t.Fatal(err)
	}
	src, err := traffic.source(2)
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for a, ok := src.Next(); ok; a, ok = src.Next() {
		if a.At >= traffic.warm && a.Tag == s0Mixed {
			want++
		}
	}
	if len(r.slow) != want || want == 0 || r.open != 0 {
		t.Errorf("%d flows counted, %d open, want %d and 0", len(r.slow), r.open, want)
	}
	if m := slices.Min(r.slow); m < 1 {
		t.Errorf("a slowdown of %.3f: a flow was faster than without competing traffic", m)
	}
	if !slices.IsSorted(r.queues) || len(r.queues) == 0 {
		t.Error("queue samples are not sorted")
	}
}

// With a far and a near flow, HPCC has the published problem, and BiCC keeps the queue short. With WRCC's increase timer, the
// far sender does not adapt to the bottleneck; with IncreaseAsk it does.
func TestS0MotivationShowsTheLongLoop(t *testing.T) {
	t.Parallel()
	runs := map[string]*twoRun{}
	for _, c := range s0TwoControls() {
		if c.alpha != 0 {
			continue
		}
		r, err := runTwo(t.Context(), c, 40*quantity.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		if r.dropped != 0 {
			t.Errorf("%s: %d packets dropped", c.label, r.dropped)
		}
		runs[c.label] = r
	}
	if q := runs["hpcc"].above(1.8, 20); q < 0.7 {
		t.Errorf("hpcc: queue above 1.8 MB for %.2f of samples, S0 has 0.7", q)
	}
	if q := runs["bicc"].largest(); q > 1 {
		t.Errorf("bicc: queue of %.2f MB, want below 1", q)
	}
	far, nearRate := runs["wrcc.ask"].late()
	if far/nearRate < 0.8 || far/nearRate > 1.25 {
		t.Errorf("wrcc.ask: far %.1f and near %.1f Gbit/s: want equal shares within a quarter", far, nearRate)
	}
	if far, nearRate = runs["wrcc"].late(); nearRate > far/4 {
		t.Errorf("wrcc: far %.1f and near %.1f Gbit/s: want a far sender that does not adapt to the bottleneck", far, nearRate)
	}
}

func TestS0CDFRisesToOne(t *testing.T) {
	t.Parallel()
	p := s0CDF([]int64{0, 10, 20, 30}, 10)
	if len(p) != 100 || p[99] != (Point{3, 1}) || p[0] != (Point{0, 0.01}) {
		t.Errorf("%d points, first %v, last %v", len(p), p[0], p[len(p)-1])
	}
	if len(s0CDF(nil, 1)) != 0 {
		t.Error("a distribution without values has points")
	}
}

func TestS0VariantsAreBuilt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range slices.Concat(s0Controls(s0Period), s0Variants(), s0TwoControls()) {
		if _, err := (&s3Control{name: c.name, values: c.values}).build(); err != nil {
			t.Errorf("%s: %v", c.label, err)
		}
		seen[c.label] = true
		if strings.Contains(c.label, ".") && s0VariantNote(c.label) == "" {
			t.Errorf("%s has no note", c.label)
		}
	}
	if len(seen) != 11 {
		t.Errorf("%d controls, want 11", len(seen))
	}
	if _, err := workload.GroupPairs([][]int32{workload.HostRange(0, 32), workload.HostRange(32, 32)}, 5.0/6); err != nil {
		t.Error(err)
	}
}
