package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// List is a source of a given list of flows.
type List struct{ rest []Arrival }

// NewList returns a source of these flows, sorted by start; flows with the same start keep their order. It returns an error for
// equal or invalid hosts, sizes outside 0 (unlimited) to MaxBytes, and starts outside 0 to 10^6 s; the error names the flow,
// counted from 1.
func NewList(flows []Arrival) (*List, error) {
	for i, f := range flows {
		if err := checkFlow(f); err != nil {
			return nil, fmt.Errorf("flow %d: %w", i+1, err)
		}
	}
	rest := slices.Clone(flows)
	slices.SortStableFunc(rest, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	return &List{rest}, nil
}

func checkFlow(f Arrival) error {
	if f.Src == f.Dst {
		return fmt.Errorf("from host %d to itself: want two different hosts", f.Src)
	}
	return cmp.Or(
		checkRange("source", f.Src, 0, MaxHosts-1), checkRange("destination", f.Dst, 0, MaxHosts-1),
		checkRange("size", f.Bytes, 0, MaxBytes), checkInstant("start", f.At),
	)
}

// Next returns the next flow.
func (l *List) Next() (Arrival, bool) {
	if len(l.rest) == 0 {
		return Arrival{}, false
	}
	a := l.rest[0]
	l.rest = l.rest[1:]
	return a, true
}

// BatchOptions describes flows between random hosts that all start at the same time.
type BatchOptions struct {
	Seed  uint64
	Pairs *Pairs
	Count int64  // number of flows, at least 1
	Sizes *Sizes // nil means unlimited flows
	At    quantity.Picoseconds
	Label
}

// Batch is a source of flows that start at one instant.
type Batch struct {
	o            BatchOptions
	sizes, pairs sim.RNG
	n            int64
}

// NewBatch validates the options.
func NewBatch(o BatchOptions) (*Batch, error) {
	if o.Pairs == nil {
		return nil, errors.New("batch: pairs are missing")
	}
	if o.Count < 1 {
		return nil, fmt.Errorf("batch: %d flows: want 1 or more", o.Count)
	}
	if err := checkInstant("start", o.At); err != nil {
		return nil, fmt.Errorf("batch: %w", err)
	}
	return &Batch{o: o, sizes: stream(o.Seed, streamSizes), pairs: stream(o.Seed, streamPairs)}, nil
}

// Next returns the next flow.
func (b *Batch) Next() (Arrival, bool) {
	if b.n == b.o.Count {
		return Arrival{}, false
	}
	a := Arrival{At: b.o.At, Flow: b.n, Label: b.o.Label}
	if b.o.Sizes != nil {
		a.Bytes = b.o.Sizes.Sample(&b.sizes)
	}
	a.Src, a.Dst = b.o.Pairs.Draw(&b.pairs)
	b.n++
	return a, true
}

// PatternOptions describes flows of one size in a fixed pattern of hosts.
type PatternOptions struct {
	Seed  uint64 // used by Permutation only
	Hosts []int32
	Bytes int64 // size of each flow; 0 means unlimited
	At    quantity.Picoseconds
	Label
}

func (o *PatternOptions) check() error {
	return cmp.Or(checkHosts(o.Hosts), checkRange("size", o.Bytes, 0, MaxBytes), checkInstant("start", o.At))
}

// Permutation returns a source of one flow from each host, in the order of Hosts, to a random different host. Each host
// receives exactly one flow. All such assignments are equally likely.
func Permutation(o PatternOptions) (Source, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("permutation: %w", err)
	}
	rng := stream(o.Seed, streamOrder)
	to := slices.Clone(o.Hosts)
	for fixed := true; fixed; { // a shuffle moves every host with probability 1/e
		shuffle(&rng, to, len(to))
		fixed = false
		for i := range to {
			fixed = fixed || to[i] == o.Hosts[i]
		}
	}
	p := &pattern{o: o, n: int64(len(to)), to: to}
	p.o.Hosts = slices.Clone(o.Hosts)
	return p, nil
}

// AllToAll returns a source of one flow from each host to every other host, all at the same time. The order is: each host's
// flow to its successor in Hosts, then to the second successor, and so on. The first flows therefore have different
// receivers.
func AllToAll(o PatternOptions) (Source, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("all-to-all: %w", err)
	}
	p := &pattern{o: o, n: int64(len(o.Hosts)) * int64(len(o.Hosts)-1)}
	p.o.Hosts = slices.Clone(o.Hosts)
	return p, nil
}

// pattern iterates over the flows of a permutation, or of all pairs if to is nil.
type pattern struct {
	o     PatternOptions
	to    []int32
	at, n int64
}

func (p *pattern) Next() (Arrival, bool) {
	if p.at == p.n {
		return Arrival{}, false
	}
	hosts := int64(len(p.o.Hosts))
	i, shift := p.at%hosts, p.at/hosts+1
	a := Arrival{At: p.o.At, Flow: p.at, Bytes: p.o.Bytes, Src: p.o.Hosts[i], Label: p.o.Label}
	if p.to != nil {
		a.Dst = p.to[i]
	} else {
		a.Dst = p.o.Hosts[(i+shift)%hosts]
	}
	p.at++
	return a, true
}
