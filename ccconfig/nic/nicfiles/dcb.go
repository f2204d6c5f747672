package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"fairlane/ccconfig/nic/dcbnl"
	"fairlane/ccconfig/nic/nicparam"
)

// Socket is a route netlink socket of the host.
type Socket interface {
	// Exchange sends one request and returns the messages of the reply, up to and including the kernel's acknowledgement or
	// error.
	Exchange(ctx context.Context, request []byte) ([]byte, error)
}

// DCB accesses one port through DCB netlink. A DSCP without an entry in the application table has priority 0, as in the mlx5
// driver.
//
// A write is one request that sets and one that deletes entries. The kernel reports one result for each whole request; a failed
// request may have been executed in part.
type DCB struct {
	socket   Socket
	codec    dcbnl.Codec
	table    *nicparam.Table
	port     Port
	sequence atomic.Uint32
}

// NewDCB returns the access to a port.
func NewDCB(socket Socket, codec dcbnl.Codec, table *nicparam.Table, port Port) (*DCB, error) {
	if err := checkName(fmt.Sprintf("port %d: network device", port.Number), port.NetDev, dcbnl.MaxInterface); err != nil {
		return nil, err
	}
	return &DCB{socket: socket, codec: codec, table: table, port: port}, nil
}

var _ Accessor = (*DCB)(nil)

func (d *DCB) Backend() nicparam.Backend { return nicparam.DCB }

func (d *DCB) Keys() []nicparam.Key { return KeysOf(d.table, nicparam.DCB, d.port.Number) }

func (d *DCB) Knows(k nicparam.Key) bool {
	return k.Port == d.port.Number && ParamOf(d.table, nicparam.DCB, k.Name, k.Index) != nil
}

// exchange sends a request and returns the reply without the acknowledgement.
func (d *DCB) exchange(ctx context.Context, m dcbnl.Message) (*dcbnl.Message, error) {
	m.Sequence = d.sequence.Add(1)
	b, err := d.codec.Encode(&m)
	if err != nil {
		return nil, err
	}
	replies, err := d.socket.Exchange(ctx, b)
	if err != nil {
		return nil, err
	}
	parts, err := d.codec.Split(replies)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		r, err := d.codec.Decode(p)
		var refused *dcbnl.KernelError
		switch {
		case errors.As(err, &refused) && refused.Sequence != m.Sequence: // of an earlier, abandoned request
		case err != nil:
			return nil, err
		case r.Sequence != m.Sequence || r.Ack:
		default:
			return r, nil
		}
	}
	return nil, fmt.Errorf("dcb netlink: found no reply to request %d among %d messages", m.Sequence, len(parts))
}

// get reads the port's objects.
func (d *DCB) get(ctx context.Context) (*dcbnl.IEEE, error) {
	m, err := d.exchange(ctx, dcbnl.Get(d.port.NetDev, 0))
	if err != nil {
		return nil, fmt.Errorf("DCB of %s: %w: %w", d.port.NetDev, ErrUnreadable, err)
	}
	if m.IEEE == nil {
		return nil, fmt.Errorf("DCB of %s: %w: a reply without IEEE objects", d.port.NetDev, ErrAbsent)
	}
	return m.IEEE, nil
}

// Read sends one request for any number of keys.
func (d *DCB) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	out := make([]Reading, len(keys))
	ieee, err := d.get(ctx)
	for i, k := range keys {
		out[i] = Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.DCB, Err: err}
		if err != nil {
			continue
		}
		v, ok := ieee.Value(k.Name, k.Index)
		if k.Port != d.port.Number || !ok && k.Name != "dscp2prio" {
			out[i].Err = fmt.Errorf("%s in DCB of %s: %w", k, d.port.NetDev, ErrAbsent)
			continue
		}
		out[i].Value = v
	}
	return out
}

func (d *DCB) Write(ctx context.Context, set []nicparam.Setting) []error {
	err := d.write(ctx, func(now *dcbnl.IEEE) (dcbnl.Change, error) { return now.Plan(set) })
	errs := make([]error, len(set))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// write reads the port's state, plans a change of it and applies it.
func (d *DCB) write(ctx context.Context, plan func(*dcbnl.IEEE) (dcbnl.Change, error)) error {
	now, err := d.get(ctx)
	if err != nil {
		return err
	}
	c, err := plan(now)
	if err != nil {
		return fmt.Errorf("DCB of %s: %w", d.port.NetDev, err)
	}
	if c.Set != nil {
		if err := d.send(ctx, dcbnl.Set(d.port.NetDev, 0, c.Set)); err != nil {
			return err
		}
	}
	if len(c.Delete) == 0 {
		return nil
	}
	if c.Set != nil && len(c.Set.Apps) > 0 {
		// The mlx5 driver keeps one priority for each DSCP: the new entry has replaced the old one, and the deletion of the old
		// one would fail. Other drivers keep both.
		if now, err = d.get(ctx); err != nil {
			return err
		}
		c.Delete = slices.DeleteFunc(slices.Clone(c.Delete), func(a dcbnl.App) bool { return !slices.Contains(now.Apps, a) })
		if len(c.Delete) == 0 {
			return nil
		}
	}
	return d.send(ctx, dcbnl.Delete(d.port.NetDev, 0, c.Delete))
}

// send sends a request with changes.
func (d *DCB) send(ctx context.Context, m dcbnl.Message) error {
	r, err := d.exchange(ctx, m)
	if err != nil {
		return fmt.Errorf("DCB of %s: %w: %w", d.port.NetDev, ErrRefused, err)
	}
	if r.Status == nil || *r.Status != 0 {
		return fmt.Errorf("DCB of %s: %w: %w", d.port.NetDev, ErrRefused, statusError(r))
	}
	return nil
}

// statusError returns the failure in a reply to a set request: the kernel stores a negative error number in one byte.
func statusError(r *dcbnl.Message) error {
	if r.Status == nil {
		return fmt.Errorf("a reply to command %d without a status", r.Command)
	}
	return &dcbnl.KernelError{Sequence: r.Sequence, Errno: -int32(int8(*r.Status))}
}

var _ Rewinder = (*DCB)(nil)

func (d *DCB) Snapshot(ctx context.Context) (func(context.Context) error, error) {
	before, err := d.get(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return d.write(ctx, func(now *dcbnl.IEEE) (dcbnl.Change, error) { return now.Back(before), nil })
	}, nil
}
