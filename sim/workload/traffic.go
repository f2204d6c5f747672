package workload

import (
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// Traffic is all traffic of a simulation: open-loop flows and reactive jobs. A simulator takes every
// flow whose time has come, tells Done of each delivered flow with a job, and looks at NextAt again,
// since Done may set flows free that start before the one that was next.
type Traffic struct {
	open Source
	head Arrival // of open
	more bool    // head is valid
	jobs []Reactive
	// queue orders the flows that jobs have set free; its events hold their places in pending.
	queue   sim.Queue
	pending []Arrival
	unused  []int32 // places of pending
}

// NewTraffic starts all jobs. open may be nil. The flows of the k-th job, counted from 1, have Job k.
func NewTraffic(open Source, jobs ...Reactive) *Traffic {
	t := &Traffic{open: open, jobs: slices.Clone(jobs)}
	if open != nil {
		t.head, t.more = open.Next()
	}
	for i, j := range t.jobs {
		t.add(int32(i+1), 0, j.Start())
	}
	return t
}

// NextAt returns when the next flow starts, or sim.Never when none is known now.
func (t *Traffic) NextAt() quantity.Picoseconds {
	at := t.queue.NextAt()
	if t.more {
		at = min(at, t.head.At)
	}
	return at
}

// Next returns the next flow, and false when none is known now: a job may still set some free. Of
// flows with the same start, open-loop ones come first, then those set free first.
func (t *Traffic) Next() (Arrival, bool) {
	if t.more && t.head.At <= t.queue.NextAt() {
		a := t.head
		t.head, t.more = t.open.Next()
		return a, true
	}
	ev, ok := t.queue.Pop()
	if !ok {
		return Arrival{}, false
	}
	t.unused = append(t.unused, ev.A)
	return t.pending[ev.A], true
}

// Done tells a job that the last byte of one of its flows was delivered. Flows without a job, and
// jobs that do not exist, are ignored.
func (t *Traffic) Done(job int32, flow int64, at quantity.Picoseconds) {
	if job < 1 || int(job) > len(t.jobs) {
		return
	}
	t.add(job, at, t.jobs[job-1].Done(flow, at))
}

// Err returns the error that ended the open-loop flows, or nil.
func (t *Traffic) Err() error {
	if t.open == nil {
		return nil
	}
	return sourceErr(t.open)
}

// add queues the flows of a job; none starts before at.
func (t *Traffic) add(job int32, at quantity.Picoseconds, flows []Arrival) {
	for _, a := range flows {
		a.Job, a.At = job, max(a.At, at)
		place := int32(len(t.pending))
		if n := len(t.unused); n > 0 {
			place, t.unused = t.unused[n-1], t.unused[:n-1]
			t.pending[place] = a
		} else {
			t.pending = append(t.pending, a)
		}
		t.queue.Push(a.At, 0, place, 0)
	}
}
