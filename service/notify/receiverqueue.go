package notify

import (
	"context"
	"sync"
	"time"

	"fairlane/service/webhook"
)

// maxQueue bounds the notifications that wait for a receiver. When the queue is full, the oldest is dropped, because the newest describe the current state.
const maxQueue = 256

// keepTrying bounds how long a notification is tried.
const keepTrying = time.Hour

// receiverQueue is the queue and the worker of one receiver.
type receiverQueue struct {
	receiver
	o *Options

	mu     sync.Mutex
	queue  []*parcel
	wake   chan struct{} // has room for one
	ending chan struct{} // closed by finish
	health health
}

// parcel is a notification on its way to one receiver.
type parcel struct {
	id   string
	note *Notification
	from time.Time
}

func newReceiverQueue(r receiver, o *Options) *receiverQueue {
	return &receiverQueue{receiver: r, o: o, wake: make(chan struct{}, 1), ending: make(chan struct{}), health: health{kind: r.kind(), name: r.name(), log: o.Log}}
}

// put queues a notification.
func (t *receiverQueue) put(n *Notification) {
	t.mu.Lock()
	t.queue = append(t.queue, &parcel{id: webhook.NewID(), note: n, from: time.Now()})
	dropped := len(t.queue) - maxQueue
	if dropped > 0 {
		t.queue = t.queue[dropped:]
	}
	t.mu.Unlock()
	if dropped > 0 {
		t.o.Count(t.kind(), Dropped, dropped)
	}
	nudge(t.wake)
}

// nudge wakes a worker that waits or is about to wait.
func nudge(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// waiting is the number of queued notifications.
func (t *receiverQueue) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue)
}

// finish makes run end when the queue is empty.
func (t *receiverQueue) finish() { close(t.ending) }

// run delivers until the context ends, or the queue is empty after finish. What is left is counted as dropped.
func (t *receiverQueue) run(ctx context.Context) {
	defer t.close()
	failures := 0
	for ctx.Err() == nil {
		p := t.first()
		if p == nil {
			if !await(ctx, t.wake, t.ending) {
				return
			}
			continue
		}
		err := t.deliver(ctx, p.id, p.note)
		t.health.note(ctx, err)
		switch {
		case err == nil:
			failures = 0
			t.done(p, Sent)
		case ctx.Err() != nil:
		case lasting(err) || time.Since(p.from) >= keepTrying:
			failures = 0 // the next notification may be acceptable
			t.done(p, Failed)
		default:
			failures++
			t.o.Count(t.kind(), Retried, 1)
			rest(ctx, pause(failures))
		}
	}
	if left := t.waiting(); left > 0 {
		t.o.Count(t.kind(), Dropped, left)
	}
}

// await waits for work; false when there will be none.
func await(ctx context.Context, wake, ending <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
	}
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	case <-ending:
		return false
	}
}

func (t *receiverQueue) first() *parcel {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		return nil
	}
	return t.queue[0]
}

// done removes a notification, unless a full queue has displaced it meanwhile, in which case it was counted as dropped.
func (t *receiverQueue) done(p *parcel, o Outcome) {
	t.mu.Lock()
	mine := len(t.queue) > 0 && t.queue[0] == p
	if mine {
		t.queue = t.queue[1:]
	}
	t.mu.Unlock()
	if mine {
		t.o.Count(t.kind(), o, 1)
	}
}
