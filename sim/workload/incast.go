package workload

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// IncastOptions describes bursts of flows from many hosts to one at the same time.
type IncastOptions struct {
	Seed  uint64
	Hosts []int32
	// FanIn is the number of senders of a burst, 1 to the number of hosts minus 1. Senders and receiver are different hosts,
	// drawn anew for each burst.
	FanIn int
	Bytes int64 // payload of each sender, 1 to MaxBytes
	// Capacity is the reference of Load, usually the total rate of the hosts' links: a burst starts every 8 · FanIn · Bytes /
	// (Load · Capacity) seconds on average.
	Capacity quantity.BitRate
	Load     float64 // payload as a fraction of Capacity; above 0, at most 10
	Periodic bool    // bursts at From and then at equal intervals, instead of a Poisson process
	// Bursts start at or after From and before Until; Until 0 means no end.
	From, Until quantity.Picoseconds
	Bursts      int64 // largest number of bursts; 0 means no limit
	Label
}

// Incast is a source of incast bursts. Flow / FanIn is the number of a flow's burst.
type Incast struct {
	o     IncastOptions
	clock clock
	pick  sim.RNG
	hosts []int32 // the receiver of the burst, then its senders, then the others
	burst int64
	sent  int // number of flows of the burst already returned
}

// NewIncast validates the options.
func NewIncast(o IncastOptions) (*Incast, error) {
	if err := checkHosts(o.Hosts); err != nil {
		return nil, fmt.Errorf("incast: %w", err)
	}
	if err := checkRange("fan-in", o.FanIn, 1, len(o.Hosts)-1); err != nil {
		return nil, fmt.Errorf("incast: %w", err)
	}
	if err := checkRange[int64]("size", o.Bytes, 1, MaxBytes); err != nil {
		return nil, fmt.Errorf("incast: %w", err)
	}
	if o.Bursts < 0 {
		return nil, fmt.Errorf("incast: %d bursts: want 0 (no limit) or more", o.Bursts)
	}
	c, err := newClock(o.Seed, o.Capacity, o.Load, float64(o.FanIn)*float64(o.Bytes), o.From, o.Until)
	if err != nil {
		return nil, fmt.Errorf("incast: %w", err)
	}
	c.periodic = o.Periodic
	return &Incast{
		o: o, clock: c, pick: stream(o.Seed, streamPairs), hosts: slices.Clone(o.Hosts),
		burst: -1, sent: o.FanIn,
	}, nil
}

// Next returns the next flow; the flows of a burst are consecutive and have the same start.
func (s *Incast) Next() (Arrival, bool) {
	if s.sent == s.o.FanIn {
		if s.o.Bursts > 0 && s.burst+1 >= s.o.Bursts || !s.clock.tick() {
			return Arrival{}, false
		}
		s.burst, s.sent = s.burst+1, 0
		shuffle(&s.pick, s.hosts, s.o.FanIn+1)
	}
	s.sent++
	return Arrival{
		At: s.clock.now, Flow: s.burst*int64(s.o.FanIn) + int64(s.sent) - 1, Bytes: s.o.Bytes,
		Src: s.hosts[s.sent], Dst: s.hosts[0], Label: s.o.Label,
	}, true
}

// shuffle fills the first n positions with a random selection in random order (Fisher and Yates).
func shuffle(r *sim.RNG, v []int32, n int) {
	for i := range n {
		j := i + int(r.Uint64n(uint64(len(v)-i)))
		v[i], v[j] = v[j], v[i]
	}
}
