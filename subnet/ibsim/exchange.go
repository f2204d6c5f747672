package ibsim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// Exchange implements mad.Transport. Besides mad.ErrTimeout it returns the context's error, ErrClosed, and errors of
// a request that does not fit its target. The server returns an undeliverable packet with status 110 in its envelope:
// Exchange then returns mad.ErrTimeout without further tries, as the C library does. A closed server socket gives
// mad.ErrTimeout too. While the server does not read its socket, Exchange may outlast the end of ctx by the timeout
// of one try.
func (c *Client) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	return c.link.Exchange(ctx, to, req)
}

// wire implements madlink.Wire over the slot's data socket.
type wire struct {
	sock    *sockets
	timeout time.Duration // of one write
	closed  func() error  // returns the error of a closed client
}

// Address writes the envelope.
func (w *wire) Address(d []byte, to mad.Target) error {
	qp := (*mad.Packet)(d[envelopeSize:]).Class().QPN()
	e := envelope{dlid: uint16(to.LID), dqp: qp, sqp: qp}
	if to.LID == 0 {
		e.dlid, e.slid = permissive, permissive
	}
	e.encode((*[datagramSize]byte)(d))
	return nil
}

// Send writes the datagram. A full queue at the server that does not drain within the
// timeout counts as a lost datagram.
func (w *wire) Send(d []byte, _ time.Duration) error {
	if err := w.sock.data.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return w.closed()
	}
	if _, err := w.sock.data.Write(d); err != nil {
		return w.sendErr(err)
	}
	return nil
}

// sendErr classifies a failed write: nil for a lost datagram.
func (w *wire) sendErr(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, net.ErrClosed):
		return w.closed()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ENOTCONN):
		if w.sock.base == "" {
			return nil // UDP: the error concerns an earlier datagram, the next may get through
		}
		return fmt.Errorf("%w: the server is gone: %w", mad.ErrTimeout, err)
	default:
		return fmt.Errorf("send: %w", err)
	}
}

// maxReadErrors consecutive errors end the reader: then the socket is broken, not the path to the server.
const maxReadErrors = 64

// read is the client's goroutine: it passes each response to its request.
func (c *Client) read() {
	buf := make([]byte, datagramSize+1)
	bad := 0
	for {
		n, err := c.sock.data.Read(buf)
		if err != nil {
			if bad++; errors.Is(err, net.ErrClosed) || bad >= maxReadErrors {
				c.link.Fail(err)
				return
			}
			continue
		}
		bad = 0
		c.dispatch(buf[:n])
	}
}

// dispatch splits a datagram and passes it to its request.
func (c *Client) dispatch(b []byte) {
	e, p, err := decodeDatagram(b)
	if err != nil {
		c.link.Malformed()
		return
	}
	fate := madlink.Answered
	if e.status != 0 {
		fate = madlink.Undeliverable
	}
	c.link.Deliver(fate, p, mad.Size, nil)
}
