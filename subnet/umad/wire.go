package umad

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// wire sends MADs through the umad device.
type wire struct {
	dev       Device
	host      binary.ByteOrder
	agents    agents
	smSL      ident.SL
	pkeyIndex uint16
	closed    func() error // returns the error of a closed client
}

// Address writes the header.
func (w *wire) Address(d []byte, to mad.Target) error {
	class := (*mad.Packet)(d[headerSize:]).Class()
	agent, err := w.agents.of(class)
	if err != nil {
		return err
	}
	h := header{agent: agent, qpn: class.QPN(), lid: to.LID}
	if to.LID == 0 {
		h.lid = ident.PermissiveLID
	}
	if !class.IsSMP() { // SMPs travel on VL15, in no partition
		h.qkey, h.pkeyIndex, h.sl = qkeyGSI, w.pkeyIndex, to.SL
		if h.sl == 0 {
			h.sl = w.smSL
		}
	}
	h.encode(d, w.host)
	return nil
}

// Send writes the message. The kernel sends it once and waits for the response until this attempt times out. The link
// retries, with longer timeouts.
func (w *wire) Send(d []byte, patience time.Duration) error {
	ms := (patience + time.Millisecond - 1) / time.Millisecond
	w.host.PutUint32(d[offTimeout:], uint32(ms))
	n, err := w.dev.Write(d)
	switch {
	case err == nil && n == len(d):
		return nil
	case err == nil:
		return fmt.Errorf("write: %d of %d bytes written", n, len(d))
	case errors.Is(err, os.ErrClosed):
		return w.closed()
	}
	err = ioError("write", err)
	if errors.Is(err, ErrRemoved) {
		return fmt.Errorf("%w: %w", madlink.ErrClosed, err)
	}
	return err
}

// read is the client's goroutine: it passes each message to its request. It ends when the file is closed or its device
// removed.
func (c *Client) read() {
	buf := make([]byte, messageSize)
	for {
		clear(buf[:headerSize]) // a read without enough room leaves the header of the waiting message
		n, err := c.dev.Read(buf)
		switch {
		case err == nil:
			c.dispatch(buf, n)
		case errors.Is(err, syscall.ENOSPC):
			if err := c.readLong(buf); err != nil {
				c.link.Fail(err)
				return
			}
		default:
			c.link.Fail(ioError("read", err))
			return
		}
	}
}

// readLong reads a message longer than head, which holds its start. The message stays in the kernel until it is read
// completely.
func (c *Client) readLong(head []byte) error {
	h, err := decodeHeader(head, c.host)
	if err != nil {
		return err
	}
	if h.length <= uint32(len(head)) || h.length > uint32(min(headerSize+c.maxTable, 1<<31-1)) {
		return fmt.Errorf("read: response of %d bytes: want at most %d: query fewer records at a time", h.length-headerSize, c.maxTable)
	}
	buf := make([]byte, h.length)
	n, err := c.dev.Read(buf)
	if err != nil {
		return ioError("read", err)
	}
	c.dispatch(buf, n)
	return nil
}

// dispatch splits a message of n bytes and passes it to its request.
func (c *Client) dispatch(buf []byte, n int) {
	h, p, err := decodeMessage(buf, n, c.host)
	if err != nil {
		c.link.Malformed()
		return
	}
	fate := madlink.Answered
	switch h.status {
	case 0:
	case statusTimedOut:
		fate = madlink.Expired
	default:
		fate = madlink.Undeliverable
	}
	if c.traps != nil && fate == madlink.Answered && p.Method() == mad.MethodTrap {
		c.traps(h.lid, *p)
	}
	var rest []byte
	if n > messageSize {
		rest = buf[messageSize:n]
	}
	c.link.Deliver(fate, p, n-headerSize, rest)
}
