package madlink

import (
	"errors"
	"fmt"
	"time"
)

// Bounds and defaults of Options.
const (
	MaxInFlight     = 1024
	DefaultInFlight = 64
	DefaultTimeout  = 500 * time.Millisecond
	DefaultRetries  = 2

	maxBackoffShift = 3
)

// Options tune a Link; the zero value is good.
type Options struct {
	// InFlight bounds the requests under way at once: 1 to 1024; 0 is 64.
	InFlight int
	// PerTarget bounds the requests under way to one target; 0 is no bound but InFlight.
	// Agents of real devices have short queues, and what does not fit is dropped unseen.
	PerTarget int
	// Timeout is how long the first try waits for its response; each further try waits twice
	// as long as the one before, up to 8 times. 0 is 500 ms. Once a link knows how long answers take, and
	// that is much less, two shorter tries come before the first: see early.go.
	Timeout time.Duration
	// Retries is how often a lost request is sent again: 0 is 2, a negative number none.
	Retries int
	// Grace is what the link waits beyond a try's patience for a wire that tells by itself that
	// nothing came back (Expired); 0 where the wire does not.
	Grace time.Duration
}

// WithDefaults fills in what was left out and refuses what is out of bounds.
func (o Options) WithDefaults() (Options, error) {
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.InFlight < 1 || o.InFlight > MaxInFlight {
		return o, fmt.Errorf("%d requests in flight: want 1 to %d", o.InFlight, MaxInFlight)
	}
	if o.PerTarget < 0 {
		return o, fmt.Errorf("%d requests in flight to one target: want 1 to %d, or 0 for no bound", o.PerTarget, MaxInFlight)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Timeout < 0 {
		return o, fmt.Errorf("timeout %s: want more than 0", o.Timeout)
	}
	switch {
	case o.Retries == 0:
		o.Retries = DefaultRetries
	case o.Retries < 0:
		o.Retries = 0
	}
	return o, nil
}

// Patience is how long try n, counted from 0, waits for its response.
func (o Options) Patience(n int) time.Duration { return o.Timeout << max(min(n, maxBackoffShift), 0) }

// ErrClosed is wrapped by Exchange after Close, or when the wire broke.
var ErrClosed = errors.New("client closed")

// Stats counts what a Link did since New.
type Stats struct {
	Sent          uint64 // datagrams, repetitions included
	Received      uint64 // datagrams
	Retries       uint64 // repetitions
	Timeouts      uint64 // requests given up after every try
	Undeliverable uint64 // requests that the fabric sent back: no route, link down, no agent
	Late          uint64 // responses to nobody: late, duplicate or forged
	Unsolicited   uint64 // requests from others, such as traps; dropped
	Malformed     uint64 // datagrams that are no envelope with a MAD
}
