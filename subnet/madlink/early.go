package madlink

import (
	"sync"
	"time"

	"fairlane/subnet/mad"
)

// A lost request is noticed by waiting, and Options.Timeout is for the slowest agent there is. Where agents answer in
// well under that, as nearly all do, a loss of one in a hundred would make work several times as long. So a link learns
// how long answers take, and first tries so many times with about that patience; the tries of Options come after these,
// so that a slow agent is given no less time than without.
const (
	earlyTries   = 2                    // each with twice the patience of the one before
	earlyLeast   = 5 * time.Millisecond // a scheduler's hiccup is no loss
	earlySamples = 16                   // answers before the estimate is used
	// strangerFactor is how many times as long as to subnet management answers of other classes are given while
	// nothing is known of them: firmware answers those behind its other work.
	strangerFactor = 4
)

// roundTrip estimates how long answers take, by the mean and the mean deviation, as TCP does (RFC 6298). An answer to a
// repetition may be to any try and counts from the first: left out, as Karn's rule has it, agents that take longer than
// the early tries would be pressed for ever.
type roundTrip struct {
	mu        sync.Mutex
	samples   int
	mean, dev time.Duration
}

// note adds an answer.
func (r *roundTrip) note(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples == 0 {
		r.mean, r.dev = took, took/2
	} else {
		r.dev += ((took - r.mean).Abs() - r.dev) / 4
		r.mean += (took - r.mean) / 8
	}
	r.samples = min(r.samples+1, earlySamples)
}

// roundTrips are those of subnet management, which agents answer themselves, of subnet administration, whose answers
// take as long as the tables are that they come from, and of all other classes.
type roundTrips struct{ subnet, administration, general roundTrip }

// of returns the estimate that answers of a class belong to, and the patience of its first early try.
func (r *roundTrips) of(class mad.Class, timeout time.Duration) (*roundTrip, time.Duration) {
	switch {
	case class.IsSMP():
		p, _ := r.subnet.early(1, timeout)
		return &r.subnet, p
	case class == mad.ClassSubnAdm: // a repetition would break a long answer off: never early
		return &r.administration, 0
	}
	p, known := r.general.early(1, timeout)
	if !known {
		p, _ = r.subnet.early(strangerFactor, timeout)
	}
	return &r.general, p
}

// early is the patience of the first early try, so many times the estimate; 0 says that there are none, for want of
// samples, when known is false, or because answers take about as long as the timeout.
func (r *roundTrip) early(factor, timeout time.Duration) (p time.Duration, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples < earlySamples {
		return 0, false
	}
	if p = max(factor*(r.mean+4*r.dev), earlyLeast); p<<earlyTries > timeout {
		return 0, true
	}
	return p, true
}
