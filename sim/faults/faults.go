// Package faults decides on faults of requests to a simulated device and of its replies: counted faults, for tests of one
// specific fault, and probabilities with a seed, for reproducible random tests.
package faults

import (
	"math/rand/v2"
	"time"
)

// Messages are the faults of requests and replies. Counts are used up before probabilities apply. The zero value injects no
// faults. It is not safe for concurrent use: the device's lock guards it.
type Messages struct {
	// PassWrites is the number of writes that pass before LoseRequests starts.
	PassWrites   int
	LoseRequests int // requests of any kind that are lost; negative means all
	// LoseReply executes the write after PassReplies others, and loses its reply and all later ones.
	LoseReply   bool
	PassReplies int
	Busy        int // requests answered with busy

	// Probabilities, 0 to 1, per message. Each uses one draw, so the same messages in the same order get the same faults.
	DropRequest float64
	DropReply   float64
	BusyReply   float64
	DelayReply  float64
	Delay       time.Duration // delay of late replies, wall time
	Seed        uint64

	mute bool
	rng  *rand.Rand
}

// Decision is the decision on a request to the device.
type Decision uint8

// Values of Decision.
const (
	Arrives Decision = iota
	Lost             // the request does not arrive
	Busy             // answered with busy, and not executed
)

// stream separates the draws from others with the same seed.
const stream = 0x6d6573736167

// draw draws with a probability. A probability of 0 draws nothing, so adding a fault does not change the draws of the others.
func (m *Messages) draw(p float64) bool {
	if p <= 0 {
		return false
	}
	if m.rng == nil {
		m.rng = rand.New(rand.NewPCG(m.Seed, stream))
	}
	return m.rng.Float64() < p
}

// Arrive decides whether a request reaches the device.
func (m *Messages) Arrive(write bool) Decision {
	switch {
	case m.LoseRequests != 0 && m.PassWrites == 0:
		if m.LoseRequests > 0 {
			m.LoseRequests--
		}
		return Lost
	case m.Busy > 0:
		m.Busy--
		return Busy
	case m.draw(m.DropRequest):
		return Lost
	case m.draw(m.BusyReply):
		return Busy
	}
	if write && m.PassWrites > 0 {
		m.PassWrites--
	}
	return Arrives
}

// Reply decides whether the reply to an executed request reaches the client, and its delay.
func (m *Messages) Reply(write bool) (lost bool, late time.Duration) {
	switch {
	case m.mute:
		return true, 0
	case write && m.LoseReply && m.PassReplies > 0:
		m.PassReplies--
	case write && m.LoseReply:
		m.mute = true
		return true, 0
	case m.draw(m.DropReply):
		return true, 0
	}
	if m.draw(m.DelayReply) {
		return false, m.Delay
	}
	return false, 0
}
