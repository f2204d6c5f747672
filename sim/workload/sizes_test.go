package workload_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlane/sim"
	"fairlane/sim/workload"
)

func TestMeansOfTheBuiltInSizes(t *testing.T) {
	t.Parallel()
	want := map[string]float64{
		// Sums over segments of (middle of the segment) x (its fraction of the flows), calculated by hand.
		"websearch":       1_711_250,
		"facebook-hadoop": 120_420.75,
		"data-mining":     1460 * (0.5*1 + 0.1*1.5 + 0.1*2.5 + 0.1*5 + 0.1*137 + 0.05*1187 + 0.04*34_387 + 0.01*366_667),
		"alibaba-storage": 40_869.8,
		"google-rpc":      2918.55,
	}
	all := workload.BuiltinSizes()
	if len(all) != len(want) {
		t.Fatalf("%d distributions, want %d", len(all), len(want))
	}
	for _, s := range all {
		if math.Abs(s.Mean()-want[s.Name()]) > 1e-6*s.Mean() {
			t.Errorf("%s: mean %v, want %v", s.Name(), s.Mean(), want[s.Name()])
		}
	}
}

func TestBuiltInSizesPassTheirOwnChecks(t *testing.T) {
	t.Parallel()
	for _, s := range workload.BuiltinSizes() {
		again, err := workload.NewSizes(s.Name(), s.Publication(), s.Knots())
		if err != nil {
			t.Error(err)
			continue
		}
		if math.Abs(again.Mean()-s.Mean()) > 1e-9*s.Mean() {
			t.Errorf("%s: the recorded mean is %v, the mean of the knots %v", s.Name(), s.Mean(), again.Mean())
		}
		if s.Publication() == "" {
			t.Errorf("%s names no publication", s.Name())
		}
		if got, err := workload.SizesByName(s.Name()); err != nil || got.Mean() != s.Mean() {
			t.Errorf("by name %q: %v, %v", s.Name(), got, err)
		}
	}
	_, err := workload.SizesByName("pareto")
	if err == nil || !strings.Contains(err.Error(), `"pareto": want one of websearch, facebook-hadoop, data-mining, alibaba-storage, google-rpc`) {
		t.Error(err)
	}
}

func TestThinnedGoogleRPCKeepsTheMeanOfTheLongTable(t *testing.T) {
	t.Parallel()
	s := workload.GoogleRPC()
	if n := len(s.Knots()); n > 40 {
		t.Errorf("%d knots, want at most 40", n)
	}
	if r := s.Mean() / workload.MeanOfLongGoogleRPC; math.Abs(r-1) > 0.01 {
		t.Errorf("mean %v is %.4f of the mean of the published table, want within 1 %%", s.Mean(), r)
	}
	// Points of the published table that are not knots of GoogleRPC.
	for bytes, percent := range map[float64]float64{40: 12.0503, 96: 28.6139, 128: 35.1573, 171: 42.4737, 256: 49.7901, 313: 60.2272, 402: 70.6643, 1024: 86.32, 4096: 93.4955, 8192: 96.4309} {
		if got := 100 * s.CDF(bytes); math.Abs(got-percent) > 1.3 {
			t.Errorf("%v bytes: %.2f %%, want %.2f within 1.3", bytes, got, percent)
		}
	}
}

// TestSamplesFollowTheKnots compares samples with their distribution. The largest distance (Kolmogorov and Smirnov) must not
// exceed the 1 % point, 1.63/√n.
func TestSamplesFollowTheKnots(t *testing.T) {
	t.Parallel()
	const n = 40_000
	for _, s := range workload.BuiltinSizes() {
		rng := sim.NewRNG(sim.Hash(7, uint64(len(s.Name()))))
		sample := make([]int64, n)
		for i := range sample {
			sample[i] = s.Sample(&rng)
		}
		slices.Sort(sample)
		worst := 0.0
		for i := range sample {
			if i+1 < n && sample[i+1] == sample[i] {
				continue
			}
			// Sizes are rounded to whole bytes, so "at most b bytes" means less than b + 1/2.
			worst = max(worst, math.Abs(float64(i+1)/n-s.CDF(float64(sample[i])+0.5)))
		}
		if worst > 1.63/math.Sqrt(n) {
			t.Errorf("%s: distance %.4f, want at most %.4f", s.Name(), worst, 1.63/math.Sqrt(n))
		}
	}
}

func TestHalfOfDataMiningFlowsAreOnePacket(t *testing.T) {
	t.Parallel()
	s := workload.DataMining()
	for u, want := range map[float64]int64{0: 1460, 0.25: 1460, 0.5: 1460, 0.55: 2190, 0.6: 2920, 1: 666_667 * 1460} {
		if got := s.Quantile(u); got != want {
			t.Errorf("quantile %v: %d, want %d", u, got, want)
		}
	}
	if got := s.CDF(1459); got != 0 {
		t.Errorf("CDF below a packet %v, want 0", got)
	}
	if got := s.CDF(1460); got != 0.5 {
		t.Errorf("CDF at a packet %v, want 0.5", got)
	}
}

func TestQuantilesAreClampedToTheRange(t *testing.T) {
	t.Parallel()
	s := workload.WebSearch()
	for u, want := range map[float64]int64{-1: 1, 0: 1, 2: 30_000_000, math.Inf(1): 30_000_000, math.Inf(-1): 1, 0.15: 10_000} {
		if got := s.Quantile(u); got != want {
			t.Errorf("quantile %v: %d, want %d", u, got, want)
		}
	}
	if got := s.Quantile(math.NaN()); got != 1 {
		t.Errorf("quantile of NaN: %d, want 1", got)
	}
}

func TestWrongKnotsAreNamed(t *testing.T) {
	t.Parallel()
	type knots = []workload.Knot
	for want, k := range map[string]knots{
		`sizes "x": 0 knots: want 1 to 4096`:                                                        nil,
		`sizes "x": 4097 knots: want 1 to 4096`:                                                     make(knots, 4097),
		`knot 2 (10 bytes, 90 %): the last knot: want 100 %`:                                        {{1, 0}, {10, 90}},
		`knot 1 (-1 bytes, 0 %): size -1: want 0 to 1125899906842624`:                               {{-1, 0}, {10, 100}},
		`knot 3 (20 bytes, 100 %): want more than the 20 bytes of the knot before`:                  {{0, 0}, {20, 50}, {20, 100}},
		`knot 2 (20 bytes, 40 %): want at least the 50 % of the knot before`:                        {{10, 50}, {20, 40}, {30, 100}},
		`knot 1 (0 bytes, 5 %): flows without bytes: want 0 % at 0 bytes`:                           {{0, 5}, {20, 100}},
		`knot 2 (20 bytes, 101 %): want 0 to 100 %`:                                                 {{0, 0}, {20, 101}},
		`knot 2 (20 bytes, NaN %): want 0 to 100 %`:                                                 {{0, 0}, {20, math.NaN()}, {30, 100}},
		`knot 1 (1125899906842625 bytes, 100 %): size 1125899906842625: want 0 to 1125899906842624`: {{workload.MaxBytes + 1, 100}},
	} {
		if _, err := workload.NewSizes("x", "", k); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if _, err := workload.FixedSize(0); err == nil {
		t.Error("flows of 0 bytes are accepted")
	}
}

// drawSizes draws any valid distribution.
func drawSizes(rt *rapid.T) *workload.Sizes {
	var knots []workload.Knot
	bytes, percent := rapid.Int64Range(0, 3).Draw(rt, "first"), 0.0
	if bytes > 0 {
		percent = rapid.Float64Range(0, 50).Draw(rt, "atom")
	}
	for range rapid.IntRange(0, 6).Draw(rt, "knots") {
		knots = append(knots, workload.Knot{Bytes: bytes, Percent: percent})
		bytes += rapid.Int64Range(1, 1_000_000).Draw(rt, "step")
		percent = min(100, percent+rapid.SampledFrom([]float64{0, 1e-9, 3, 17.5, 40}).Draw(rt, "rise"))
	}
	knots = append(knots, workload.Knot{Bytes: max(bytes, 1), Percent: 100})
	s, err := workload.NewSizes("drawn", "", knots)
	if err != nil {
		rt.Fatal(err)
	}
	return s
}

func TestQuantileInvertsTheDistribution(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSizes(rt)
		u := rapid.Float64Range(0, 1).Draw(rt, "u")
		v := rapid.Float64Range(u, 1).Draw(rt, "v")
		size := s.Quantile(u)
		knots := s.Knots()
		if size < 1 || size > knots[len(knots)-1].Bytes {
			rt.Fatalf("quantile %v: %d bytes", u, size)
		}
		if bigger := s.Quantile(v); bigger < size {
			rt.Fatalf("quantile %v is %d, quantile %v is %d", u, size, v, bigger)
		}
		// The CDF at the size plus half a byte reaches u. Half a byte below the size it does not exceed u, except at 1 byte,
		// the minimum.
		if got := s.CDF(float64(size) + 0.5); got < u-1e-9 {
			rt.Fatalf("quantile %v is %d, whose CDF is %v", u, size, got)
		}
		if got := s.CDF(float64(size) - 0.5001); size > 1 && got > u+1e-9 {
			rt.Fatalf("quantile %v is %d, but %v of all flows are smaller", u, size, got)
		}
	})
}

func TestMeanEqualsTheSampleMean(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSizes(rt)
		const n = 20_000
		sum := 0.0
		for i := range n { // the middle of each of n equal parts gives a mean without noise
			sum += float64(s.Quantile((float64(i) + 0.5) / n))
		}
		knots := s.Knots()
		if got, room := sum/n, 1+float64(knots[len(knots)-1].Bytes)/n; math.Abs(got-s.Mean()) > room {
			rt.Fatalf("mean of quantiles %v, Mean %v, knots %v", got, s.Mean(), knots)
		}
	})
}
