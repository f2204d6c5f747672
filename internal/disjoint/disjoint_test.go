package disjoint

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set is identified by its smallest member, whatever the order of the joins.
func TestSetsAgreeWithANaiveImplementation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		s := New(n)
		least := slices.Clone(s)
		for range rapid.IntRange(0, 60).Draw(t, "joins") {
			a, b := rapid.Int32Range(0, int32(n-1)).Draw(t, "a"), rapid.Int32Range(0, int32(n-1)).Draw(t, "b")
			s.Join(a, b)
			from, to := max(least[a], least[b]), min(least[a], least[b])
			for i := range least {
				if least[i] == from {
					least[i] = to
				}
			}
			for i := range int32(n) {
				if s.Find(i) != least[i] {
					t.Fatalf("after joining %d and %d: %d is in the set of %d, want %d", a, b, i, s.Find(i), least[i])
				}
			}
		}
	})
}
