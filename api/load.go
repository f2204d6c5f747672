package api

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Bounds of what is under way at once. Beyond them requests wait a little and are then turned away, so that a flood
// cannot fill the memory.
const (
	maxRequests = 256 // that read
	maxWrites   = 128 // that change something: they take turns at the database, and reads do not wait behind them
	maxSlow     = 16  // that talk to devices or compile
	maxStreams  = 256
	// Whoever holds a place long, others wait for: one caller, and all together who act on single tenants only,
	// have a part of the places.
	maxOwnSlow       = 4
	maxOwnStreams    = 16
	maxTenantSlow    = maxSlow / 2
	maxTenantStreams = maxStreams / 2
	maxBodies        = 32 // that one caller sends at once
	// Somebody unknown sends little, a name and a password, and soon: bodies at once from one source and from all.
	maxUnknownBodies    = 8
	maxAllUnknownBodies = 32
	unknownBodyTime     = 10 * time.Second
	// patience is how long a request waits for its turn.
	patience = 2 * time.Second
)

// load counts what is under way.
type load struct {
	requests, writes, slow, streams chan struct{}
	bodies, held                    tally
}

func newLoad() load {
	return load{
		requests: make(chan struct{}, maxRequests), writes: make(chan struct{}, maxWrites),
		slow: make(chan struct{}, maxSlow), streams: make(chan struct{}, maxStreams),
	}
}

// tally counts by name. The zero value is ready.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

// enter counts one more of a name, unless there are as many as may be; leave takes it back.
func (t *tally) enter(name string, most int) (leave func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count[name] >= most {
		return nil, false
	}
	if t.count == nil {
		t.count = map[string]int{}
	}
	t.count[name]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.count[name]--; t.count[name] == 0 {
			delete(t.count, name)
		}
	}, true
}

// enterAll counts one more of each name, or none when one of them, which is returned, has as many as may be.
func (t *tally) enterAll(bounds ...bound) (leave func(), full *bound) {
	var left []func()
	leave = func() {
		for _, f := range left {
			f()
		}
	}
	for i, b := range bounds {
		f, ok := t.enter(b.name, b.most)
		if !ok {
			leave()
			return nil, &bounds[i]
		}
		left = append(left, f)
	}
	return leave, nil
}

// bound is how many of a name there may be.
type bound struct {
	name string
	most int
}

// enter waits for a turn; leave gives it back.
func (l *load) enter(ctx context.Context, slow, writes bool) (leave func(), err error) {
	turns := l.requests
	switch {
	case slow:
		turns = l.slow
	case writes:
		turns = l.writes
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-ctx.Done():
		return nil, busy("more requests are under way than the service takes; come back in a second")
	}
}

// busy turns a request away that may come back in a second.
func busy(format string, args ...any) error {
	return &problemError{code: "busy", detail: fmt.Sprintf(format, args...), after: 1}
}

// stream takes a place among the streams.
func (l *load) stream() (leave func(), err error) {
	select {
	case l.streams <- struct{}{}:
		return func() { <-l.streams }, nil
	default:
		return nil, &problemError{code: "busy", detail: "more event streams are open than the service takes", after: 10}
	}
}
