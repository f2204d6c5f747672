package predict

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRangesEqualThoseOfS3(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k    float64
		want int
	}{{0, 0}, {0.0199, 0}, {-0.0199, 0}, {0.02, 1}, {-0.02, 1}, {0.0799, 1}, {0.08, 2}, {0.1499, 2}, {0.15, 3}, {-0.15, 3}, {9, 3}} {
		if got := RangeOf(c.k); got != c.want {
			t.Errorf("|%v| is in range %d, want %d", c.k, got, c.want)
		}
	}
}

// numbered returns the given number of rows in each range. Their labels distinguish them.
func numbered(counts [Ranges]int) []Row {
	var out []Row
	for n, k := range []float64{0.01, -0.05, 0.1, -0.5} {
		for range counts[n] {
			out = append(out, Row{K: [3]float64{0.3, 0, k}, L: float64(len(out))})
		}
	}
	return out
}

func TestBalanceFillsRangesEvenly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		have [Ranges]int
		per  int
		want [Ranges]int
	}{
		{"enough of each", [Ranges]int{900, 50, 40, 300}, 30, [Ranges]int{30, 30, 30, 30}},
		{"a range with too few rows gives all its rows", [Ranges]int{900, 50, 4, 300}, 30, [Ranges]int{30, 30, 4, 30}},
		{"as many as in the smallest range", [Ranges]int{900, 50, 7, 300}, 0, [Ranges]int{7, 7, 7, 7}},
		{"an empty range", [Ranges]int{9, 0, 7, 3}, 5, [Ranges]int{5, 0, 5, 3}},
		{"nothing", [Ranges]int{}, 5, [Ranges]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got [Ranges]int
			for _, r := range Balance(numbered(c.have), c.per, 1) {
				got[RangeOf(r.K[Sequence-1])]++
			}
			if got != c.want {
				t.Errorf("%v rows by range, want %v", got, c.want)
			}
		})
	}
}

func TestBalanceDrawsWithoutReplacementBySeed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 60)
		rows := numbered([Ranges]int{n.Draw(rt, "a"), n.Draw(rt, "b"), n.Draw(rt, "c"), n.Draw(rt, "d")})
		per, seed := rapid.IntRange(-1, 70).Draw(rt, "per"), rapid.Uint64().Draw(rt, "seed")
		before := slices.Clone(rows)
		got := Balance(rows, per, seed)
		if !slices.Equal(rows, before) {
			rt.Fatal("the input was changed")
		}
		if !slices.Equal(got, Balance(rows, per, seed)) {
			rt.Fatal("the same seed gives different rows")
		}
		seen := map[float64]bool{}
		for _, r := range got {
			if seen[r.L] {
				rt.Fatalf("row %v drawn twice", r.L)
			}
			seen[r.L] = true
		}
	})
	rows := numbered([Ranges]int{50, 50, 50, 50})
	if slices.Equal(Balance(rows, 20, 1), Balance(rows, 20, 2)) {
		t.Error("two seeds give the same rows")
	}
}
