package ibsim

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// Options configure a Client; the zero value is the default.
type Options struct {
	// NodeID names the node to attach to: its id in the fabric file, or its description. Empty leaves the choice to the
	// server, which takes the first node. At most 31 bytes.
	NodeID string
	// SubnetManager attaches as the node's subnet manager; a node can have one.
	SubnetManager bool
	// InFlight bounds the requests in flight: 1 to 1024; 0 means 64.
	InFlight int
	// Timeout is how long the first try waits for its response; each further try waits twice as long as the one before,
	// up to 8 times. 0 means 500 ms.
	Timeout time.Duration
	// Retries is how often a lost request is repeated: 0 means 2, a negative number none.
	Retries int
}

// Bounds and defaults of Options.
const (
	MaxInFlight     = madlink.MaxInFlight
	DefaultInFlight = madlink.DefaultInFlight
	DefaultTimeout  = madlink.DefaultTimeout
	DefaultRetries  = madlink.DefaultRetries
)

// link returns the options of the link.
func (o Options) link() (madlink.Options, error) {
	return madlink.Options{InFlight: o.InFlight, Timeout: o.Timeout, Retries: o.Retries}.WithDefaults()
}

// ErrClosed is wrapped by the errors of Exchange after Close, or after the server's socket failed.
var ErrClosed = madlink.ErrClosed

// Stats counts the events of a Client since Dial.
type Stats = madlink.Stats

// Client is a mad.Transport over one slot of a server. It is safe for concurrent use.
type Client struct {
	opts   Options
	sock   *sockets
	link   *madlink.Link
	slot   uint32
	nodeID string
	node   mad.NodeInfo
	lid    ident.LID

	controlMu      sync.Mutex
	controlTimeout time.Duration

	close  sync.Once
	reader sync.WaitGroup
}

var _ mad.Transport = (*Client)(nil)

// Dial attaches to the server at addr: "unix:NAME" for abstract Unix sockets with that base name, "udp:HOST:PORT" for
// UDP with that control port. It fails at once when no server exists (Unix sockets) or the server refuses
// (ErrRefused), and with mad.ErrTimeout when the server does not answer within four times the timeout. Close the
// client when done.
func Dial(ctx context.Context, addr string, opts Options) (*Client, error) {
	lopts, err := opts.link()
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
	c := newClient(opts, lopts, sock)
	if err := c.connect(ctx); err != nil {
		return nil, errors.Join(&dialError{e, err}, sock.close())
	}
	c.reader.Go(c.read)
	if err := c.learn(ctx); err != nil {
		return nil, errors.Join(&dialError{e, err}, c.Close())
	}
	return c, nil
}

func newClient(opts Options, lopts madlink.Options, sock *sockets) *Client {
	w := &wire{sock: sock, timeout: lopts.Timeout}
	c := &Client{
		opts: opts, sock: sock,
		// Control requests are not repeated, because a second CONNECT would take a second slot. Their timeout is
		// longer instead.
		controlTimeout: 4 * lopts.Timeout,
		link:           madlink.New(lopts, envelopeSize, w),
	}
	w.closed = c.link.ClosedErr
	return c
}

// NodeID returns the server's name of the client's node.
func (c *Client) NodeID() string { return c.nodeID }

// NodeInfo returns the NodeInfo of the client's node.
func (c *Client) NodeInfo() mad.NodeInfo { return c.node }

// LID returns the LID of the client's port when it attached; 0 before a subnet manager assigned one. PortInfo reads
// the current LID.
func (c *Client) LID() ident.LID { return c.lid }

// Stats returns the counters.
func (c *Client) Stats() Stats { return c.link.Stats() }

// Close releases the slot, ends every Exchange in flight with ErrClosed and waits for the client's goroutine. Further
// calls do nothing and return nil.
func (c *Client) Close() error {
	var err error
	c.close.Do(func() {
		c.link.Close()
		_, askErr := c.ask(context.Background(), controlDisconnect, nil)
		err = errors.Join(ignoreGone(askErr), c.sock.close())
		c.reader.Wait()
	})
	return err
}

// ignoreGone ignores the error of a DISCONNECT to a server that no longer exists, and so has no slot to free.
func ignoreGone(err error) error {
	var op *net.OpError
	if errors.As(err, &op) || errors.Is(err, mad.ErrTimeout) {
		return nil
	}
	return err
}
