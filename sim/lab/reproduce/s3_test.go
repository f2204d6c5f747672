package reproduce

import (
	"slices"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/workload"
)

// S3's equations 29 to 33 with numbers of known means. In the mean RTT each sample has the same weight; in the mean rate each
// flow is weighted by its completion time.
func TestIncastFiguresFollowTheEquations(t *testing.T) {
	t.Parallel()
	r := &incastRun{
		tap: rttTap{
			sampled: [][]float64{{5, 7, 9, 11}, {20}},
			every:   []float64{4, 4, 4, 8},
		},
		sizes: []int64{1e6, 3e6},
		fct:   []float64{1e-3, 4e-3},
	}
	got := r.figures()
	want := incastFigures{
		mean: 10.4, p99: 20, most: 20,
		rate: 0.032 / 5e-3, // 32 Mbit in 1 and 4 ms
		fct:  2.5, last: 4,
		meanEvery: 5, p99Every: 8,
		meanTaken: 10.4, meanByFlow: 14, rateFlows: (8 + 6) / 2.0,
		link: 8, samples: 5,
	}
	closeTo(t, "rate", got.rate, want.rate, 1e-12)
	got.rate = want.rate
	for i, p := range [][2]float64{
		{got.mean, want.mean}, {got.p99, want.p99}, {got.most, want.most}, {got.fct, want.fct}, {got.last, want.last},
		{got.meanEvery, want.meanEvery}, {got.p99Every, want.p99Every}, {got.meanByFlow, want.meanByFlow},
		{got.rateFlows, want.rateFlows}, {got.link, want.link}, {float64(got.samples), float64(want.samples)},
		{got.meanTaken, want.meanTaken},
	} {
		closeTo(t, "figure "+string(rune('a'+i)), p[0], p[1], 1e-12)
	}
	r.each = true
	if got := r.figures(); got.meanTaken != 5 || got.mean != want.mean {
		t.Errorf("mean of a control that reacts to every ACK: %v, want 5; by probe: %v, want %v", got.meanTaken, got.mean, want.mean)
	}
	if most := r.tap.largestAfter(2); most != 11 {
		t.Errorf("largest sample after the second: %v, want 11", most)
	}
}

// S3's published values agree with its definition of the mean rate: 635 MB divided by 20 times the mean completion time.
func TestPublishedMeanRateFollowsTheDefinition(t *testing.T) {
	t.Parallel()
	_, printed := s3Incasts()
	sum := int64(0)
	for _, b := range s3Sizes() {
		sum += b
	}
	closeTo(t, "mean rate of table 4", 8e-6*float64(sum)/(20*printed[0].fct), printed[0].rate, 1e-4)
}

// Table 6. The order by mean RTT, by p99 RTT and by mean rate is that of S3. The largest RTTs of HPCC and DCTCP and the p99
// of DCTCP follow from windows and the marking threshold alone. They equal S3's values to the nanosecond, so both simulators
// send the same packets.
func TestTable6(t *testing.T) {
	t.Parallel()
	jobs, result := planTable6(Options{})
	if _, err := runJobs(t.Context(), jobs, nil); err != nil {
		t.Fatal(err)
	}
	res := result()
	ratio := func(metric string) float64 { r := metricOf(t, res.Rows, metric); return r.Ours / *r.Published }
	for _, c := range []struct {
		metric string
		within float64
	}{
		{"mean-rtt.pidnn", 0.04}, {"mean-rtt.pid", 0.01}, {"mean-rtt.hpcc", 0.01}, {"mean-rtt.timely", 0.12}, {"mean-rtt.dctcp", 0.2},
		{"mean-rtt-every-ack.dctcp", 0.02}, {"p99-rtt.pidnn", 0.02}, {"p99-rtt.pid", 0.02}, {"p99-rtt.hpcc", 0.03},
		{"p99-rtt.timely", 0.02}, {"p99-rtt.dctcp", 1e-5}, {"max-rtt.hpcc", 1e-9}, {"max-rtt.dctcp", 1e-9}, {"max-rtt.pid", 0.05},
		{"mean-rate.pidnn", 0.12}, {"mean-rate.pid", 0.03}, {"mean-rate.hpcc", 0.02}, {"mean-rate.timely", 0.02}, {"mean-rate.dctcp", 0.04},
		{"last-fct.pidnn", 0.01},
	} {
		closeTo(t, c.metric, ratio(c.metric), 1, c.within)
	}
	for _, c := range []string{"pidnn", "hpcc", "timely", "dctcp"} {
		for _, m := range []string{"rank-mean-rtt.", "rank-p99-rtt.", "rank-mean-rate."} {
			closeTo(t, m+c, ratio(m+c), 1, 1e-12)
		}
		if link := metricOf(t, res.Rows, "link-rate."+c).Ours; link > 100*1000/1048.0*1.011 {
			t.Errorf("%s carries %.2f Gbit/s: want at most the payload rate of a link, with times truncated to nanoseconds", c, link)
		}
	}
	checkReadingsOfMeanRTT(t, res.Rows)
	checkMeanRTTAsTaken(t, res.Rows)
	for metric, why := range s3Misses() {
		if strings.HasSuffix(metric, "us") {
			continue // belongs to s3-targets
		}
		if got := metricOf(t, res.Rows, metric).Note; !strings.HasSuffix(got, why) {
			t.Errorf("note of %s is %q: want it to end in %q", metric, got, why)
		}
	}
	checkFigures(t, res.Figures)
}

// checkReadingsOfMeanRTT verifies for each control which readings of table 6's mean RTT are within 15 % of S3. Neither
// reading is within 15 % for all four, and over every ACK the ranks of TIMELY and DCTCP are exchanged.
func checkReadingsOfMeanRTT(t *testing.T, rows []Row) {
	t.Helper()
	for _, c := range []struct {
		label          string
		samples, every bool    // whether the value is within 15 %
		rank           float64 // rank over every ACK
	}{{"pidnn", true, true, 2}, {"hpcc", true, true, 1}, {"timely", true, false, 4}, {"dctcp", false, true, 3}} {
		for metric, want := range map[string]bool{"mean-rtt.": c.samples, "mean-rtt-every-ack.": c.every} {
			r := metricOf(t, rows, metric+c.label)
			if x := r.Ours / *r.Published; (x > 0.85 && x < 1.15) != want {
				t.Errorf("%s: %.3f of the published figure, want within 15 %%: %v", r.Metric, x, want)
			}
		}
		closeTo(t, "place of "+c.label+" over every ACK", metricOf(t, rows, "rank-mean-rtt-every-ack."+c.label).Ours, c.rank, 1e-12)
	}
}

// checkMeanRTTAsTaken verifies the reading in which the mean is over the samples to which each control reacts. It equals one
// of the other two readings, is within 15 % of S3 for every control, and gives the same ranks as S3.
func checkMeanRTTAsTaken(t *testing.T, rows []Row) {
	t.Helper()
	for label, same := range map[string]string{
		"pidnn": "mean-rtt.", "pid": "mean-rtt.", "timely": "mean-rtt.",
		"hpcc": "mean-rtt-every-ack.", "dctcp": "mean-rtt-every-ack.",
	} {
		r := metricOf(t, rows, "mean-rtt-as-taken."+label)
		if want := metricOf(t, rows, same+label); r.Ours != want.Ours || *r.Published != *want.Published {
			t.Errorf("%s: %v of %v, want that of %s: %v of %v", r.Metric, r.Ours, *r.Published, want.Metric, want.Ours, *want.Published)
		}
		closeTo(t, r.Metric, r.Ours / *r.Published, 1, 0.15)
	}
	for label, place := range map[string]float64{"hpcc": 1, "pidnn": 2, "timely": 3, "dctcp": 4} {
		r := metricOf(t, rows, "rank-mean-rtt-as-taken."+label)
		if r.Ours != place || *r.Published != place {
			t.Errorf("%s: rank %v, published %v, want %v for both", r.Metric, r.Ours, *r.Published, place)
		}
	}
}

// betweenTap counts the ACKs on which an algorithm changes a flow's rate or window, separately for ACKs of S3's probe and for
// all other ACKs.
type betweenTap struct {
	cc.Algorithm
	marks           []int64
	sampled, others int
}

func (b *betweenTap) Reserve(n int) {
	b.marks = append(b.marks, make([]int64, max(0, n-len(b.marks)))...)
	b.Algorithm.Reserve(n)
}

func (b *betweenTap) Ack(slot int32, a *cc.Ack, c *cc.Control) {
	probe := a.Seq > b.marks[slot]
	if probe {
		b.marks[slot] = a.Next
	}
	before := *c
	b.Algorithm.Ack(slot, a, c)
	switch {
	case *c == before:
	case probe:
		b.sampled++
	default:
		b.others++
	}
}

// Each control reacts to the samples assigned to it: HPCC and DCTCP also react to ACKs between probes, TIMELY and the neural
// control only to ACKs of the probe.
func TestControlsReactToTheirDeclaredSignals(t *testing.T) {
	t.Parallel()
	controls, _ := s3Incasts()
	sizes := slices.Repeat([]int64{3e6}, 20)
	for _, c := range controls {
		alg, err := c.build()
		if err != nil {
			t.Fatal(err)
		}
		b := &betweenTap{Algorithm: alg}
		if _, err := sendIncast(t.Context(), c, b, sizes, nil); err != nil {
			t.Fatal(err)
		}
		if b.sampled == 0 || b.others > 0 != c.each {
			t.Errorf("%s reacts to %d ACKs of the probe and to %d others, but is listed as reacting to every ACK: %v", c.label, b.sampled, b.others, c.each)
		}
	}
}

// Higher targets of the neural control give longer round trips with a longer tail, and a lower rate than with 5 us (S3,
// 4.3.2).
func TestTargets(t *testing.T) {
	t.Parallel()
	jobs, result := planTargets(Options{})
	if _, err := runJobs(t.Context(), jobs, nil); err != nil {
		t.Fatal(err)
	}
	res := result()
	get := func(metric string) float64 { return metricOf(t, res.Rows, metric).Ours }
	for _, m := range []string{"mean-rtt.", "p99-rtt.", "max-rtt."} {
		if a, b, c := get(m+"5us"), get(m+"6us"), get(m+"7us"); a >= b || b >= c {
			t.Errorf("%s %.2f, %.2f, %.2f us: want ascending values", m, a, b, c)
		}
	}
	for _, target := range []string{"6us", "7us"} {
		if a, b := get("mean-rate.5us"), get("mean-rate."+target); b > 0.8*a {
			t.Errorf("mean rate %.2f at 5us, %.2f at %s: want at least a fifth less", a, b, target)
		}
		last := metricOf(t, res.Rows, "last-fct."+target)
		closeTo(t, "last FCT at "+target, last.Ours, *last.Published, 0.1)
	}
	for metric := range s3Misses() {
		if strings.HasSuffix(metric, "us") {
			metricOf(t, res.Rows, metric)
		}
	}
	checkFigures(t, res.Figures)
}

// With a deeper buffer, TIMELY's queue at the start grows; the rest does not change.
func TestTimelyStartUpFollowsTheBuffer(t *testing.T) {
	t.Parallel()
	var most [2]float64
	for i, mib := range []int64{4, 16} {
		c := s3Control{label: "timely", name: "timely", buffer: mib << 20}
		r, err := runIncast(t.Context(), c, s3Sizes())
		if err != nil {
			t.Fatal(err)
		}
		f := r.figures()
		most[i] = f.most
		closeTo(t, "p99 RTT", f.p99, 102.673, 0.06)
		closeTo(t, "mean RTT", f.mean, 11.9797, 0.06)
	}
	if most[1] < 3*most[0] {
		t.Errorf("largest RTT %.0f and %.0f us: want proportional to the buffer", most[0], most[1])
	}
}

func TestTwentiethsOfTheFlowsBySize(t *testing.T) {
	t.Parallel()
	var flows []finished
	for i := range 2000 {
		at := (i*1237 + 11) % 2000 // any order
		flows = append(flows, finished{bytes: int64(at) + 1, slowdown: float64(at % 100)})
	}
	bins := bySize(flows)
	if len(bins) != 20 {
		t.Fatalf("%d bins, want 20", len(bins))
	}
	for i, b := range bins {
		// 100 flows with slowdowns 0 to 99: the script uses the value at index 95.
		if want := (sizeBin{int64(100 * (i + 1)), 95}); b != want {
			t.Errorf("bin %d: %+v, want %+v", i, b, want)
		}
	}
	if got := bySize(flows[:3]); len(got) != 3 {
		t.Errorf("three flows make %d bins, want 3", len(got))
	}
}

// Within 10 ms: Hadoop sizes at 30 % of the links' rate, and 34 bursts from 60 different hosts to one other host.
func TestFatTreeTraffic(t *testing.T) {
	t.Parallel()
	flows, err := s3Traffic(5, s3Span)
	if err != nil {
		t.Fatal(err)
	}
	bytes, bursts := 0.0, make(map[quantity.Picoseconds][]workload.Arrival)
	for i, f := range flows {
		if i > 0 && f.At < flows[i-1].At || f.At >= s3Span || f.Src == f.Dst {
			t.Fatalf("flow %d: %+v", i, f)
		}
		if f.Tag == tagBurst {
			bursts[f.At] = append(bursts[f.At], f)
		} else {
			bytes += float64(f.Bytes)
		}
	}
	closeTo(t, "load", bytes*8/(320*100e9*s3Span.Seconds()), 0.3, 0.02)
	if len(bursts) != s3Bursts {
		t.Errorf("%d bursts, want %d", len(bursts), s3Bursts)
	}
	for at, b := range bursts {
		senders := make(map[int32]bool)
		for _, f := range b {
			senders[f.Src] = true
			if f.Dst != b[0].Dst || f.Bytes != 500e3 {
				t.Errorf("burst at %s: %+v", at, f)
			}
		}
		if len(b) != 60 || len(senders) != 60 || senders[b[0].Dst] {
			t.Errorf("burst at %s: %d flows from %d senders", at, len(b), len(senders))
		}
	}
	again, err := s3Traffic(5, s3Span)
	if err != nil || !slices.Equal(flows, again) {
		t.Errorf("the same seed gave different flows (%v)", err)
	}
	other, err := s3Traffic(6, s3Span)
	if err != nil || slices.Equal(flows, other) {
		t.Errorf("a different seed gave the same flows (%v)", err)
	}
}

// A target of 5 us is below the base round trip of 12 us in the fat tree. The neural control therefore sends at its minimum
// rate, and large flows take about a hundred times the time without competing traffic, as in table 8.
func TestFatTreeRows(t *testing.T) {
	t.Parallel()
	controls, readings := s3FatControls(), s3FatReadings()
	jobs, result := slowdownJobs(1, 50*quantity.Microsecond, []fatControl{controls[0], controls[3]}, readings[:1])
	if _, err := runJobs(t.Context(), jobs, nil); err != nil {
		t.Fatal(err)
	}
	res := result()
	get := func(metric string) float64 { return metricOf(t, res.Rows, metric).Ours }
	closeTo(t, "large flows of the neural control", get("p95-10MB.pidnn"), 98.729, 0.1)
	if a, b := get("p95-10MB.pidnn"), get("p95-10MB.hpcc"); a < 10*b {
		t.Errorf("large flows: %.1f with a target below the base RTT, HPCC %.1f: want ten times as much", a, b)
	}
	if a, b := get("p95-36KB.pidnn"), get("p95-36KB.pidnn-line"); a < 3*b {
		t.Errorf("flows of 36 KB: %.2f with a start at 10 Gbit/s, %.2f at 100: want three times as much", a, b)
	}
	if got := get("incasts"); got != 1 {
		t.Errorf("%v incasts, want 1", got)
	}
	if a, b := metricOf(t, res.Rows, "rank-10MB.hpcc"), metricOf(t, res.Rows, "rank-10MB.pidnn"); a.Ours != 1 || b.Ours != 2 || *b.Published != 2 {
		t.Errorf("ranks %+v and %+v, want 1 and 2", a, b)
	}
	if got := metricOf(t, res.Rows, "p95-10MB.hpcc"); *got.Published != 6.338 {
		t.Errorf("published %v, want 6.338", *got.Published)
	}
	checkFigures(t, res.Figures)
	if len(res.Figures[0].Series) != 4 {
		t.Errorf("%d series, want ours and the published of two", len(res.Figures[0].Series))
	}
}

// metricOf returns the row of a metric, and fails the test without one.
func metricOf(t *testing.T, rows []Row, metric string) Row {
	t.Helper()
	for _, r := range rows {
		if r.Metric == metric {
			return r
		}
	}
	t.Fatalf("no row %q", metric)
	return Row{}
}

// checkFigures verifies the properties that a renderer needs.
func checkFigures(t *testing.T, figures []Figure) {
	t.Helper()
	for _, f := range figures {
		if f.Title == "" || len(f.Series) == 0 || strings.ContainsAny(f.Name, "/\\ ") {
			t.Errorf("figure %+v: want a title, series and a name fit for a file", f)
		}
		for _, s := range f.Series {
			if len(s.Points) == 0 {
				t.Errorf("%s: series %q has no points", f.Name, s.Name)
			}
			for i, p := range s.Points {
				if f.X.Log && p.X <= 0 || f.Y.Log && p.Y <= 0 || i > 0 && p.X < s.Points[i-1].X {
					t.Errorf("%s: series %q, point %d %+v: not drawable", f.Name, s.Name, i, p)
				}
			}
		}
	}
}

// Every column of table 8 has a value for each class, and every run has a published column.
func TestTable8IsComplete(t *testing.T) {
	t.Parallel()
	classes := s3SizeClasses()
	for _, c := range append(s3FatControls(), s3FatReadings()...) {
		if got := len(s3Table8()[c.column]); got != len(classes) || len(classes) != 20 {
			t.Errorf("%s: %d figures for %d classes", c.label, got, len(classes))
		}
		if _, err := c.build(); err != nil {
			t.Errorf("%s: %v", c.label, err)
		}
	}
	for _, name := range s3Selected() {
		if !slices.ContainsFunc(classes, func(c sizeClass) bool { return c.name == name }) {
			t.Errorf("no class %s", name)
		}
	}
}

// A predictor trained with samples of a small incast has a smaller error than the assumption of a constant RTT, and speeds up
// the controller. The rows are those of S3's table 1.
func TestPredictorLearnsInThePacketSimulator(t *testing.T) {
	t.Parallel()
	sizes := s3Sizes()
	for i := range sizes {
		sizes[i] /= 10
	}
	got, err := trainPredictor(t.Context(), 3, sizes)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d rows: %.2f %% trained, %.2f %% built in, %.2f %% no change", got.used, got.sampled, got.last, got.builtIn, got.still)
	if got.last >= got.still || got.last > 8 || got.builtIn >= got.still {
		t.Errorf("errors: trained %.2f %%, built in %.2f %%, no change %.2f %%: want prediction to help", got.last, got.builtIn, got.still)
	}
	rows := errorRows([]*trained{got})
	first, last := metricOf(t, rows, "test-mape-round01"), metricOf(t, rows, "test-mape-round19")
	if *first.Published != 8.1 || *last.Published != 3.6 || last.Ours >= first.Ours {
		t.Errorf("rounds 1 and 19: %+v and %+v", first, last)
	}
	checkFigures(t, []Figure{trainingFigure([]*trained{got})})
}

func TestEffectIsRelativeToTheControllerWithoutPrediction(t *testing.T) {
	t.Parallel()
	got := effectOf(incastFigures{rate: 15, p99: 8, most: 30, mean: 5}, incastFigures{rate: 10, p99: 10, most: 24, mean: 5})
	want := s3Effect{50, -20, 25, 0}
	closeTo(t, "rate", got.rate, want.rate, 1e-9)
	closeTo(t, "p99", got.p99, want.p99, 1e-9)
	closeTo(t, "most", got.most, want.most, 1e-9)
	if got.mean != 0 {
		t.Errorf("mean %v, want 0", got.mean)
	}
	// S3's percentages follow from its tables in 4.2.3 and 5.
	_, p := s3Incasts()
	closeTo(t, "published rate", 100*(p[0].rate/p[1].rate-1), publishedEffect().rate, 0.001)
	closeTo(t, "published mean RTT", 100*(p[0].mean/p[1].mean-1), publishedEffect().mean, 0.01)
}

func TestRanksCountSmallerValues(t *testing.T) {
	t.Parallel()
	v := []float64{3, 1, 3, 2}
	for i, want := range []float64{3, 1, 3, 2} {
		if got := rankOf(v, i); got != want {
			t.Errorf("rank of element %d: %v, want %v", i, got, want)
		}
	}
}

func TestComparisonChartKeepsTheRequestedOrder(t *testing.T) {
	t.Parallel()
	rows := []Row{published("a", 1, 2, "", ""), unpublished("b", 3, "", ""), published("c", 4, 5, "", "")}
	f := comparisonChart("n", "t", Axis{}, rows, []string{"c", "b", "a"})
	if !slices.Equal(f.Categories, []string{"c", "a"}) || f.Series[0].Points[0] != (Point{0, 4}) || f.Series[1].Points[1] != (Point{1, 2}) {
		t.Errorf("got %+v", f)
	}
}
