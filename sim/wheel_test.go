package sim

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
)

// drawAt draws an instant that exercises every level of a wheel: equal times, neighbours in a slot, edges of slots and levels,
// far instants and the last instant.
func drawAt(t *rapid.T, now quantity.Picoseconds) quantity.Picoseconds {
	edge := func(width int) quantity.Picoseconds {
		near := quantity.Picoseconds(rapid.IntRange(-2, 2).Draw(t, "beside"))
		turns := quantity.Picoseconds(rapid.IntRange(1, 3).Draw(t, "turns"))
		return (now>>width+turns)<<width + near
	}
	switch rapid.IntRange(0, 9).Draw(t, "reach") {
	case 0:
		return now
	case 1:
		return now + quantity.Picoseconds(rapid.IntRange(0, 5).Draw(t, "dt"))
	case 2:
		return now + quantity.Picoseconds(rapid.IntRange(0, 1<<slotWidth).Draw(t, "dt"))
	case 3:
		return edge(slotWidth)
	case 4:
		return edge(slotWidth + fineBits)
	case 5:
		return edge(slotWidth + fineBits + coarseBits)
	case 6:
		return now + quantity.Picoseconds(rapid.IntRange(0, 1<<(slotWidth+fineBits+1)).Draw(t, "dt"))
	case 7:
		return now + quantity.Picoseconds(rapid.Int64Range(0, 1<<(slotWidth+fineBits+coarseBits+1)).Draw(t, "dt"))
	case 8:
		return quantity.Picoseconds(rapid.Int64Range(-1<<40, int64(Never)).Draw(t, "at")) // may be in the past
	default:
		return Never
	}
}

// The heap is the reference for the wheel under any mix of pushes, pops and bounded pops.
func TestWheelAgreesWithQueue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w Wheel
		var q Queue
		now := quantity.Picoseconds(0)
		pop := func(limit quantity.Picoseconds) {
			slot := w.slot
			got, ok := w.PopUntil(limit)
			if w.slot > max(slot, int64(limit)>>slotWidth) {
				t.Fatalf("advanced to slot %d for a limit of %d", w.slot, limit)
			}
			due := q.Len() > 0 && q.NextAt() <= limit
			if ok != due {
				t.Fatalf("popped %v up to %d, want %v: the next is at %d", ok, limit, due, q.NextAt())
			}
			if !ok {
				return
			}
			if want, _ := q.Pop(); got != want {
				t.Fatalf("popped %+v, want %+v", got, want)
			}
			now = max(now, got.At)
			if now > Never>>1 {
				now = 0 // restart from time zero: a wheel also orders pushes into the past
			}
		}
		for i := range int32(rapid.IntRange(1, 400).Draw(t, "steps")) {
			switch rapid.IntRange(0, 6).Draw(t, "do") {
			case 0, 1, 2:
				at := drawAt(t, now)
				w.Push(at, uint8(i), i, -i)
				q.Push(at, uint8(i), i, -i)
			case 3, 4:
				pop(Never)
			case 5:
				limit := drawAt(t, now)
				for range 5 {
					pop(limit)
				}
			default:
				if w.NextAt() != q.NextAt() {
					t.Fatalf("next at %d, want %d", w.NextAt(), q.NextAt())
				}
			}
			if w.Len() != q.Len() {
				t.Fatalf("%d pending, want %d", w.Len(), q.Len())
			}
		}
		for q.Len() > 0 {
			pop(Never)
		}
		if _, ok := w.Pop(); ok || w.Len() != 0 || w.NextAt() != Never {
			t.Fatalf("an empty wheel returned an event or a time; %d pending", w.Len())
		}
	})
}

// load draws delays as packets cause them: transmissions at 400 Gbit/s, links of 1 us, and timers.
func load(r *RNG) quantity.Picoseconds {
	switch k := r.Uint64n(10); {
	case k < 4:
		return 83_840
	case k < 9:
		return 1_083_000
	default:
		return quantity.Picoseconds(r.Uint64n(300_000_000))
	}
}

// A long run with many pending events, under the load of the benchmarks.
func TestWheelAgreesWithQueueUnderLoad(t *testing.T) {
	t.Parallel()
	var w Wheel
	var q Queue
	r := NewRNG(7)
	for i := range int32(3000) {
		at := quantity.Picoseconds(r.Uint64n(2_000_000)) / 1000 * 1000 // many equal times
		w.Push(at, 0, i, 0)
		q.Push(at, 0, i, 0)
	}
	for range 300_000 {
		got, _ := w.Pop()
		want, _ := q.Pop()
		if got != want {
			t.Fatalf("popped %+v, want %+v", got, want)
		}
		at := got.At + load(&r)
		w.Push(at, 0, got.A, 0)
		q.Push(at, 0, got.A, 0)
	}
}

// Slots with few events, with as many as insertion sort handles, with more, and with events that arrive while the slot is
// current.
func TestWheelAgreesWithQueueWhereManyEventsShareASlot(t *testing.T) {
	t.Parallel()
	for _, share := range []int{2, fewEvents - 1, fewEvents, fewEvents + 1, 5000} {
		for _, spread := range []uint64{1, 3, 1 << slotWidth, 1 << (slotWidth + 2)} {
			var w Wheel
			var q Queue
			r := NewRNG(uint64(share))
			push := func(at quantity.Picoseconds, i int32) {
				w.Push(at, 1, i, 0)
				q.Push(at, 1, i, 0)
			}
			for i := range int32(3 * share) {
				slot := quantity.Picoseconds(1+i%3) << (slotWidth + 5)
				push(slot+quantity.Picoseconds(r.Uint64n(spread)), i)
			}
			for k := int32(0); q.Len() > 0; k++ {
				if w.NextAt() != q.NextAt() {
					t.Fatalf("%d events within %d ps: next at %d, want %d", share, spread, w.NextAt(), q.NextAt())
				}
				got, _ := w.Pop()
				want, _ := q.Pop()
				if got != want {
					t.Fatalf("%d events within %d ps: popped %+v, want %+v", share, spread, got, want)
				}
				if k%3 == 0 && int(k) < 3*share {
					push(got.At+quantity.Picoseconds(r.Uint64n(spread)), -k)
				}
			}
			if w.Len() != 0 {
				t.Fatalf("%d events within %d ps: %d left in the wheel", share, spread, w.Len())
			}
		}
	}
}

func TestWheelSteadyStateDoesNotAllocate(t *testing.T) {
	var w Wheel
	r := NewRNG(1)
	for i := range int32(1000) {
		w.Push(load(&r), 0, i, 0)
	}
	step := func() {
		ev, _ := w.Pop()
		w.Push(ev.At+load(&r), 0, ev.A, 0)
	}
	for range 100_000 {
		step()
	}
	if n := testing.AllocsPerRun(10_000, step); n != 0 {
		t.Errorf("%v allocations per event, want none", n)
	}
}

// priorityQueue is the common interface of Queue and Wheel.
type priorityQueue interface {
	Push(at quantity.Picoseconds, kind uint8, a, b int32)
	Pop() (Event, bool)
}

func BenchmarkWheel(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() priorityQueue
	}{
		{"heap", func() priorityQueue { return &Queue{} }},
		{"wheel", func() priorityQueue { return &Wheel{} }},
	} {
		for _, pending := range []int32{60, 1500, 30_000} {
			b.Run(fmt.Sprintf("%s/load/%d", c.name, pending), func(b *testing.B) { benchmarkLoad(b, c.make(), pending, load) })
		}
		// One event at a time, 1 ms later each: the search for the next event must skip empty slots.
		b.Run(c.name+"/idle/1", func(b *testing.B) {
			benchmarkLoad(b, c.make(), 1, func(*RNG) quantity.Picoseconds { return quantity.Millisecond })
		})
	}
}

func benchmarkLoad(b *testing.B, q priorityQueue, pending int32, delay func(*RNG) quantity.Picoseconds) {
	r := NewRNG(1)
	for i := range pending {
		q.Push(delay(&r), 0, i, 0)
	}
	step := func() {
		ev, _ := q.Pop()
		q.Push(ev.At+delay(&r), 0, ev.A, 0)
	}
	for range 20 * pending { // run to the steady state, in which most events are in the far heap
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}
