package pods

import (
	"context"
	"slices"
	"sync"

	"fairlane/agent/pods/podsock"
)

// locks are named locks that can be waited for until a context ends: one slow device delays only calls that need it.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	turn  chan struct{} // holds one value while the lock is free
	users int
}

// acquire takes the locks of some names, sorted, so that two callers never wait for each other. Empty names are ignored.
func (l *locks) acquire(ctx context.Context, names ...string) (release func(), err error) {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	slices.Sort(names)
	names = slices.Compact(names)
	var undo []func()
	release = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	for _, n := range names {
		one, err := l.one(ctx, n)
		if err != nil {
			release()
			return nil, podsock.Problemf(podsock.CodeTryAgain, "%s is in use by another call: %w", n, err)
		}
		undo = append(undo, one)
	}
	return release, nil
}

func (l *locks) one(ctx context.Context, name string) (func(), error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lock{}
	}
	k := l.held[name]
	if k == nil {
		k = &lock{turn: make(chan struct{}, 1)}
		k.turn <- struct{}{}
		l.held[name] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case <-k.turn:
		return func() { k.turn <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
