package gnmidev

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/sim/faults"
)

// Faults are the message faults of a host or a switch. A lost request or reply looks to the client like a broken connection.
// The zero value injects no faults.
type Faults struct {
	faults.Messages
	// Disabled makes the device answer as if it did not have the service.
	Disabled bool
}

// gate applies the message faults of a device to requests for its tree and to their replies.
type gate struct {
	mu     sync.Mutex
	faults Faults
	sets   int
}

// Inject changes the message faults of the device.
func (g *gate) Inject(change func(*Faults)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change(&g.faults)
}

// Sets returns the number of Set requests sent to the device, including lost and rejected ones.
func (g *gate) Sets() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sets
}

var (
	errLost     = gnmitree.Errorf(codes.Unavailable, "connection lost")
	errBusy     = gnmitree.Errorf(codes.ResourceExhausted, "device busy")
	errDisabled = gnmitree.Errorf(codes.Unimplemented, "the device offers no configuration")
)

func (g *gate) arrive(write bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if write {
		g.sets++
	}
	switch g.faults.Arrive(write) {
	case faults.Lost:
		return errLost
	case faults.Busy:
		return errBusy
	}
	if g.faults.Disabled {
		return errDisabled
	}
	return nil
}

// reply applies the faults of a reply: loss and delay.
func (g *gate) reply(ctx context.Context, write bool) error {
	g.mu.Lock()
	lost, late := g.faults.Reply(write)
	g.mu.Unlock()
	if lost {
		return errLost
	}
	if late <= 0 {
		return nil
	}
	t := time.NewTimer(late)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gated is a tree behind a gate.
type gated struct {
	gnmitree.Tree
	gate *gate
}

var _ gnmitree.Tree = (*gated)(nil)

func (t *gated) Get(ctx context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	if err := t.gate.arrive(false); err != nil {
		return nil, err
	}
	out, err := t.Tree.Get(ctx, q)
	if lost := t.gate.reply(ctx, false); lost != nil {
		return nil, lost
	}
	return out, err
}

func (t *gated) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	if err := t.gate.arrive(true); err != nil {
		return gnmitree.Result{}, err
	}
	out, err := t.Tree.Set(ctx, ops)
	if lost := t.gate.reply(ctx, true); lost != nil {
		return gnmitree.Result{}, lost
	}
	return out, err
}
