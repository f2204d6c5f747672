package stats_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
)

func TestJainByHand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{nil, 0}, {[]float64{0, 0}, 1}, {[]float64{3}, 1}, {[]float64{5, 5, 5}, 1}, {[]float64{1, 0, 0, 0}, 0.25}, {[]float64{1, 3}, 0.8}, {[]float64{1, 2}, 0.9},
		{[]float64{1, 1, 2, 2}, 0.9}, {[]float64{1e300, 1e300}, 1}, {[]float64{1e-300, 3e-300}, 0.8}, {[]float64{1, -1}, math.NaN()}, {[]float64{1, math.NaN()}, math.NaN()},
		{[]float64{1, math.Inf(1)}, math.NaN()},
	} {
		got := stats.Jain(c.v)
		if math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("Jain(%v) = %v, want %v", c.v, got, c.want)
		}
	}
}

func TestJainIsBetweenOneOverNAndOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 50).Draw(t, "values")
		j := stats.Jain(v)
		if j < 1/float64(len(v))-1e-9 || j > 1+1e-9 {
			t.Errorf("index %f of %d values", j, len(v))
		}
		scaled := make([]float64, len(v))
		for i := range v {
			scaled[i] = v[i] * 1024
		}
		if k := stats.Jain(scaled); math.Abs(k-j) > 1e-9 {
			t.Errorf("index %v, in another unit %v", j, k)
		}
	})
}

func TestShareErrors(t *testing.T) {
	t.Parallel()
	if stats.ShareError(5, 0) != 0 || stats.ShareError(0, 10) != 1 || stats.ShareError(15, 10) != 0.5 || stats.ShareError(5, 10) != 0.5 {
		t.Error("share error of 5/0, 0/10, 15/10 or 5/10")
	}
	const g = quantity.Gbps
	for _, c := range []struct {
		rates   []quantity.BitRate
		weights []quantity.Weight
		want    []float64
	}{
		{[]quantity.BitRate{4 * g, 2 * g, g}, []quantity.Weight{4000, 2000, 1000}, []float64{0, 0, 0}},
		{[]quantity.BitRate{5 * g, 5 * g}, []quantity.Weight{3000, 1000}, []float64{1.0 / 3, 1}},
		{[]quantity.BitRate{0, 0}, []quantity.Weight{1, 1}, []float64{0, 0}},
		{[]quantity.BitRate{10 * g, 0}, []quantity.Weight{1000, 1000}, []float64{1, 1}},
		{nil, nil, []float64{}},
	} {
		got, err := stats.WeightedShareErrors(c.rates, c.weights)
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
		if diff := cmp.Diff(c.want, got, near); err != nil || diff != "" {
			t.Errorf("%v by %v: %v\n%s", c.rates, c.weights, err, diff)
		}
	}
	for want, c := range map[string]struct {
		r []quantity.BitRate
		w []quantity.Weight
	}{
		"1 rates and 0 weights": {[]quantity.BitRate{1}, nil},
		"tenant 0: weight 0":    {[]quantity.BitRate{1}, []quantity.Weight{0}},
		"tenant 1: rate -1":     {[]quantity.BitRate{1, -1}, []quantity.Weight{1, 1}},
	} {
		if _, err := stats.WeightedShareErrors(c.r, c.w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestQuantileByNearestRank(t *testing.T) {
	t.Parallel()
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = i + 1
	}
	for p := range 101 {
		if got, ok := stats.Percentile(hundred, float64(p)); !ok || got != max(p, 1) {
			t.Errorf("percentile %d of 1..100 is %d", p, got)
		}
	}
	if got, _ := stats.Percentile([]string{"c", "a", "b"}, 50); got != "b" {
		t.Errorf("median %q", got)
	}
	if _, ok := stats.Percentile([]int(nil), 50); ok {
		t.Error("an empty slice has a median")
	}
	unsorted := []int{3, 1, 2}
	if _, ok := stats.Percentile(unsorted, 50); !ok || !slices.Equal(unsorted, []int{3, 1, 2}) {
		t.Error("the values were moved")
	}
}

func TestQuantileHasItsPartAtOrBelow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.IntRange(0, 50), 1, 100).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		slices.Sort(v)
		x, ok := stats.Quantile(v, q)
		atOrBelow, below := 0, 0
		for _, y := range v {
			if y <= x {
				atOrBelow++
			}
			if y < x {
				below++
			}
		}
		n := float64(len(v))
		if !ok || float64(atOrBelow) < q*n*(1-1e-9) || below > 0 && float64(below) >= q*n {
			t.Fatalf("%v-quantile %d of %v: %d at or below, %d below", q, x, v, atOrBelow, below)
		}
	})
}

func TestMomentsAgreeWithTwoPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1e3, 1e3), 1, 100).Draw(t, "values")
		cut := rapid.IntRange(0, len(v)).Draw(t, "cut")
		sum, squares := 0.0, 0.0
		for _, x := range v {
			sum += x
		}
		n := float64(len(v))
		for _, x := range v {
			squares += (x - sum/n) * (x - sum/n)
		}
		whole, merged := stats.MomentsOf(v), stats.MomentsOf(v[:cut])
		merged.Merge(stats.MomentsOf(v[cut:]))
		for name, m := range map[string]stats.Moments{"whole": whole, "merged": merged} {
			if m.Count() != uint64(len(v)) || math.Abs(m.Mean()-sum/n) > 1e-9 || math.Abs(m.Variance()-squares/n) > 1e-6 ||
				m.Min() != slices.Min(v) || m.Max() != slices.Max(v) {
				t.Fatalf("%s: %d samples, mean %v, variance %v; want %v, %v", name, m.Count(), m.Mean(), m.Variance(), sum/n, squares/n)
			}
			if len(v) > 1 && math.Abs(m.SampleVariance()-squares/(n-1)) > 1e-6 {
				t.Fatalf("%s: sample variance %v", name, m.SampleVariance())
			}
		}
	})
}

func TestMomentsByHand(t *testing.T) {
	t.Parallel()
	m := stats.MomentsOf([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if m.Mean() != 5 || m.StdDev() != 2 || m.CoV() != 0.4 || m.Variance() != 4 {
		t.Errorf("mean %v, deviation %v, variation %v", m.Mean(), m.StdDev(), m.CoV())
	}
	// The textbook formula, mean of squares minus square of the mean, gives 0 here.
	far := stats.MomentsOf([]float64{1e9 + 1, 1e9 + 2, 1e9 + 3})
	if math.Abs(far.Variance()-2.0/3) > 1e-6 {
		t.Errorf("variance far from zero %v", far.Variance())
	}
	var none stats.Moments
	if none.Mean() != 0 || none.Variance() != 0 || none.SampleVariance() != 0 || none.CoV() != 0 || none.Count() != 0 {
		t.Error("no samples have moments")
	}
}

func TestSlowdownsByFlowSize(t *testing.T) {
	t.Parallel()
	s, err := stats.NewSlowdowns([]int64{1000, 10000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		for _, size := range []int64{1, 1000} {
			if err := s.Record(size, 1+float64(i)/100); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Record(20000, 5); err != nil {
			t.Fatal(err)
		}
	}
	want := []stats.SlowdownRow{
		{Above: 0, UpTo: 1000, Flows: 200, Mean: 1.495, P50: 1.49, P95: 1.94, P99: 1.98, Max: 1.99},
		{Above: 10000, UpTo: 0, Flows: 100, Mean: 5, P50: 5, P95: 5, P99: 5, Max: 5},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 0.005*b })
	if diff := cmp.Diff(want, s.Rows(), near); diff != "" {
		t.Error(diff)
	}
	other, err := stats.NewSlowdowns([]int64{1000, 10000})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Record(5000, 1e30); err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(other); err != nil {
		t.Fatal(err)
	}
	if total := s.Total(); total.Flows != 301 || total.Max != stats.MaxSlowdown || len(s.Rows()) != 3 {
		t.Errorf("total %+v in %d rows", total, len(s.Rows()))
	}
}

func TestInvalidSlowdownsAreRejected(t *testing.T) {
	t.Parallel()
	for _, upper := range [][]int64{{0}, {-1}, {5, 5}, {5, 4}, make([]int64, stats.MaxSizeBins+1)} {
		if _, err := stats.NewSlowdowns(upper); err == nil {
			t.Errorf("%d bounds from %d are accepted", len(upper), upper[0])
		}
	}
	s, err := stats.NewSlowdowns(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		size     int64
		slowdown float64
	}{{0, 1}, {-1, 1}, {1, -1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		if err := s.Record(c.size, c.slowdown); err == nil {
			t.Errorf("slowdown %v of %d bytes is counted", c.slowdown, c.size)
		}
	}
	other, err := stats.NewSlowdowns([]int64{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Merge(other); err == nil || len(s.Rows()) != 0 {
		t.Errorf("merged other bounds: %v", err)
	}
}

func TestBoundsOfTheTables(t *testing.T) {
	t.Parallel()
	for name, b := range map[string][]int64{"Hadoop": stats.HadoopSizeBounds(), "decades": stats.DecadeSizeBounds()} {
		if _, err := stats.NewSlowdowns(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Twentieths of the published distribution, by linear interpolation between its points.
	sizes := []float64{100, 200, 300, 350, 400, 500, 600, 700, 1e3, 2e3, 7e3, 30e3, 50e3, 80e3, 120e3, 300e3, 1e6, 2e6, 10e6}
	percent := []float64{1, 2, 5, 15, 20, 30, 40, 50, 60, 67, 70, 72, 82, 87, 90, 95, 97.5, 99, 100}
	for i, got := range stats.HadoopSizeBounds() {
		p := float64(5 * (i + 1))
		k := 1
		for percent[k] < p {
			k++
		}
		want := sizes[k-1] + (sizes[k]-sizes[k-1])*(p-percent[k-1])/(percent[k]-percent[k-1])
		if math.Abs(float64(got)-want) > 1 {
			t.Errorf("%v %% of the flows have at most %v bytes, not %d", p, want, got)
		}
	}
}
