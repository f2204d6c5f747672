package qos_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/ccconfig/qos"
)

func TestWeightsOfWholeRatiosAreExactAndSmall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shares []float64
		want   []uint8
	}{
		{[]float64{5}, []uint8{1}},
		{[]float64{2, 2}, []uint8{1, 1}},
		{[]float64{4, 2, 1}, []uint8{4, 2, 1}},
		{[]float64{16, 1, 1}, []uint8{16, 1, 1}},
		{[]float64{1.5, 1}, []uint8{3, 2}},
		{[]float64{100, 1}, []uint8{100, 1}},
	} {
		if got, worst := qos.Weights(c.shares); !slices.Equal(got, c.want) || worst > 1e-12 {
			t.Errorf("Weights(%v) = %v with error %g, want %v", c.shares, got, worst, c.want)
		}
	}
	if got, worst := qos.Weights([]float64{400, 1}); got[1] != 1 || worst < 2.9 {
		t.Errorf("400:1 gives %v with error %g: want the error of a ratio that weights cannot have", got, worst)
	}
}

func TestWeightsReportTheirError(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Float64Range(1, 50), 1, 8).Draw(t, "shares")
		weights, worst := qos.Weights(shares)
		most, top := slices.Max(shares), slices.Max(weights)
		for i, w := range weights {
			if err := (qos.QueueWeight{Weight: w}).Validate(); err != nil {
				t.Fatal(err)
			}
			if off := math.Abs(float64(w)/float64(top)*most/shares[i] - 1); off > worst+1e-9 {
				t.Fatalf("%v as %v: error %g of share %d, reported %g", shares, weights, off, i, worst)
			}
		}
	})
}

func TestPercentsSumToAHundredInTheOrderOfShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shares := rapid.SliceOfN(rapid.Float64Range(0.001, 1000), 1, 8).Draw(t, "shares")
		percents, sum := qos.Percents(shares), 0
		for i, p := range percents {
			sum += int(p)
			for k, other := range percents {
				if p < 1 || shares[i] > shares[k] && p < other {
					t.Fatalf("%v: percents %v", shares, percents)
				}
			}
		}
		if sum != 100 {
			t.Fatalf("%v: percents sum to %d", shares, sum)
		}
	})
	for _, c := range []struct {
		shares []float64
		want   []uint8
	}{
		{[]float64{16, 1, 1, 1, 1, 1, 1, 1}, []uint8{72, 4, 4, 4, 4, 4, 4, 4}},
		{[]float64{3, 1}, []uint8{75, 25}},
		{[]float64{1, 1, 1}, []uint8{34, 33, 33}},
		{[]float64{1000, 1, 1}, []uint8{98, 1, 1}},
	} {
		if got := qos.Percents(c.shares); !slices.Equal(got, c.want) {
			t.Errorf("Percents(%v) = %v, want %v", c.shares, got, c.want)
		}
	}
}

func TestClassesAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	got, err := qos.ParseClasses("26:3, 34:4")
	if err != nil || !slices.Equal(got, []qos.TrafficClass{{DSCP: 26, Queue: 3}, {DSCP: 34, Queue: 4}}) || got[0].String() != "26:3" {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "26", "26:8", "64:3", "-1:3", "26:3,", "a:b"} {
		if got, err := qos.ParseClasses(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
