// Package keylock has one lock for each key, which callers wait for until a context ends.
package keylock

import (
	"context"
	"sync"
)

// Locks are the locks of keys. The zero value is ready to use. Keys without a holder take no memory.
type Locks[K comparable] struct {
	mu    sync.Mutex
	locks map[K]*lock
}

type lock struct {
	turn  chan struct{} // buffers one: the caller that has the lock
	users int           // callers that have the lock or wait for it
}

// Lock takes the lock of a key; callers get it in the order of their calls. It fails only when the context ends.
func (l *Locks[K]) Lock(ctx context.Context, key K) (unlock func(), err error) {
	l.mu.Lock()
	k := l.locks[key]
	if k == nil {
		if l.locks == nil {
			l.locks = map[K]*lock{}
		}
		k = &lock{turn: make(chan struct{}, 1)}
		l.locks[key] = k
	}
	k.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.locks, key)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
