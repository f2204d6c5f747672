package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Options tune a Client; the zero value is good.
type Options struct {
	// NodeID names the node to attach to: its id in the fabric file, or its description.
	// Empty is the server's choice, the first node. At most 31 bytes.
	NodeID string
	// SubnetManager attaches as the subnet manager of the node, of which there may be one.
	SubnetManager bool
	// InFlight bounds the requests under way at once: 1 to 1024; 0 is 64.
	InFlight int
	// Timeout is how long the first try waits for its response; each further try waits twice
	// as long as the one before, up to 8 times. 0 is 500 ms.
	Timeout time.Duration
	// Retries is how often a lost request is sent again: 0 is 2, a negative number none.
	Retries int
}

// Bounds and defaults of Options.
const (
	MaxInFlight     = 1024
	DefaultInFlight = 64
	DefaultTimeout  = 500 * time.Millisecond
	DefaultRetries  = 2

	maxBackoffShift = 3
)

func (o Options) withDefaults() (Options, error) {
	if o.InFlight == 0 {
		o.InFlight = DefaultInFlight
	}
	if o.InFlight < 1 || o.InFlight > MaxInFlight {
		return o, fmt.Errorf("%d requests in flight: want 1 to %d", o.InFlight, MaxInFlight)
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

// controlTimeout is the patience with the control socket, where nothing is sent twice: a
// second CONNECT would take a second slot.
func (o Options) controlTimeout() time.Duration { return 4 * o.Timeout }

// wait is the patience of try n, counted from 0.
func (o Options) wait(n int) time.Duration { return o.Timeout << min(n, maxBackoffShift) }

// ErrClosed is wrapped by Exchange after Close, or when the server's socket broke.
var ErrClosed = errors.New("client closed")

// Stats counts what a Client did since Dial.
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

type counters struct {
	sent, received, retries, timeouts, undeliverable, late, unsolicited, malformed atomic.Uint64
}

// Client is a mad.Transport over one slot of a server. It is safe for concurrent use.
type Client struct {
	opts   Options
	sock   *sockets
	slot   uint32
	nodeID string
	node   mad.NodeInfo
	lid    ident.LID
	stats  counters

	controlMu sync.Mutex

	free   chan *request // requests not in use; its capacity bounds what is in flight
	table  []request     // indexed by the low bits of the transaction ID
	closed chan struct{} // closed when the client ends
	close  sync.Once
	reader sync.WaitGroup
	failed atomic.Pointer[error] // why the reader ended
}

var _ mad.Transport = (*Client)(nil)

// Dial attaches to the server at addr: "unix:NAME" for abstract Unix sockets with that base
// name, "udp:HOST:PORT" for UDP with that control port. It fails at once when no server is
// there (Unix sockets), when the server does not answer within four times the timeout
// (mad.ErrTimeout), or when it refuses (ErrRefused). Close the client when done.
func Dial(ctx context.Context, addr string, opts Options) (*Client, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	e, err := parseAddr(addr)
	if err != nil {
		return nil, err
	}
	sock, err := e.open(ctx)
	if err != nil {
		return nil, &dialError{e, err}
	}
	c := newClient(opts, sock)
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(&dialError{e, err}, sock.close())
	}
	c.reader.Go(c.read)
	if err := c.learn(ctx); err != nil {
		return nil, errors.Join(&dialError{e, err}, c.Close())
	}
	return c, nil
}

func newClient(opts Options, sock *sockets) *Client {
	c := &Client{
		opts:   opts,
		sock:   sock,
		free:   make(chan *request, opts.InFlight),
		table:  make([]request, opts.InFlight),
		closed: make(chan struct{}),
	}
	for i := range c.table {
		r := &c.table[i]
		r.index = uint32(i)
		r.arrived = make(chan struct{}, 1)
		r.timer = time.NewTimer(0)
		r.timer.Stop()
		c.free <- r
	}
	return c
}

// NodeID returns the server's name of the node the client sits on.
func (c *Client) NodeID() string { return c.nodeID }

// NodeInfo returns the NodeInfo of the node the client sits on.
func (c *Client) NodeInfo() mad.NodeInfo { return c.node }

// LID returns the LID that the client's port had when the client attached; 0 before a
// subnet manager assigned one. PortInfo asks for the present one.
func (c *Client) LID() ident.LID { return c.lid }

// Stats returns the counters.
func (c *Client) Stats() Stats {
	return Stats{
		Sent:          c.stats.sent.Load(),
		Received:      c.stats.received.Load(),
		Retries:       c.stats.retries.Load(),
		Timeouts:      c.stats.timeouts.Load(),
		Undeliverable: c.stats.undeliverable.Load(),
		Late:          c.stats.late.Load(),
		Unsolicited:   c.stats.unsolicited.Load(),
		Malformed:     c.stats.malformed.Load(),
	}
}

// Close gives the slot back to the server, ends every Exchange under way with ErrClosed and
// waits for the client's goroutine. Further calls do nothing and return nil.
func (c *Client) Close() error {
	var err error
	c.close.Do(func() {
		close(c.closed)
		_, askErr := c.ask(context.Background(), controlDisconnect, nil)
		err = errors.Join(ignoreGone(askErr), c.sock.close())
		c.reader.Wait()
	})
	return err
}

// ignoreGone drops the error of a DISCONNECT to a server that is no longer there: its slot
// is gone with it.
func ignoreGone(err error) error {
	var op *net.OpError
	if errors.As(err, &op) || errors.Is(err, mad.ErrTimeout) {
		return nil
	}
	return err
}
