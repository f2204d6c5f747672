package simdev

import (
	"context"
	"encoding/binary"
	"sort"
	"sync"
	"time"
)

// maxDelayed is the largest number of delayed responses at a time.
const maxDelayed = 4096

// delayLine holds responses until they are due.
type delayLine struct {
	mu      sync.Mutex
	waiting []delayed // by due time
	wake    chan struct{}
}

type delayed struct {
	due time.Time
	to  *client
	b   [datagramSize]byte
}

func newDelayLine() *delayLine { return &delayLine{wake: make(chan struct{}, 1)} }

// add queues a copy of the datagram; false when the line is full.
func (l *delayLine) add(due time.Time, to *client, b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxDelayed {
		return false
	}
	i := sort.Search(len(l.waiting), func(i int) bool { return l.waiting[i].due.After(due) })
	l.waiting = append(l.waiting, delayed{})
	copy(l.waiting[i+1:], l.waiting[i:])
	l.waiting[i] = delayed{due: due, to: to, b: [datagramSize]byte(b)}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

// run sends due responses until ctx ends.
func (l *delayLine) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(l.sendDue(time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// sendDue sends the due responses and returns the time until the next is due.
func (l *delayLine) sendDue(now time.Time) time.Duration {
	l.mu.Lock()
	n := sort.Search(len(l.waiting), func(i int) bool { return l.waiting[i].due.After(now) })
	due := append([]delayed(nil), l.waiting[:n]...)
	l.waiting = append(l.waiting[:0], l.waiting[n:]...)
	next := time.Hour
	if len(l.waiting) > 0 {
		next = l.waiting[0].due.Sub(now)
	}
	l.mu.Unlock()
	for i := range due {
		_ = due[i].to.out.send(due[i].b[:]) // reap and serveClient detect a client that has ended
	}
	return next
}

// markUndeliverable sets the envelope status of an encoded datagram.
func markUndeliverable(b []byte) { binary.BigEndian.PutUint32(b[16:], statusTimedOut) }
