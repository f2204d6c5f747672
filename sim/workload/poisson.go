package workload

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// PoissonOptions describes open-loop flows that start as a Poisson process.
type PoissonOptions struct {
	Seed  uint64
	Pairs *Pairs
	Sizes *Sizes
	// Capacity is the reference of Load: the total rate of the hosts' links, or of any link that all flows of the source share.
	Capacity quantity.BitRate
	// Load is the offered payload as a fraction of Capacity; above 0, at most 10. Headers are extra, as in HPCC's evaluation,
	// whose generator starts load · rate / (8 · mean size) flows per second per host.
	Load float64
	// Flows start after From and before Until; Until 0 means no end.
	From, Until quantity.Picoseconds
	Count       int64 // largest number of flows; 0 means no limit
	Label
}

// maxLoad allows overload experiments, and is far above useful loads.
const maxLoad = 10

// Poisson is a source of flows that start as a Poisson process, with hosts drawn by Pairs and sizes drawn by Sizes. One process
// over all hosts is equivalent to one process on each host with the same total rate.
type Poisson struct {
	o            PoissonOptions
	clock        clock
	sizes, pairs sim.RNG
	n            int64
}

// NewPoisson validates the options. It returns an error for a mean gap below one picosecond.
func NewPoisson(o PoissonOptions) (*Poisson, error) {
	if o.Pairs == nil || o.Sizes == nil {
		return nil, errors.New("poisson: no pairs or no sizes: want both")
	}
	if o.Count < 0 {
		return nil, fmt.Errorf("poisson: %d flows: want 0 (no limit) or more", o.Count)
	}
	c, err := newClock(o.Seed, o.Capacity, o.Load, o.Sizes.Mean(), o.From, o.Until)
	if err != nil {
		return nil, fmt.Errorf("poisson: %w", err)
	}
	return &Poisson{o: o, clock: c, sizes: stream(o.Seed, streamSizes), pairs: stream(o.Seed, streamPairs)}, nil
}

// FlowsPerSecond returns the mean rate of starts.
func (p *Poisson) FlowsPerSecond() float64 { return 1e12 / p.clock.gap }

// Next returns the next flow.
func (p *Poisson) Next() (Arrival, bool) {
	if p.o.Count > 0 && p.n >= p.o.Count || !p.clock.tick() {
		return Arrival{}, false
	}
	a := Arrival{At: p.clock.now, Flow: p.n, Bytes: p.o.Sizes.Sample(&p.sizes), Label: p.o.Label}
	a.Src, a.Dst = p.o.Pairs.Draw(&p.pairs)
	p.n++
	return a, true
}
