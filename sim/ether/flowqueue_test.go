package ether

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
)

// For any sequence of operations, the queue equals a list sorted by start that keeps the order of equal starts.
func TestFlowQueueIsASortedList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q flowQueue
		var list []FlowSpec
		for id := range int64(rapid.IntRange(1, 100).Draw(t, "steps")) {
			if rapid.IntRange(0, 2).Draw(t, "kind") > 0 || len(list) == 0 {
				f := FlowSpec{ID: id, Start: quantity.Picoseconds(rapid.IntRange(0, 9).Draw(t, "start"))}
				q.push(&f)
				list = append(list, f)
				slices.SortStableFunc(list, func(a, b FlowSpec) int { return cmp.Compare(a.Start, b.Start) })
			} else {
				if got := q.pop(); got != list[0] {
					t.Fatalf("got %+v, want %+v", got, list[0])
				}
				list = list[1:]
			}
			want := sim.Never
			if len(list) > 0 {
				want = list[0].Start
			}
			if q.nextAt() != want || q.len() != len(list) {
				t.Fatalf("next at %d of %d flows, want %d of %d", q.nextAt(), q.len(), want, len(list))
			}
		}
	})
}

// Flows start in the order of time, for any order of addition.
func TestPartsStartFlowsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	var done []Done
	p := cutInto(t, 2, "none", &done)
	const flows = 500
	for i := range int32(flows) {
		k := i * 211 % flows // each index once
		f := FlowSpec{ID: int64(k), Src: k % 16, Dst: (k + 5) % 16, Bytes: 1000, Start: quantity.Picoseconds(k) * 20 * us}
		if err := p.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	p.RunUntil(quantity.Second)
	if len(done) != flows || !p.Finished() {
		t.Fatalf("%d flows done of %d", len(done), flows)
	}
	for i, d := range done {
		if d.ID != int64(i) || d.Start != quantity.Picoseconds(i)*20*us {
			t.Fatalf("flow %d started at %s as number %d", d.ID, d.Start, i)
		}
	}
	if p.slots > 4 {
		t.Errorf("%d slots for consecutive flows", p.slots)
	}
}

// Parts cannot share state common to flows of several hosts.
func TestPartsRefuseSharedState(t *testing.T) {
	t.Parallel()
	for train, ok := range map[float64]bool{0: true, 1: true, 2: true, 3: false} {
		make := func(int) (Config, error) {
			return Config{Algorithms: []cc.Algorithm{build(t, "none", nil), build(t, "pidnn", cc.Values{"train": train})}}, nil
		}
		if _, err := NewParallel(smallTree(t), 2, make); (err == nil) != ok {
			t.Errorf("train %v: %v", train, err)
		}
		if _, err := NewParallel(smallTree(t), 1, make); err != nil {
			t.Errorf("train %v in one part: %v", train, err)
		}
	}
}
