package ether

import (
	"fairlane/internal/quantity"
	"fairlane/sim"
)

// flowQueue holds future flows in the order of their start; flows with the same start keep the order of insertion. The zero
// value is empty.
type flowQueue struct {
	order sim.Queue // queue of indices in specs
	specs []FlowSpec
	free  []int32 // free indices
}

func (q *flowQueue) len() int { return q.order.Len() }

// nextAt returns the earliest start, or sim.Never when there is none.
func (q *flowQueue) nextAt() quantity.Picoseconds { return q.order.NextAt() }

func (q *flowQueue) push(f *FlowSpec) {
	at := int32(len(q.specs))
	if k := len(q.free); k > 0 {
		at, q.free = q.free[k-1], q.free[:k-1]
		q.specs[at] = *f
	} else {
		q.specs = append(q.specs, *f)
	}
	q.order.Push(f.Start, 0, at, 0)
}

// pop removes and returns the flow with the earliest start; the queue must not be empty.
func (q *flowQueue) pop() FlowSpec {
	ev, _ := q.order.Pop()
	q.free = append(q.free, ev.A)
	return q.specs[ev.A]
}
