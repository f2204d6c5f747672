// Package sim is the discrete-event engine below the simulated fabric: a clock of integer
// picoseconds, a queue of value-typed events, and a small seeded generator of random numbers.
//
// An event is a time, a kind and two integers; what they mean is the model's affair. Events
// are ordered by time and, at equal times, by the order in which they were scheduled, so a
// model that is deterministic itself gives bit-identical runs. All state is in structs:
// any number of simulations live in one process, each used by one goroutine at a time.
// Once the queue has grown to its working size nothing here allocates.
package sim

import (
	"math"

	"fairlane/internal/quantity"
)

// Never is an instant after every event: the largest representable time.
const Never quantity.Picoseconds = math.MaxInt64

// Event is something that happens at one instant. A and B are the model's.
type Event struct {
	At  quantity.Picoseconds
	ord uint64 // sequence number in the upper 56 bits, kind in the lower 8
	A   int32
	B   int32
}

// Kind returns the kind the event was scheduled with.
func (e Event) Kind() uint8 { return uint8(e.ord) }

func (e *Event) before(o *Event) bool {
	if e.At != o.At {
		return e.At < o.At
	}
	return e.ord < o.ord
}

// Queue is a priority queue of events in the order (time, sequence of Push). The zero value
// is an empty queue. It is a four-ary heap of values: for the few hundred pending events of
// a fabric model it is shallow, and one level's children share a cache line or two.
type Queue struct {
	heap []Event
	seq  uint64
}

// Len returns the number of events in the queue.
func (q *Queue) Len() int { return len(q.heap) }

// NextAt returns the time of the earliest event, or Never when there is none.
func (q *Queue) NextAt() quantity.Picoseconds {
	if len(q.heap) == 0 {
		return Never
	}
	return q.heap[0].At
}

// Push adds an event. Two events of the same time leave the queue in the order they entered.
func (q *Queue) Push(at quantity.Picoseconds, kind uint8, a, b int32) {
	q.seq++
	q.insert(Event{At: at, ord: q.seq<<8 | uint64(kind), A: a, B: b})
}

// insert adds an event that has its place in the sequence.
func (q *Queue) insert(ev Event) {
	q.heap = append(q.heap, ev)
	h := q.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) >> 2
		if !ev.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = ev
}

// Pop removes and returns the earliest event; ok is false when the queue is empty.
func (q *Queue) Pop() (ev Event, ok bool) {
	n := len(q.heap)
	if n == 0 {
		return Event{}, false
	}
	ev = q.heap[0]
	last := q.heap[n-1]
	q.heap = q.heap[:n-1]
	if n > 1 {
		q.siftDown(0, last)
	}
	return ev, true
}

// siftDown places ev at i or below, where an event has just left.
func (q *Queue) siftDown(i int, ev Event) {
	h := q.heap
	for {
		c := i<<2 + 1
		if c >= len(h) {
			break
		}
		least := c
		for end := min(c+4, len(h)); c+1 < end; {
			c++
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&ev) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = ev
}

// Handler is the model: it is called once for each event, in order.
type Handler interface {
	Handle(ev Event)
}

// Engine is a clock with a queue of events. The zero value stands at time zero. Its queue is a
// Wheel at every size: beside a Queue, the packet model carries 0.94 times as much through an
// incast of 21 ports without congestion control, with up to 42 events pending, 1.1 times as much
// with it, and 1.6 times as much through a fat tree of 128 hosts with up to 1148 pending
// (go test -bench . ./sim/fabric).
type Engine struct {
	now       quantity.Picoseconds
	order     uint64 // of the event being handled
	queue     Wheel
	processed uint64
	peak      int
}

// Now returns the current simulated time.
func (e *Engine) Now() quantity.Picoseconds { return e.now }

// Processed returns the number of events handled so far.
func (e *Engine) Processed() uint64 { return e.processed }

// Pending returns the number of events waiting, and the largest number that ever waited
// when an event was handled.
func (e *Engine) Pending() (now, peak int) { return e.queue.Len(), e.peak }

// NextAt returns the time of the earliest event waiting, or Never.
func (e *Engine) NextAt() quantity.Picoseconds { return e.queue.NextAt() }

// Schedule adds an event at an instant; an instant in the past means now.
func (e *Engine) Schedule(at quantity.Picoseconds, kind uint8, a, b int32) {
	e.queue.Push(max(at, e.now), kind, a, b)
}

// Reserve takes a place in the sequence of events for ScheduleReserved. A model that keeps one
// pending event for a line of things to come reserves the place of each when it joins the line, so
// that ties are broken as if each had its own event.
func (e *Engine) Reserve() uint64 { return e.queue.Reserve() }

// Place returns the latest reserved place with the given low bits, for models that keep no more.
func (e *Engine) Place(low uint32) uint64 {
	last := e.queue.seq
	return last - uint64(uint32(last)-low)
}

// Passed reports whether an event at an instant, in a reserved place, would have been handled by now.
func (e *Engine) Passed(at quantity.Picoseconds, place uint64) bool {
	return at < e.now || at == e.now && place <= e.order>>8
}

// ScheduleReserved adds an event in a place that was reserved. An instant in the past means now.
func (e *Engine) ScheduleReserved(at quantity.Picoseconds, place uint64, kind uint8, a, b int32) {
	e.queue.PushReserved(max(at, e.now), place, kind, a, b)
}

// RunUntil hands every event up to and including t to h, in order, and leaves the clock at
// t. A t in the past does nothing.
func (e *Engine) RunUntil(t quantity.Picoseconds, h Handler) {
	for {
		ev, ok := e.queue.PopUntil(t)
		if !ok {
			break
		}
		e.peak = max(e.peak, e.queue.Len()+1)
		e.now = ev.At
		e.order = ev.ord
		e.processed++
		h.Handle(ev)
	}
	if t > e.now {
		e.now, e.order = t, math.MaxUint64
	}
}
