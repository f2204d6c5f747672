package workload

import (
	"fmt"
	"math"

	"fairlane/internal/num"
	"fairlane/internal/quantity"
	"fairlane/sim"
)

// clock draws the times of a Poisson process, or of a periodic one.
type clock struct {
	rng      sim.RNG
	now      quantity.Picoseconds
	until    quantity.Picoseconds // exclusive
	gap      float64              // mean gap, ps
	periodic bool
	begun    bool
}

// tick advances to the next time. It returns false if that time is not before until.
func (c *clock) tick() bool {
	gap := c.gap
	switch {
	case c.periodic && !c.begun:
		gap = 0
	case !c.periodic:
		gap *= -num.Ln(1 - c.rng.Float64())
	}
	c.begun = true
	left := c.until - c.now
	if gap >= float64(left) {
		c.now = c.until
		return false
	}
	c.now += quantity.Picoseconds(math.Round(gap))
	return c.now < c.until
}

// Random number streams of one seed. Each purpose has its own stream, so that a change of the load does not change sizes and
// pairs.
const (
	streamGaps uint64 = iota + 1
	streamSizes
	streamPairs
	streamOrder
)

func stream(seed, which uint64) sim.RNG { return sim.NewRNG(sim.Hash(seed, which)) }

// newClock returns the clock of a Poisson process with the given bytes per event and a total rate of load · capacity.
func newClock(seed uint64, capacity quantity.BitRate, load, bytes float64, from, until quantity.Picoseconds) (clock, error) {
	if err := checkInstant("start", from); err != nil {
		return clock{}, err
	}
	if until == 0 {
		until = maxSpan
	}
	if err := checkInstant("end", until); err != nil {
		return clock{}, err
	}
	if capacity <= 0 {
		return clock{}, fmt.Errorf("capacity %s: want more than 0", capacity)
	}
	if !(load > 0 && load <= maxLoad) {
		return clock{}, fmt.Errorf("load %v: want more than 0 and at most %d", load, maxLoad)
	}
	gap := 8e12 * bytes / (load * float64(capacity))
	if gap < 1 {
		return clock{}, fmt.Errorf("load %v of %s with %.0f bytes per start: one start per %.2g ps: want at most one per picosecond", load, capacity, bytes, gap)
	}
	return clock{rng: stream(seed, streamGaps), now: from, until: until, gap: gap}, nil
}
