package workload

import (
	"errors"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
)

// ClosedLoopOptions describes a fixed number of requests that are always under way.
type ClosedLoopOptions struct {
	Seed  uint64
	Pairs *Pairs
	Sizes *Sizes
	Depth int   // flows under way, 1 to 2^20
	Count int64 // flows in all; 0 is no end
	At    quantity.Picoseconds
	Think quantity.Picoseconds // from the end of a flow to the start of the one that replaces it
	Label
}

// maxDepth bounds the memory of a closed loop.
const maxDepth = 1 << 20

// ClosedLoop is a Reactive job that keeps a number of flows under way: each delivered one is replaced
// by one between other hosts. Its memory is proportional to that number.
type ClosedLoop struct {
	o            ClosedLoopOptions
	sizes, pairs sim.RNG
	flying       []int64 // number of the latest flow by place, flow modulo Depth; -1 is none
	started      int64
	out          []Arrival
}

// NewClosedLoop checks the options.
func NewClosedLoop(o ClosedLoopOptions) (*ClosedLoop, error) {
	if o.Pairs == nil || o.Sizes == nil {
		return nil, errors.New("closed loop: no pairs or no sizes: want both")
	}
	if o.Count < 0 {
		return nil, fmt.Errorf("closed loop: %d flows: want 0 (no end) or more", o.Count)
	}
	for _, err := range []error{
		checkRange("depth", o.Depth, 1, maxDepth), checkInstant("start", o.At), checkInstant("think time", o.Think),
	} {
		if err != nil {
			return nil, fmt.Errorf("closed loop: %w", err)
		}
	}
	return &ClosedLoop{
		o: o, sizes: stream(o.Seed, streamSizes), pairs: stream(o.Seed, streamPairs), flying: make([]int64, o.Depth),
	}, nil
}

// Start returns the first flows, all at once.
func (l *ClosedLoop) Start() []Arrival {
	l.out = l.out[:0]
	for place := range l.flying {
		l.flying[place] = -1
		l.launch(int64(place), l.o.At)
	}
	return l.out
}

// Done returns the flow that replaces the delivered one, if any are left.
func (l *ClosedLoop) Done(flow int64, at quantity.Picoseconds) []Arrival {
	l.out = l.out[:0]
	place := flow % int64(len(l.flying))
	if flow < 0 || l.started == 0 || l.flying[place] != flow {
		return nil
	}
	l.launch(flow+int64(len(l.flying)), at+l.o.Think)
	return l.out
}

// launch starts a flow unless all have been started.
func (l *ClosedLoop) launch(flow int64, at quantity.Picoseconds) {
	if l.o.Count > 0 && l.started == l.o.Count {
		return
	}
	l.started++
	l.flying[flow%int64(len(l.flying))] = flow
	a := Arrival{At: at, Flow: flow, Bytes: l.o.Sizes.Sample(&l.sizes), Label: l.o.Label}
	a.Src, a.Dst = l.o.Pairs.Draw(&l.pairs)
	l.out = append(l.out, a)
}
