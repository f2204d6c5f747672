package ibsim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// ErrRefused is wrapped when the server refuses a control request: no free slot, an unknown node, or a second subnet
// manager on one node.
var ErrRefused = errors.New("refused by the server")

// ask sends a control request and waits for its reply. Replies of another kind belong to requests given up earlier and
// are skipped.
func (c *Client) ask(ctx context.Context, kind controlType, data []byte) ([controlData]byte, error) {
	c.controlMu.Lock()
	defer c.controlMu.Unlock()
	m := control{client: c.slot, kind: kind}
	copy(m.data[:], data)
	var out [controlSize]byte
	m.encode(&out, len(data))
	conn := c.sock.control
	if err := conn.SetDeadline(time.Now().Add(c.controlTimeout)); err != nil {
		return m.data, fmt.Errorf("%s: %w", kind, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(out[:]); err != nil {
		return m.data, fmt.Errorf("%s: %w", kind, asTimeout(ctx, err))
	}
	in := make([]byte, controlSize+1)
	for {
		n, err := conn.Read(in)
		if err != nil {
			return m.data, fmt.Errorf("%s: %w", kind, asTimeout(ctx, err))
		}
		r, err := decodeControl(in[:n])
		switch {
		case err != nil:
			return m.data, fmt.Errorf("%s: %w", kind, err)
		case r.kind == controlError:
			return m.data, fmt.Errorf("%s: %w", kind, ErrRefused)
		case r.kind == kind:
			return r.data, nil
		}
	}
}

// connect requests a slot on the requested node and connects the data socket to it.
func (c *Client) connect(ctx context.Context) error {
	var info [infoSize]byte
	binary.LittleEndian.PutUint32(info[infoID:], c.sock.id)
	if c.opts.SubnetManager {
		binary.LittleEndian.PutUint32(info[infoIsSM:], 1)
	}
	if len(c.opts.NodeID) >= infoNodeSize {
		return fmt.Errorf("node id %q: want at most %d bytes", c.opts.NodeID, infoNodeSize-1)
	}
	copy(info[infoNode:], c.opts.NodeID)
	reply, err := c.ask(ctx, controlConnect, info[:])
	if err != nil {
		return err
	}
	c.slot = binary.LittleEndian.Uint32(reply[infoID:])
	node, _, _ := bytes.Cut(reply[infoNode:infoSize], []byte{0})
	c.nodeID = string(node)
	return c.sock.attach(c.slot)
}

// learn reads the node and port that the client is attached to.
func (c *Client) learn(ctx context.Context) error {
	b, err := c.ask(ctx, controlGetNodeInfo, nil)
	if err != nil {
		return err
	}
	if err := c.node.Decode(b[:]); err != nil {
		return err
	}
	p, err := c.PortInfo(ctx)
	c.lid = p.LID
	return err
}

// PortInfo reads the PortInfo of the client's port from the server.
func (c *Client) PortInfo(ctx context.Context) (mad.PortInfo, error) {
	var p mad.PortInfo
	b, err := c.ask(ctx, controlGetPortInfo, []byte{0})
	if err != nil {
		return p, err
	}
	return p, p.Decode(b[:])
}

// PKeys reads the P_Keys of the client's port from the server, without empty entries.
func (c *Client) PKeys(ctx context.Context) ([]ident.PKey, error) {
	b, err := c.ask(ctx, controlGetPKeys, nil)
	if err != nil {
		return nil, err
	}
	var table mad.PKeyTable
	if err := table.Decode(b[:]); err != nil {
		return nil, err
	}
	var keys []ident.PKey
	for _, k := range table {
		if k != 0 {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// asTimeout prefers the context's error over the deadline error that it caused, and marks a plain deadline as
// mad.ErrTimeout.
func asTimeout(ctx context.Context, err error) error {
	var t interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &t) && t.Timeout():
		return fmt.Errorf("%w from the server", mad.ErrTimeout)
	default:
		return err
	}
}
