package stats_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/stats"
)

func histogram(t interface{ Fatal(...any) }, relativeError float64) *stats.Histogram {
	h, err := stats.NewHistogram(relativeError)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// samples draws values of all magnitudes: uniform draws would almost all be in the highest powers of two.
func samples(t *rapid.T, least int) []int64 {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) int64 {
		return rapid.Int64Min(0).Draw(t, "value") >> rapid.IntRange(0, 63).Draw(t, "shift")
	}), least, 200).Draw(t, "values")
}

func TestQuantilesAreWithinTheRelativeErrorOfTheNearestRank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom([]float64{stats.MinRelativeError, 0.001, 0.005, 0.01, 0.1, stats.MaxRelativeError}).Draw(t, "error")
		h := histogram(t, bound)
		if h.RelativeError() > bound || h.RelativeError() < bound/2 {
			t.Fatalf("relative error %v for %v", h.RelativeError(), bound)
		}
		values := samples(t, 1)
		for _, v := range values {
			h.Record(v)
		}
		slices.Sort(values)
		for _, q := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1, rapid.Float64Range(0, 1).Draw(t, "q")} {
			want, _ := stats.Quantile(values, q)
			got := h.Quantile(q)
			if math.Abs(float64(got)-float64(want)) > bound*float64(want) {
				t.Fatalf("quantile %v is %d, want %d within %v", q, got, want, bound)
			}
		}
		if h.Quantile(0) != values[0] || h.Quantile(1) != values[len(values)-1] || h.Min() != values[0] || h.Max() != values[len(values)-1] {
			t.Fatal("the ends are not exact")
		}
	})
}

func TestBucketsHoldEverySampleOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := histogram(t, 0.01)
		values := samples(t, 0)
		for _, v := range values {
			h.Record(v)
		}
		total, last := uint64(0), int64(-1)
		for b := range h.Buckets() {
			if b.Low <= last || b.High < b.Low || b.Middle() < b.Low || b.Middle() > b.High {
				t.Fatalf("bucket %+v after %d", b, last)
			}
			in := uint64(0)
			for _, v := range values {
				if v >= b.Low && v <= b.High {
					in++
				}
			}
			total += b.Count
			if in != b.Count || total != b.Cumulative {
				t.Fatalf("bucket %+v holds %d of the samples, %d so far", b, in, total)
			}
			last = b.High
		}
		if total != uint64(len(values)) || h.Count() != total {
			t.Fatalf("%d samples in buckets, %d counted, %d recorded", total, h.Count(), len(values))
		}
	})
}

func TestMergingIsRecordingTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two, both := histogram(t, 0.01), histogram(t, 0.01), histogram(t, 0.01)
		for _, v := range samples(t, 0) {
			one.Record(v)
			both.Record(v)
		}
		for _, v := range samples(t, 0) {
			two.RecordN(v, 3)
			both.RecordN(v, 3)
		}
		if err := one.Merge(two); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(both, one, cmp.AllowUnexported(stats.Histogram{})); diff != "" {
			t.Fatalf("recorded together, merged:\n%s", diff)
		}
	})
}

func TestMeanIsExactWhereTheSumExceedsAnInt64(t *testing.T) {
	t.Parallel()
	h := histogram(t, 0.01)
	h.RecordN(math.MaxInt64, 1000)
	if got := h.Mean(); got != math.MaxInt64 {
		t.Errorf("mean %v", got)
	}
	h.Reset()
	h.Record(1)
	h.Record(2)
	if got := h.Mean(); got != 1.5 || h.Min() != 1 || h.Max() != 2 || h.Count() != 2 {
		t.Errorf("after a reset: mean %v of %d from %d to %d", got, h.Count(), h.Min(), h.Max())
	}
}

func TestEmptyAndNegative(t *testing.T) {
	t.Parallel()
	h := histogram(t, 0.01)
	if h.Mean() != 0 || h.Quantile(0.5) != 0 || h.Min() != 0 || h.Max() != 0 || h.Count() != 0 {
		t.Error("an empty histogram is not zero")
	}
	h.RecordN(7, 0)
	if h.Count() != 0 {
		t.Error("no samples were counted")
	}
	h.Record(-5)
	if h.Count() != 1 || h.Quantile(0.5) != 0 || h.Max() != 0 {
		t.Error("a negative value is not counted as zero")
	}
}

func TestQuantileOutOfRangeIsTheEnd(t *testing.T) {
	t.Parallel()
	h := histogram(t, 0.01)
	h.Record(10)
	h.Record(20)
	h.Record(30)
	for q, want := range map[float64]int64{-1: 10, math.Inf(-1): 10, 2: 30, math.Inf(1): 30, math.NaN(): 30, 0.5: 20} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}

func TestSummaryIsInTheUnitAskedFor(t *testing.T) {
	t.Parallel()
	h := histogram(t, 0.01)
	for v := range int64(100) {
		h.Record((v + 1) * 1000)
	}
	got := h.Summary(1000)
	want := stats.Summary{Count: 100, Mean: 50.5, Min: 1, P50: 50, P90: 90, P95: 95, P99: 99, P999: 100, Max: 100}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 0.01*b })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Error(diff)
	}
	if plain := h.Summary(math.NaN()); plain.Max != 100000 {
		t.Errorf("unit not-a-number: %+v", plain)
	}
}

func TestInvalidHistogramsAreRejected(t *testing.T) {
	t.Parallel()
	for _, e := range []float64{0, -1, 0.0001, 0.3, math.NaN(), math.Inf(1)} {
		if _, err := stats.NewHistogram(e); err == nil || !strings.Contains(err.Error(), "want 0.0005 to 0.25") {
			t.Errorf("relative error %v: %v", e, err)
		}
	}
	if err := histogram(t, 0.01).Merge(histogram(t, 0.1)); err == nil {
		t.Error("histograms of different layouts are merged")
	}
}

func TestRecordingAllocatesNothing(t *testing.T) {
	h := histogram(t, 0.01)
	v := int64(1)
	if n := testing.AllocsPerRun(1000, func() { h.Record(v); v = v*7 + 1 }); n != 0 {
		t.Errorf("%v allocations a sample", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	h := histogram(b, stats.DefaultRelativeError)
	b.ReportAllocs()
	v := int64(1)
	for b.Loop() {
		h.Record(v)
		v = (v*6364136223846793005 + 1442695040888963407) & math.MaxInt64
	}
}
