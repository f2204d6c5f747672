package api

import (
	"context"
	"time"
)

// Bounds of what is under way at once. Beyond them requests wait a little and are then turned away, so that a flood
// cannot fill the memory.
const (
	maxRequests = 256
	maxSlow     = 16 // that talk to devices or compile
	maxStreams  = 256
	// patience is how long a request waits for its turn.
	patience = 2 * time.Second
)

// load counts what is under way.
type load struct{ requests, slow, streams chan struct{} }

func newLoad() load {
	return load{make(chan struct{}, maxRequests), make(chan struct{}, maxSlow), make(chan struct{}, maxStreams)}
}

// enter waits for a turn; leave gives it back.
func (l *load) enter(ctx context.Context, slow bool) (leave func(), err error) {
	turns := l.requests
	if slow {
		turns = l.slow
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
		return nil, &problemError{code: "busy", detail: "more requests are under way than the service takes; come back in a second"}
	}
}

// stream takes a place among the streams.
func (l *load) stream() (leave func(), err error) {
	select {
	case l.streams <- struct{}{}:
		return func() { <-l.streams }, nil
	default:
		return nil, &problemError{code: "busy", detail: "more event streams are open than the service takes"}
	}
}
