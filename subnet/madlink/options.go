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

// Options configure a Link; the zero value is the default.
type Options struct {
	// InFlight bounds the requests in flight: 1 to 1024; 0 means 64.
	InFlight int
	// PerTarget bounds the requests in flight to one target; 0 sets no bound except InFlight. Agents of real devices have
	// short queues and drop excess requests.
	PerTarget int
	// Timeout is how long the first try waits for its response; each further try waits twice as long as the one
	// before, up to 8 times. 0 means 500 ms. Once the link has measured much shorter response times, two shorter
	// tries precede the first: see roundtrip.go.
	Timeout time.Duration
	// Retries is how often a lost request is repeated: 0 means 2, a negative number none.
	Retries int
	// Grace is how long the link waits beyond a try's patience for a wire that itself reports a missing response
	// (Expired); 0 for other wires.
	Grace time.Duration
}

// WithDefaults sets defaults and rejects values out of range.
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

// Patience returns how long try n, counted from 0, waits for its response.
func (o Options) Patience(n int) time.Duration { return o.Timeout << max(min(n, maxBackoffShift), 0) }

// ErrClosed is wrapped by Exchange after Close, or when the wire broke.
var ErrClosed = errors.New("client closed")

// Stats counts the events of a Link since New.
type Stats struct {
	Sent          uint64 // datagrams, including repetitions
	Received      uint64 // datagrams
	Retries       uint64 // repetitions
	Timeouts      uint64 // requests given up after every try
	Undeliverable uint64 // requests that the fabric returned: no route, link down, no agent
	Late          uint64 // responses without a request: late, duplicate or forged
	Unsolicited   uint64 // requests from others, such as traps; dropped
	Malformed     uint64 // datagrams that are not an envelope with a MAD
}
