package ibcc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

func TestEntryFromFactorUsesTheLargestShiftThatHoldsTheDelay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x    float64
		want Entry
	}{
		{0, Entry{}}, {0.05, Entry{}}, {0.125, Entry{3, 1}}, {1, Entry{3, 8}}, {9, Entry{3, 72}},
		{2047.875, Entry{3, 16383}}, {2048, Entry{2, 8192}}, {8191.5, Entry{1, 16383}}, {8192, Entry{0, 8192}}, {16383, Entry{0, 16383}},
	} {
		got, err := EntryFromFactor(c.x)
		if err != nil || got != c.want {
			t.Errorf("EntryFromFactor(%v) = %v, %v, want %v", c.x, got, err, c.want)
		}
	}
	for _, x := range []float64{-0.1, 16384, math.NaN(), math.Inf(1)} {
		if e, err := EntryFromFactor(x); err == nil {
			t.Errorf("EntryFromFactor(%v) = %v, want an error", x, e)
		}
	}
}

func TestEntryFromFactorIsWithinHalfAUnitOfTheEncoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := rapid.Float64Range(0, MaxFactor).Draw(rt, "x")
		e, err := EntryFromFactor(x)
		if err != nil {
			rt.Fatal(err)
		}
		if unit := 1 / float64(int(1)<<e.Shift); e.Multiplier > 0 && math.Abs(e.Factor()-x) > unit/2 {
			rt.Fatalf("%v became %v = %v", x, e, e.Factor())
		}
	})
}

func TestRateIsLineRateOverOnePlusDelay(t *testing.T) {
	t.Parallel()
	for e, want := range map[Entry]quantity.BitRate{
		{}: 100e9, {3, 1}: 88_888_888_888, {2, 1}: 80e9, {1, 1}: 66_666_666_666, {0, 1}: 50e9, {0, 3}: 25e9, {0, 9}: 10e9, {0, 16383}: 6_103_515,
	} {
		if got := e.Rate(100 * quantity.Gbps); got != want {
			t.Errorf("%v: rate %d, want %d", e, got, want)
		}
	}
}

func TestTablesStartAtNoDelayAndNeverFall(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 512).Draw(rt, "entries")
		table, err := Geometric(n, rapid.IntRange(MinRatio, MaxRatio).Draw(rt, "ratio"))
		quadratic := rapid.Bool().Draw(rt, "quadratic")
		if quadratic {
			table, err = Quadratic(n, rapid.IntRange(1, 1_000_000).Draw(rt, "scale"))
		}
		if err != nil {
			rt.Fatal(err)
		}
		if table[0] != (Entry{}) {
			rt.Fatalf("CCT[0] = %v", table[0])
		}
		for i := 1; i < n; i++ {
			a, b := table[i-1].Eighths(), table[i].Eighths()
			if b < a || quadratic && b == a && a < 2047*eighths {
				rt.Fatalf("CCT[%d] = %v after %v", i, table[i], table[i-1])
			}
		}
	})
}

func TestGeometricEntriesAreTheNearestTheEncodingHas(t *testing.T) {
	t.Parallel()
	for _, ratio := range []int{1050, 1080, 1200, 2000} {
		table, err := Geometric(128, ratio)
		if err != nil {
			t.Fatal(err)
		}
		ideal := 1.0
		for i := 1; i < 128 && ideal < MaxFactor/2; i++ {
			ideal *= float64(ratio) / 1000
			unit := 1 / float64(int(1)<<table[i].Shift)
			if table[i].Multiplier == 0 {
				unit = 0.125
			}
			if got := 1 + table[i].Factor(); math.Abs(got-ideal) > unit/2+1e-3*ideal {
				t.Errorf("ratio %d: 1 + CCT[%d] is %v, want %.4f", ratio, i, got, ideal)
			}
		}
	}
}

func TestQuadraticIsS1sLaw(t *testing.T) {
	t.Parallel()
	table, err := Quadratic(128, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i := 16; i < 128; i++ {
		delay := 14 * float64(i*i) / 1062 // us, at a packet time of 0.8192 us
		if got := table[i].Factor() * 0.8192; math.Abs(got-delay) > 0.0625*0.8192+1e-9 {
			t.Errorf("CCT[%d] delays %.3f us, %.3f in S1", i, got, delay)
		}
	}
}

func TestTableBuildersRejectInvalidInput(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]int{{1, 1080}, {MaxTableEntries + 1, 1080}, {128, 1000}, {128, MaxRatio + 1}} {
		if _, err := Geometric(c[0], c[1]); err == nil {
			t.Errorf("Geometric(%d, %d) has no error", c[0], c[1])
		}
	}
	for _, c := range [][2]int{{0, 1000}, {128, 0}, {128, 1_000_001}} {
		if _, err := Quadratic(c[0], c[1]); err == nil {
			t.Errorf("Quadratic(%d, %d) has no error", c[0], c[1])
		}
	}
}

func TestStepsFindsTheFirstEntryAtOrBelowARate(t *testing.T) {
	t.Parallel()
	table := []Entry{{}, {0, 1}, {0, 3}}
	for want, c := range map[quantity.BitRate]struct {
		index int
		ok    bool
	}{100: {0, true}, 50: {1, true}, 49: {2, true}, 25: {2, true}, 24: {2, false}} {
		if i, ok := Steps(table, 100, want); i != c.index || ok != c.ok {
			t.Errorf("Steps(%d) = %d, %v, want %d, %v", want, i, ok, c.index, c.ok)
		}
	}
}
