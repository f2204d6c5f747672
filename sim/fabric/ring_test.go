package fabric

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

func TestCreditsComeBackInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r ring[credit]
		var model []credit
		for i := range int32(rapid.IntRange(1, 200).Draw(t, "steps")) {
			if len(model) > 0 && rapid.Bool().Draw(t, "pop") {
				if got := r.pop(); got != model[0] {
					t.Fatalf("popped %+v, want %+v", got, model[0])
				}
				model = model[1:]
				continue
			}
			c := credit{at: quantity.Picoseconds(rapid.IntRange(0, 9).Draw(t, "at")), blocks: i}
			insertCredit(&r, c)
			model = append(model, c)
			slices.SortStableFunc(model, func(a, b credit) int { return int(a.at - b.at) })
		}
		if r.n != len(model) {
			t.Fatalf("%d left, want %d", r.n, len(model))
		}
	})
}

func TestNextInputCyclesThroughAllPorts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var l lane
		set := rapid.SliceOfNDistinct(rapid.IntRange(1, 254), 1, 40, rapid.ID[int]).Draw(t, "inputs")
		for _, p := range set {
			l.inputs[p>>6] |= 1 << (p & 63)
		}
		slices.Sort(set)
		last := rapid.IntRange(-1, 254).Draw(t, "last")
		l.last = int16(last)
		want := set[0]
		for _, p := range set {
			if p > last {
				want = p
				break
			}
		}
		if got := int(nextInput(&l)); got != want {
			t.Fatalf("after %d of %v: %d, want %d", last, set, got, want)
		}
	})
}
