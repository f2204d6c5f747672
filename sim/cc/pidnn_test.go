package cc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/predict"
)

// buildPIDNN returns the algorithm with one slot in use.
func buildPIDNN(tb testing.TB, v Values) (*pidnn, Control) {
	tb.Helper()
	s := PIDNN(nil)
	a, err := s.Build(v)
	if err != nil {
		tb.Fatal(err)
	}
	a.Reserve(2)
	c := a.Start(0, 0, pidnnFlow())
	return a.(*pidnn), c
}

func pidnnFlow() *Flow {
	return &Flow{
		LineRate: 100 * quantity.Gbps, BaseRTT: 4 * quantity.Microsecond, BDP: 50_000, Payload: 1000, Wire: 1048,
		Hops: 2, Weight: 1,
	}
}

// sampled passes RTT samples, us, to the flow in slot 0, and returns its rate, Gbit/s.
func sampled(p *pidnn, c *Control, rtts ...float64) float64 {
	for _, r := range rtts {
		seq := p.flows.at(0).mark + 1
		a := Ack{RTT: quantity.Picoseconds(math.Round(r * 1e6)), Seq: seq, Next: seq + 50_000, Acked: 1000, Packets: 1}
		p.Ack(0, &a, c)
	}
	return c.Rate / 1e9
}

func closeTo(tb testing.TB, what string, got, want float64) {
	tb.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		tb.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

func TestPIDNNThreeStepsByHand(t *testing.T) {
	t.Parallel()
	p, c := buildPIDNN(t, Values{"predictor": 0})
	closeTo(t, "first rate", c.Rate, 10e9)
	// e = 0.2: P 0.2, I 0.2, D 0: -0.0716 - 0.012.
	closeTo(t, "rate after 6 us", sampled(p, &c, 6), 10*(1-0.0836))
	// e = 0.5: P 0.5, I 0.35, D 0.3: -0.179 - 0.021 + 0.012.
	closeTo(t, "rate after 7.5 us", sampled(p, &c, 7.5), 10*(1-0.0836)*(1-0.188))
	// e = -0.2: P -0.2, I 0.5/3, D -0.7: 0.0716 - 0.01 - 0.028.
	closeTo(t, "rate after 4 us", sampled(p, &c, 4), 10*(1-0.0836)*(1-0.188)*(1+0.0336))
}

func TestPIDNNUsesTheGainsOfS3OrTheConfiguredOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    Values
		want [3]float64
	}{
		{Values{}, [3]float64{-0.358, -0.060, 0.040}},
		{Values{"kp": -9}, [3]float64{-0.358, -0.060, 0.040}},
		{Values{"gains": gainsInitial}, [3]float64{-0.2, -0.05, 0.1}},
		{Values{"gains": gainsGiven, "kp": -1, "ki": 0.5}, [3]float64{-1, 0.5, 0.040}},
	} {
		p, _ := buildPIDNN(t, c.v)
		var g [6]float64
		p.Read(0, g[:])
		if [3]float64(g[3:]) != c.want {
			t.Errorf("%v: gains %v, want %v", c.v, g[3:], c.want)
		}
	}
}

func TestPIDNNHoldsEachStepWithinItsClamps(t *testing.T) {
	t.Parallel()
	fast := Values{"predictor": 0, "gains": gainsGiven, "kp": -10, "ki": 0, "kd": 0}
	for _, c := range []struct {
		name string
		set  Values
		rtt  float64
		want float64
	}{
		{"down by 0.6 at most", nil, 50, 4},
		{"up by 0.5 at most (equation 20)", nil, 1, 15},
		{"up by 0.6 at most (table 3)", Values{"delta_max": 0.6}, 1, 16},
		{"decrease by delta_min at most", Values{"delta_min": -0.1}, 50, 9},
		{"within both", Values{}, 5.1, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := Values{}
			for _, from := range []Values{fast, c.set} {
				for name, x := range from {
					v[name] = x
				}
			}
			p, ctl := buildPIDNN(t, v)
			closeTo(t, "rate", sampled(p, &ctl, c.rtt), c.want)
		})
	}
}

func TestPIDNNKeepsRatesWithinTheirBounds(t *testing.T) {
	t.Parallel()
	p, c := buildPIDNN(t, Values{})
	closeTo(t, "lowest", sampled(p, &c, slices.Repeat([]float64{80}, 40)...), 1)
	// The mean error retains those samples for a long time, so a new flow tests the other bound.
	closeTo(t, "limited by the mean error", sampled(p, &c, slices.Repeat([]float64{4}, 400)...), 1)
	c = p.Start(0, 0, pidnnFlow())
	closeTo(t, "highest", sampled(p, &c, slices.Repeat([]float64{4}, 400)...), 100)
	slow := pidnnFlow()
	slow.LineRate = 25 * quantity.Gbps
	c = p.Start(0, 0, slow)
	closeTo(t, "at 25 Gbit/s", sampled(p, &c, slices.Repeat([]float64{4}, 400)...), 25)
	slow.LineRate = 5 * quantity.Gbps
	closeTo(t, "start at 5 Gbit/s", p.Start(0, 0, slow).Rate/1e9, 5)
	slow.LineRate = 400 * quantity.Mbps
	closeTo(t, "start below the lowest rate", p.Start(0, 0, slow).Rate/1e9, 0.4)
}

func TestPIDNNSamplesOneRoundTripAtATime(t *testing.T) {
	t.Parallel()
	p, c := buildPIDNN(t, Values{"predictor": 0})
	at := func(seq, next int64, rtt quantity.Picoseconds) {
		p.Ack(0, &Ack{RTT: rtt, Seq: seq, Next: next, Packets: 1}, &c)
	}
	at(1000, 40_000, 6*quantity.Microsecond) // the first probe is the first packet
	closeTo(t, "rate", c.Rate/1e9, 9.164)
	for seq := int64(2000); seq <= 40_000; seq += 1000 {
		at(seq, seq+40_000, 9*quantity.Microsecond) // these packets left before the next probe
	}
	closeTo(t, "rate", c.Rate/1e9, 9.164)
	at(41_000, 90_000, 0) // no measurement
	closeTo(t, "rate", c.Rate/1e9, 9.164)
	at(41_000, 90_000, 9*quantity.Microsecond)
	if n := p.flows.at(0).n; n != 2 || c.Rate >= 9.164e9 {
		t.Errorf("%d samples, rate %v; want 2 and a lower rate", n, c.Rate)
	}
}

func TestPIDNNSteersThePredictedRTTOnceThereAreThreeFeatures(t *testing.T) {
	t.Parallel()
	m, err := predict.Default()
	if err != nil {
		t.Fatal(err)
	}
	rtts := []float64{5, 6, 8, 11, 9, 4.5}
	p, c := buildPIDNN(t, Values{})
	plain, pc := buildPIDNN(t, Values{"predictor": 0})
	var f predict.Filter
	var sum, last float64
	rate := 10.0
	for i, r := range rtts {
		f.Add(r)
		expect := r
		if i >= 2 {
			expect = (1 + m.Predict(f.Features())) * f.Smoothed()
		}
		e := (expect - 5) / 5
		if i == 0 {
			last = e
		}
		sum += e
		delta := -0.358*e - 0.060*sum/float64(i+1) + 0.040*(e-last)
		last = e
		rate *= 1 + max(-0.6, min(0.5, delta))
		closeTo(t, fmt.Sprintf("rate after sample %d", i), sampled(p, &c, r), rate)
		var g [6]float64
		p.Read(0, g[:])
		closeTo(t, "gauge of the prediction", g[2], expect)
		closeTo(t, "gauge of the smoothed RTT", g[1], f.Smoothed())
		if same := sampled(plain, &pc, r) == c.Rate/1e9; same != (i < 2) {
			t.Errorf("sample %d: the same rate without prediction, %v", i, same)
		}
	}
}

func TestPIDNNWithAModelOfItsOwn(t *testing.T) {
	t.Parallel()
	rows := make([]predict.Row, 100)
	for i := range rows {
		rows[i].L = 1 // the label is always twice the smoothed RTT
	}
	o := predict.DefaultOptions(1)
	o.Rounds, o.TrainRows, o.TestRows, o.Rate = 20, 80, 20, 0.02
	m, _, err := predict.Train(rows, o)
	if err != nil {
		t.Fatal(err)
	}
	s := PIDNN(m)
	a, err := s.Build(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := a.(*pidnn)
	p.Reserve(1)
	c := p.Start(0, 0, pidnnFlow())
	sampled(p, &c, 5, 5, 5)
	if got := p.flows.at(0).predicted; math.Abs(got-10) > 0.3 {
		t.Errorf("predicts %.2f us, want 10, as in the training data", got)
	}
}

func TestPIDNNTrainsItsGainsDownTheGradient(t *testing.T) {
	t.Parallel()
	p, c := buildPIDNN(t, Values{"predictor": 0, "gains": gainsInitial, "train": trainFlow, "slope": 0.001})
	gains := func() [3]float64 { return p.gains[p.flows.at(0).gains].k }
	sampled(p, &c, 6) // P 0.2, I 0.2, D 0 at 10 Gbit/s: delta -0.05, rate 9.5
	if g := gains(); g != pidInitial {
		t.Errorf("gains %v before the first outcome", g)
	}
	sampled(p, &c, 8) // 3 us above the target: slopes 3*0.001*10*{0.2, 0.2, 0}, mu 0.01
	g := gains()
	closeTo(t, "kp", g[0], -0.2-0.01*0.006)
	closeTo(t, "ki", g[1], -0.05-0.01*0.006)
	closeTo(t, "kd", g[2], 0.1)
	// The step after 8 us has P 0.6, I 0.4, D 0.4 at 9.5 Gbit/s. The next sample is 4 us, 1 us below the target: mu
	// 0.01/sqrt(2).
	sampled(p, &c, 4)
	mu := 0.01 / math.Sqrt2
	h := gains()
	closeTo(t, "kp", h[0], g[0]+mu*0.0095*0.6)
	closeTo(t, "ki", h[1], g[1]+mu*0.0095*0.4)
	closeTo(t, "kd", h[2], g[2]+mu*0.0095*0.4)
	// With S3's slope, near 1, each component reaches its limit: each gain moves by mu/10.
	p, c = buildPIDNN(t, Values{"predictor": 0, "gains": gainsInitial, "train": trainFlow})
	sampled(p, &c, 6, 8)
	g = gains()
	closeTo(t, "clipped kp", g[0], -0.2-0.001)
	closeTo(t, "clipped ki", g[1], -0.05-0.001)
	closeTo(t, "kd without a slope", g[2], 0.1)
}

func TestPIDNNTrainsASetForEachFlowOrHostOrForAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		train  float64
		shared [3]bool // whether flows 1, 2 and 3 share their gains with flow 0
	}{
		{trainFlow, [3]bool{false, false, false}},
		{trainHost, [3]bool{true, false, false}},
		{trainAll, [3]bool{true, true, true}},
	} {
		spec := PIDNN(nil)
		a, err := spec.Build(Values{"train": c.train, "gains": gainsInitial})
		if err != nil {
			t.Fatal(err)
		}
		p := a.(*pidnn)
		p.Reserve(4)
		var ctl Control
		for slot, host := range []uint16{3, 3, 65535, 0} {
			f := pidnnFlow()
			f.Host = host
			ctl = p.Start(int32(slot), 0, f)
		}
		sampled(p, &ctl, 6, 8, 9)
		var trained, other [6]float64
		p.Read(0, trained[:])
		if [3]float64(trained[3:]) == pidInitial {
			t.Errorf("train %v: the gains are unchanged", c.train)
		}
		for i, shared := range c.shared {
			p.Read(int32(i+1), other[:])
			if same := [3]float64(other[3:]) == [3]float64(trained[3:]); same != shared {
				t.Errorf("train %v: flow %d has the gains of flow 0: %v", c.train, i+1, same)
			}
			if !shared && [3]float64(other[3:]) != pidInitial {
				t.Errorf("train %v: flow %d has gains %v, want the initial ones", c.train, i+1, other[3:])
			}
		}
		p.Start(0, 0, pidnnFlow()) // a new flow of host 0
		p.Read(0, other[:])
		if kept := [3]float64(other[3:]) != pidInitial; kept != (c.train == trainAll) {
			t.Errorf("train %v: a new flow has gains %v", c.train, other[3:])
		}
	}
}

func TestPIDNNMovesTheTargetAfterSevenSamplesOnOneSide(t *testing.T) {
	t.Parallel()
	six := func(x float64) []float64 { return slices.Repeat([]float64{x}, 6) }
	for _, c := range []struct {
		name string
		mode float64
		rtts []float64
		want float64
	}{
		{"off", rttchOff, slices.Repeat([]float64{9}, 20), 5},
		{"six samples above are too few", rttchBoth, six(9), 5},
		{"seven above", rttchBoth, append(six(9), 9), 9},
		{"seven below", rttchBoth, append(six(4), 4), 4},
		{"the mean counts all samples of the flow", rttchBoth, append([]float64{1, 9}, append(six(8), 8)...), 66.0 / 9},
		{"a sample on the other side restarts the count", rttchBoth, append(append(six(9), 4), six(9)...), 5},
		{"the count restarts after a move", rttchBoth, append(append([]float64{9}, six(9)...), six(10)...), 9},
		{"seven more samples move the target again", rttchBoth, append(append(append([]float64{9}, six(9)...), six(16)...), 16), 12.5},
		{"printed: seven samples above", rttchPrinted, append(six(9), 9), 9},
		{"printed: samples below never move the target", rttchPrinted, slices.Repeat([]float64{4}, 50), 5},
		{"printed: a first sample below counts", rttchPrinted, append([]float64{4}, six(9)...), 58.0 / 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ctl := buildPIDNN(t, Values{"rttch": c.mode})
			sampled(p, &ctl, c.rtts...)
			closeTo(t, "target", p.flows.at(0).target, c.want)
		})
	}
}

// Deviations count relative to the target at the time of the sample, even after the target has moved. After 7 samples of 9
// and 7 of 16, the sums are 7 times 4 and 7 times 7. Their mean, 5.5, is added to the target of 9.
func TestPIDNNRunningMeanMovesTheTargetOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rtts []float64
		want float64
	}{
		{"six samples above are too few", slices.Repeat([]float64{9}, 6), 5},
		{"the first move is to the current mean", slices.Repeat([]float64{9}, 7), 9},
		{"the second move adds earlier deviations", append(slices.Repeat([]float64{9}, 7), slices.Repeat([]float64{16}, 7)...), 14.5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ctl := buildPIDNN(t, Values{"rttch": rttchBoth, "rttch_mean": rttchRunning})
			sampled(p, &ctl, c.rtts...)
			closeTo(t, "target", p.flows.at(0).target, c.want)
		})
	}
}

// A sum of deviations from earlier targets could move the target below zero. The error would then change its sign, and an RTT
// of 5/3 us would cause a division by zero. The target therefore stops at the base RTT, and the rate stays finite and
// positive.
func TestPIDNNRunningMeanStopsAtTheBaseRTT(t *testing.T) {
	t.Parallel()
	for _, rtt := range []float64{1, 1.5, 5.0 / 3, 2} {
		for _, base := range []quantity.Picoseconds{0, 50 * quantity.Nanosecond, quantity.Microsecond} {
			p, _ := buildPIDNN(t, Values{"rttch": rttchBoth, "rttch_mean": rttchRunning})
			f := pidnnFlow()
			f.BaseRTT = base
			ctl := p.Start(0, 0, f)
			least := max(0.1, base.Seconds()*1e6)
			stopped := false
			for range 300 {
				rate := sampled(p, &ctl, rtt)
				stopped = stopped || p.flows.at(0).target == least
				if target := p.flows.at(0).target; !(target >= least) || !(rate >= 1 && rate <= 100) {
					t.Fatalf("RTT %v us, base %s: target %v us, rate %v Gbit/s", rtt, base, target, rate)
				}
			}
			if !stopped {
				t.Errorf("RTT %v us, base %s: the limit of the target never applied", rtt, base)
			}
		}
	}
}

func TestBoundRate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, low, line, want float64 }{
		{5, 1, 10, 5}, {0.5, 1, 10, 1}, {50, 1, 10, 10}, {5, 20, 10, 10}, {math.NaN(), 1, 10, 1}, {math.NaN(), 20, 10, 10},
		{math.Inf(1), 1, 10, 10}, {math.Inf(-1), 1, 10, 1},
	} {
		if got := boundRate(c.rate, c.low, c.line); got != c.want {
			t.Errorf("%v within %v and %v: %v, want %v", c.rate, c.low, c.line, got, c.want)
		}
	}
}

// Hosts share state only with one set of gains for all flows.
func TestPIDNNSharesStateWhenItTrainsOneSet(t *testing.T) {
	t.Parallel()
	for train := trainOff; train <= trainAll; train++ {
		p, _ := buildPIDNN(t, Values{"train": float64(train)})
		if p.Traits().Shared != (train == trainAll) {
			t.Errorf("train %d: %+v", train, p.Traits())
		}
	}
}

func TestPIDNNWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window float64
		want   [2]int64 // at the start, and at 9.164 Gbit/s
	}{{windowNone, [2]int64{0, 0}}, {windowFixed, [2]int64{50_000, 50_000}}, {windowVariable, [2]int64{5000, 4582}}} {
		p, ctl := buildPIDNN(t, Values{"predictor": 0, "window": c.window})
		got := [2]int64{ctl.Window}
		sampled(p, &ctl, 6)
		if got[1] = ctl.Window; got != c.want {
			t.Errorf("window %v: %v bytes, want %v", c.window, got, c.want)
		}
	}
	p, _ := buildPIDNN(t, Values{"window": windowVariable})
	f := pidnnFlow()
	f.BDP = 3
	if c := p.Start(0, 0, f); c.Window != 1 {
		t.Errorf("window %d for a very short path, want 1: 0 would mean no limit", c.Window)
	}
}

func TestPIDNNRefusesContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    Values
		want string
	}{
		{Values{"min_rate": 2e9, "max_rate": 1e9}, "min_rate 2 Gbit/s above max_rate 1 Gbit/s"},
		{Values{"delta_min": 0, "delta_max": 0}, "could never change"},
		{Values{"target": 0}, "target 0 ps: want a duration from 100 ns"},
		{Values{"delta_min": -1}, "delta_min -1"},
		{Values{"train": 4}, "one of off, flow, host, all"},
		{Values{"learning": 1}, `parameter "learning"`},
	} {
		s := PIDNN(nil)
		if _, err := s.Build(c.v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.v, err, c.want)
		}
	}
	if _, err := ByName("pidnn"); err != nil {
		t.Error(err)
	}
}

func TestPIDNNStaysWithinItsBoundsForAnyRTT(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := Values{
			"train": float64(rapid.IntRange(trainOff, trainAll).Draw(rt, "train")), "window": windowVariable,
			"rttch": float64(rapid.IntRange(rttchOff, rttchPrinted).Draw(rt, "rttch")), "slope": rapid.Float64Range(-100, 100).Draw(rt, "slope"),
			"gains": gainsGiven, "kp": rapid.Float64Range(-100, 100).Draw(rt, "kp"), "kd": rapid.Float64Range(-100, 100).Draw(rt, "kd"),
		}
		p, c := buildPIDNN(t, v)
		q, d := buildPIDNN(t, v)
		for _, r := range rapid.SliceOfN(rapid.Float64Range(0.001, 1e9), 1, 50).Draw(rt, "rtt") {
			before := c.Rate
			sampled(p, &c, r)
			sampled(q, &d, r)
			if !(c.Rate >= 1e9 && c.Rate <= 100e9) || c.Window < 1 || c.Window > 50_000 {
				rt.Fatalf("after %v us: %+v", r, c)
			}
			if f := c.Rate / before; c.Rate > 1e9 && f < 0.4*(1-1e-12) || f > 1.5*(1+1e-12) {
				rt.Fatalf("after %v us: rate times %v", r, f)
			}
			if c != d {
				rt.Fatalf("two identical flows differ: %+v, %+v", c, d)
			}
		}
		var g [6]float64
		p.Read(0, g[:])
		for i, x := range g {
			if math.IsNaN(x) || math.IsInf(x, 0) || len(g) != len(p.Gauges()) {
				rt.Fatalf("gauge %d is %v", i, x)
			}
		}
	})
}

func TestPIDNNDoesNotAllocate(t *testing.T) {
	for _, train := range []float64{trainOff, trainFlow, trainHost} {
		p, c := buildPIDNN(t, Values{"train": train, "rttch": rttchBoth, "window": windowVariable})
		i := 0
		if n := testing.AllocsPerRun(200, func() {
			sampled(p, &c, 4+float64(i%5))
			i++
		}); n != 0 {
			t.Errorf("train %v: %v allocations per sample", train, n)
		}
	}
}

func BenchmarkPIDNNSample(b *testing.B) {
	p, c := buildPIDNN(b, nil)
	a := Ack{RTT: 5 * quantity.Microsecond, Packets: 1}
	b.ReportAllocs()
	for b.Loop() {
		a.Seq++
		a.Next = a.Seq - 1
		a.RTT ^= 1 << 18
		p.Ack(0, &a, &c)
	}
}

func BenchmarkPIDNNAckBetweenSamples(b *testing.B) {
	p, c := buildPIDNN(b, nil)
	a := Ack{RTT: 5 * quantity.Microsecond, Packets: 1}
	b.ReportAllocs()
	for b.Loop() {
		p.Ack(0, &a, &c)
	}
}
