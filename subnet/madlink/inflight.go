package madlink

import (
	"context"
	"sync"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// turns bounds the requests in flight to each target. It stores only targets with requests.
type turns struct {
	most int

	mu     sync.Mutex
	queues map[address]*queue
}

// address is a comparable mad.Target.
type address struct {
	lid  ident.LID
	path string // egress ports of a directed route, one byte each
}

// queue is the queue of requests to one target.
type queue struct {
	to    address
	users int           // waiting or in flight; under turns.mu
	slots chan struct{} // one token for each in flight
}

// take waits for a turn at the target.
func (t *turns) take(ctx context.Context, l *Link, to mad.Target) (*queue, error) {
	q := t.enter(to)
	select {
	case q.slots <- struct{}{}:
		return q, nil
	case <-ctx.Done():
		t.exit(q)
		return nil, context.Cause(ctx)
	case <-l.closed:
		t.exit(q)
		return nil, l.ClosedErr()
	}
}

// give ends a turn.
func (t *turns) give(q *queue) {
	<-q.slots
	t.exit(q)
}

func (t *turns) enter(to mad.Target) *queue {
	a := address{lid: to.LID}
	if to.LID == 0 {
		path := make([]byte, len(to.Path))
		for i, p := range to.Path {
			path[i] = byte(p)
		}
		a.path = string(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.queues[a]
	if q == nil {
		if t.queues == nil {
			t.queues = make(map[address]*queue)
		}
		q = &queue{to: a, slots: make(chan struct{}, t.most)}
		t.queues[a] = q
	}
	q.users++
	return q
}

func (t *turns) exit(q *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(t.queues, q.to)
	}
}
