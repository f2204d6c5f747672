package madlink

import (
	"sync"
	"time"

	"fairlane/subnet/mad"
)

// A lost request is detected only by a timeout, and Options.Timeout suits the slowest agents. Nearly all agents
// answer much faster, so one lost request in a hundred would multiply the total time. A link therefore measures how
// long answers take, and first makes some early tries that wait about that long. The tries of Options follow, so that
// a slow agent gets no less time than without early tries.
const (
	earlyAttempts = 2                    // each waits twice as long as the previous one
	earlyMinDelay = 5 * time.Millisecond // shorter delays may come from the scheduler
	earlySamples  = 16                   // answers required before the estimate is used
	// otherClassFactor multiplies the wait of subnet management for other classes without an estimate: firmware answers
	// these with lower priority.
	otherClassFactor = 4
)

// roundTrip estimates how long answers take, by the mean and the mean deviation, as TCP does (RFC 6298). An answer to
// a repetition may belong to any try and is counted from the first one. If it were ignored, as in Karn's algorithm,
// the link would always retry too early with agents that are slower than the early tries.
type roundTrip struct {
	mu        sync.Mutex
	samples   int
	mean, dev time.Duration
}

// note adds the response time of an answer.
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

// roundTrips are separate estimates for subnet management, which agents answer themselves, for subnet administration,
// whose answers take longer for larger tables, and for all other classes.
type roundTrips struct{ subnet, administration, general roundTrip }

// of returns the estimate for a class, and how long its first early try waits.
func (r *roundTrips) of(class mad.Class, timeout time.Duration) (*roundTrip, time.Duration) {
	switch {
	case class.IsSMP():
		p, _ := r.subnet.early(1, timeout)
		return &r.subnet, p
	case class == mad.ClassSubnAdm: // a repetition would interrupt a long answer: no early tries
		return &r.administration, 0
	}
	p, known := r.general.early(1, timeout)
	if !known {
		p, _ = r.subnet.early(otherClassFactor, timeout)
	}
	return &r.general, p
}

// early returns how long the first early try waits: factor times the estimate. It returns 0, for no early tries,
// without enough samples (known is false) and when answers take about as long as the timeout.
func (r *roundTrip) early(factor, timeout time.Duration) (p time.Duration, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.samples < earlySamples {
		return 0, false
	}
	if p = max(factor*(r.mean+4*r.dev), earlyMinDelay); p<<earlyAttempts > timeout {
		return 0, true
	}
	return p, true
}
