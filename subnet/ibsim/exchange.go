package ibsim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// request is one place in flight. Its owner is the Exchange that took it from Client.free;
// the fields under mu are shared with the reader.
type request struct {
	index   uint32
	turn    uint32 // of this place, makes the transaction IDs of its users differ
	out     [datagramSize]byte
	timer   *time.Timer
	arrived chan struct{} // one token when response and status are valid

	mu       sync.Mutex
	tid      uint32 // 0: nothing expected
	class    mad.Class
	status   uint32 // of the envelope
	response mad.Packet
}

// indexBits of a transaction ID hold the place, the rest the turn; MaxInFlight places fit.
const indexBits = 10

// nextTID gives the transaction ID of a new user of the place. It is never 0, which
// libraries treat as "assign one", and repeats only after 4 million turns.
func (r *request) nextTID() uint32 {
	r.turn++
	if r.turn<<indexBits == 0 {
		r.turn = 1
	}
	return r.turn<<indexBits | r.index
}

func (r *request) expect(tid uint32, class mad.Class) {
	r.mu.Lock()
	r.tid, r.class = tid, class
	r.mu.Unlock()
}

// forget makes later responses late ones and removes the token of one that came in between.
func (r *request) forget() {
	r.expect(0, 0)
	select {
	case <-r.arrived:
	default:
	}
}

// Exchange implements mad.Transport. Besides mad.ErrTimeout it returns the context's error,
// ErrClosed, and errors of a request that does not fit its target. A packet that the fabric
// could not deliver comes back with status 110 in its envelope and is mad.ErrTimeout at
// once, without waiting and without further tries, exactly as the C library has it. A server
// whose socket is gone is mad.ErrTimeout too. Exchange may outlast the end of ctx by the
// timeout of one try while the server takes nothing from its socket.
func (c *Client) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	if err := check(to, req); err != nil {
		return mad.Packet{}, err
	}
	if c.failed.Load() != nil {
		return mad.Packet{}, c.closedErr()
	}
	r, err := c.place(ctx)
	if err != nil {
		return mad.Packet{}, err
	}
	defer func() { c.free <- r }()

	tid := r.nextTID()
	if err := r.prepare(to, req, tid); err != nil {
		return mad.Packet{}, err
	}
	r.expect(tid, req.Class())
	defer r.forget()
	return c.tries(ctx, r)
}

// place waits for a place in flight.
func (c *Client) place(ctx context.Context) (*request, error) {
	select {
	case r := <-c.free: // the usual case, at a fraction of the cost of the other
		return r, nil
	default:
	}
	select {
	case r := <-c.free:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-c.closed:
		return nil, c.closedErr()
	}
}

// tries sends the prepared request until something comes back.
func (c *Client) tries(ctx context.Context, r *request) (mad.Packet, error) {
	defer r.timer.Stop()
	for n := range c.opts.Retries + 1 {
		if n > 0 {
			c.stats.retries.Add(1)
		}
		if err := c.send(r); err != nil {
			return mad.Packet{}, err
		}
		r.timer.Reset(c.opts.wait(n))
		select {
		case <-r.arrived:
			return c.result(r)
		case <-ctx.Done():
			return mad.Packet{}, context.Cause(ctx)
		case <-c.closed:
			return mad.Packet{}, c.closedErr()
		case <-r.timer.C:
		}
	}
	c.stats.timeouts.Add(1)
	return mad.Packet{}, fmt.Errorf("%w in %d tries", mad.ErrTimeout, c.opts.Retries+1)
}

func (c *Client) result(r *request) (mad.Packet, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		return r.response, nil
	}
	if c.failed.Load() != nil {
		return mad.Packet{}, c.closedErr()
	}
	c.stats.undeliverable.Add(1)
	return mad.Packet{}, errUndeliverable
}

var errUndeliverable = fmt.Errorf("%w: not delivered by the fabric", mad.ErrTimeout)

// send writes the datagram. A full queue at the server that does not drain within the
// timeout counts as a lost datagram.
func (c *Client) send(r *request) error {
	c.stats.sent.Add(1)
	if err := c.sock.data.SetWriteDeadline(time.Now().Add(c.opts.Timeout)); err != nil {
		return c.closedErr()
	}
	if _, err := c.sock.data.Write(r.out[:]); err != nil {
		return c.sendErr(err)
	}
	return nil
}

// sendErr says what a failed write means: nil for a datagram that got lost.
func (c *Client) sendErr(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, net.ErrClosed):
		return c.closedErr()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ENOTCONN):
		if c.sock.base == "" {
			return nil // UDP: says something of an earlier datagram, the next may get through
		}
		return fmt.Errorf("%w: the server is gone: %w", mad.ErrTimeout, err)
	default:
		return fmt.Errorf("send: %w", err)
	}
}

// check refuses a request whose class does not fit its target.
func check(to mad.Target, req *mad.Packet) error {
	class := req.Class()
	switch {
	case to.LID == 0 && class != mad.ClassSubnDR:
		return fmt.Errorf("%s on a directed route: want class %s, or a LID", class, mad.ClassSubnDR)
	case to.LID != 0 && class == mad.ClassSubnDR:
		return fmt.Errorf("%s to LID %d: want class %s, or a path", class, to.LID, mad.ClassSubnLID)
	case to.LID == ident.PermissiveLID:
		return fmt.Errorf("request to LID %d: want 1 to %d", to.LID, ident.PermissiveLID-1)
	}
	return nil
}

// prepare fills the datagram: envelope, request, transaction ID and directed route.
func (r *request) prepare(to mad.Target, req *mad.Packet, tid uint32) error {
	p := (*mad.Packet)(r.out[envelopeSize:])
	*p = *req
	p.SetTID(uint64(tid))
	e := envelope{dlid: uint16(to.LID), dqp: req.Class().QPN(), sqp: req.Class().QPN()}
	if to.LID == 0 {
		if err := p.SetRoute(to.Path); err != nil {
			return err
		}
		e.dlid, e.slid = permissive, permissive
	}
	e.encode(&r.out)
	return nil
}

// maxReadErrors in a row end the reader: the socket is broken, not the path to the server.
const maxReadErrors = 64

// read is the client's goroutine: it hands each response to the request it answers.
func (c *Client) read() {
	buf := make([]byte, datagramSize+1)
	bad := 0
	for {
		n, err := c.sock.data.Read(buf)
		if err != nil {
			if bad++; errors.Is(err, net.ErrClosed) || bad >= maxReadErrors {
				c.fail(err)
				return
			}
			continue
		}
		bad = 0
		c.stats.received.Add(1)
		c.dispatch(buf[:n])
	}
}

// fail ends every exchange after the reader ended for a reason other than Close.
func (c *Client) fail(err error) {
	select {
	case <-c.closed:
		return
	default:
	}
	c.failed.Store(&err)
	for i := range c.table {
		r := &c.table[i]
		r.mu.Lock()
		if r.tid != 0 {
			r.answer(statusTimedOut)
		}
		r.mu.Unlock()
	}
}

// answer gives the owner its token. The caller holds mu and has checked that a response is
// expected, so that there is room for the token.
func (r *request) answer(status uint32) {
	r.status, r.tid = status, 0
	r.arrived <- struct{}{}
}

// dispatch takes a datagram apart and wakes the request it belongs to.
func (c *Client) dispatch(b []byte) {
	e, p, err := decodeDatagram(b)
	if err != nil {
		c.stats.malformed.Add(1)
		return
	}
	if e.status == 0 && !p.IsResponse() {
		c.stats.unsolicited.Add(1)
		return
	}
	tid := binary.BigEndian.Uint32(p[12:])
	index := tid & (1<<indexBits - 1)
	if int(index) >= len(c.table) {
		c.stats.late.Add(1)
		return
	}
	r := &c.table[index]
	r.mu.Lock()
	defer r.mu.Unlock()
	if tid == 0 || r.tid != tid || r.class != p.Class() { // 0 stands for a request that expects nothing
		c.stats.late.Add(1)
		return
	}
	r.response = *p
	r.answer(e.status)
}

func (c *Client) closedErr() error {
	if err := c.failed.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, *err)
	}
	return ErrClosed
}
