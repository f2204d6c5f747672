package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// A naive list, sorted stably by time, is the reference for the heap under any mix of pushes and pops.
func TestQueueAgreesWithASortedList(t *testing.T) {
	t.Parallel()
	type item struct {
		at   quantity.Picoseconds
		a, b int32
		kind uint8
	}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		var model []item
		for i := range int32(rapid.IntRange(1, 300).Draw(t, "steps")) {
			if len(model) > 0 && rapid.Bool().Draw(t, "pop") {
				if q.NextAt() != model[0].at {
					t.Fatalf("NextAt %v, want %v", q.NextAt(), model[0].at)
				}
				ev, ok := q.Pop()
				want := model[0]
				if !ok || (item{ev.At, ev.A, ev.B, ev.Kind()}) != want {
					t.Fatalf("popped %+v kind %d, want %+v", ev, ev.Kind(), want)
				}
				model = model[1:]
				continue
			}
			it := item{quantity.Picoseconds(rapid.IntRange(0, 20).Draw(t, "at")), i, -i, uint8(i)}
			q.Push(it.at, it.kind, it.a, it.b)
			model = append(model, it)
			slices.SortStableFunc(model, func(x, y item) int { return int(x.at - y.at) })
		}
		if q.Len() != len(model) {
			t.Fatalf("%d left, want %d", q.Len(), len(model))
		}
	})
}

func TestEmptyQueue(t *testing.T) {
	t.Parallel()
	var q Queue
	if _, ok := q.Pop(); ok || q.NextAt() != Never {
		t.Error("an empty queue returned an event or a time")
	}
}

// recorder schedules one follow-up for each of its first events.
type recorder struct {
	e    *Engine
	seen []quantity.Picoseconds
}

func (r *recorder) Handle(ev Event) {
	r.seen = append(r.seen, r.e.Now())
	if ev.Kind() == 1 {
		r.e.Schedule(ev.At+5, 2, 0, 0)
		r.e.Schedule(ev.At-100, 2, 0, 0) // a time in the past becomes the current time
	}
}

func TestEngineRunsUpToAndIncludingTheInstant(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	r := &recorder{e: e}
	e.Schedule(10, 1, 0, 0)
	e.Schedule(20, 2, 0, 0)
	e.RunUntil(15, r)
	if want := []quantity.Picoseconds{10, 10, 15}; !slices.Equal(r.seen, want) || e.Now() != 15 {
		t.Fatalf("events at %v, clock %v, want %v and 15", r.seen, e.Now(), want)
	}
	e.RunUntil(3, r)
	if e.Now() != 15 {
		t.Errorf("the clock went back to %v", e.Now())
	}
	e.RunUntil(100, r)
	if now, peak := e.Pending(); e.Now() != 100 || e.Processed() != 4 || now != 0 || peak < 2 {
		t.Errorf("clock %v, %d events, %d pending, peak %d", e.Now(), e.Processed(), now, peak)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	var q Queue
	for i := range int32(100) {
		q.Push(quantity.Picoseconds(i*7%31), 0, i, 0)
	}
	if n := testing.AllocsPerRun(1000, func() {
		ev, _ := q.Pop()
		q.Push(ev.At+17, 0, ev.A, 0)
	}); n != 0 {
		t.Errorf("%v allocations per event, want none", n)
	}
}

func TestRNG(t *testing.T) {
	t.Parallel()
	r := NewRNG(0)
	// The first outputs of SplitMix64 for seed 0, as its authors publish them.
	for _, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := r.Uint64(); got != want {
			t.Errorf("got %#x, want %#x", got, want)
		}
	}
	a, b := NewRNG(1), NewRNG(2)
	if a.Uint64() == b.Uint64() {
		t.Error("two seeds gave the same number")
	}
	var counts [8]int
	for range 80_000 {
		counts[a.Uint64n(8)]++
		if f := a.Float64(); f < 0 || f >= 1 {
			t.Fatalf("Float64 gave %v", f)
		}
	}
	for i, c := range counts {
		if c < 9_600 || c > 10_400 { // four standard deviations
			t.Errorf("%d was drawn %d times of 80000, want about 10000", i, c)
		}
	}
	if a.Uint64n(0) != 0 || Hash(1, 2) == Hash(2, 1) {
		t.Error("Uint64n(0) is not 0, or Hash ignores order")
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, size := range []int32{64, 1024, 65536} {
		b.Run(quantity.Picoseconds(size).String(), func(b *testing.B) {
			var q Queue
			r := NewRNG(1)
			for i := range size {
				q.Push(quantity.Picoseconds(r.Uint64n(1<<20)), 0, i, 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				ev, _ := q.Pop()
				q.Push(ev.At+quantity.Picoseconds(r.Uint64n(1<<20)), 0, ev.A, 0)
			}
		})
	}
}
