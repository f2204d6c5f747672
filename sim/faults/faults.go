// Package faults decides what goes wrong with the requests to a simulated device and with its answers: counts that are
// used up, for tests that want one thing to happen at one point, and chances drawn from a seed, for tests that want
// anything to happen and the same again.
package faults

import (
	"math/rand/v2"
	"time"
)

// Messages is what goes wrong with requests and replies. Counts come before chances, and are used up. The zero value
// lets all pass. It is not safe for concurrent use: the device's lock guards it.
type Messages struct {
	// PassWrites lets so many writes pass before LoseRequests begins.
	PassWrites   int
	LoseRequests int // requests of any kind that do not arrive; negative: all
	// LoseReply carries out the write after PassReplies others, and loses its reply and every one after it.
	LoseReply   bool
	PassReplies int
	Busy        int // requests that are answered busy

	// Chances, 0 to 1, of each message; one draw for each, so that the same messages in the same order meet the same.
	DropRequest float64
	DropReply   float64
	BusyReply   float64
	DelayReply  float64
	Delay       time.Duration // of late replies, wall time
	Seed        uint64

	mute bool
	rng  *rand.Rand
}

// Fate is what becomes of a request on its way to the device.
type Fate uint8

// Fates.
const (
	Arrives   Fate = iota
	Lost           // nobody hears of it
	TurnedOff      // answered busy, and nothing was done
)

// stream keeps the draws apart from others made with the same seed.
const stream = 0x6d6573736167

// chance draws. A chance of 0 draws nothing, so that one fault more does not change the draws of the others.
func (m *Messages) chance(p float64) bool {
	if p <= 0 {
		return false
	}
	if m.rng == nil {
		m.rng = rand.New(rand.NewPCG(m.Seed, stream))
	}
	return m.rng.Float64() < p
}

// Arrive decides whether a request reaches the device.
func (m *Messages) Arrive(write bool) Fate {
	switch {
	case m.LoseRequests != 0 && m.PassWrites == 0:
		if m.LoseRequests > 0 {
			m.LoseRequests--
		}
		return Lost
	case m.Busy > 0:
		m.Busy--
		return TurnedOff
	case m.chance(m.DropRequest):
		return Lost
	case m.chance(m.BusyReply):
		return TurnedOff
	}
	if write && m.PassWrites > 0 {
		m.PassWrites--
	}
	return Arrives
}

// Reply decides whether the answer to a request that was carried out reaches the client, and how late.
func (m *Messages) Reply(write bool) (lost bool, late time.Duration) {
	switch {
	case m.mute:
		return true, 0
	case write && m.LoseReply && m.PassReplies > 0:
		m.PassReplies--
	case write && m.LoseReply:
		m.mute = true
		return true, 0
	case m.chance(m.DropReply):
		return true, 0
	}
	if m.chance(m.DelayReply) {
		return false, m.Delay
	}
	return false, 0
}
