package ibmad

import (
	"context"
	"errors"
	"fmt"

	"fairlane/ccconfig/driver"
	"fairlane/subnet/mad"
)

// get reads a single-block attribute of class 0x21 into a.
func (d *Driver) get(ctx context.Context, dev driver.Device, id mad.AttrID, a mad.Attribute) error {
	_, err := d.read(ctx, dev, id, 0, a)
	return err
}

// read reads one block of an attribute into a, and returns the answer for its reserved bits.
func (d *Driver) read(ctx context.Context, dev driver.Device, id mad.AttrID, modifier uint32, a mad.Attribute) (mad.Packet, error) {
	req := mad.NewCC(mad.MethodGet, id, modifier, d.o.CCKey)
	resp, err := d.exchange(ctx, dev, &req)
	if err != nil {
		return resp, err
	}
	if err := a.Decode(resp.Data()); err != nil {
		return resp, fmt.Errorf("%s of %s: %w", mad.AttrName(mad.ClassCongestion, id), dev, err)
	}
	return resp, nil
}

// set writes one attribute of class 0x21 over its last read value, so that reserved bits do not change.
func (d *Driver) set(ctx context.Context, dev driver.Device, id mad.AttrID, modifier uint32, previous []byte, a mad.Attribute) error {
	req := mad.NewCC(mad.MethodSet, id, modifier, d.o.CCKey)
	copy(req.Data(), previous)
	if err := req.Overlay(a); err != nil {
		return fmt.Errorf("%w: %s: %w", driver.ErrInvalid, dev, err)
	}
	_, err := d.exchange(ctx, dev, &req)
	return err
}

// exchange sends one request to the device and converts every failure to one of the error kinds of package driver.
func (d *Driver) exchange(ctx context.Context, dev driver.Device, req *mad.Packet) (mad.Packet, error) {
	if d.slots != nil {
		select {
		case d.slots <- struct{}{}:
			defer func() { <-d.slots }()
		case <-ctx.Done():
			return mad.Packet{}, fmt.Errorf("%s: %w", dev, ctx.Err())
		}
	}
	if err := ctx.Err(); err != nil {
		return mad.Packet{}, fmt.Errorf("%s: %w", dev, err)
	}
	resp, err := mad.Call(ctx, d.t, mad.Target{LID: dev.LID, SL: d.o.SL}, req)
	if err == nil && (resp.Class() != req.Class() || resp.Attr() != req.Attr() || resp.Modifier() != req.Modifier()) {
		err = fmt.Errorf("%w: answer to another request", mad.ErrTimeout)
	}
	if err != nil {
		return mad.Packet{}, classify(ctx, dev, req, err)
	}
	return resp, nil
}

// classify maps an error of a transport or an agent to an error kind.
func classify(ctx context.Context, dev driver.Device, req *mad.Packet, err error) error {
	what := fmt.Sprintf("%s %s of %s", req.Method(), mad.AttrName(req.Class(), req.Attr()), dev)
	var status *mad.StatusError
	switch {
	case errors.As(err, &status):
		return fmt.Errorf("%s: %w: status %s", what, statusKind(status.Status), status.Status)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case errors.Is(err, mad.ErrTimeout) && req.Class() == mad.ClassCongestion:
		return fmt.Errorf("%s: %w: %w (a wrong CC_Key also shows as silence)", what, driver.ErrUnreachable, err)
	}
	return fmt.Errorf("%s: %w: %w", what, driver.ErrUnreachable, err)
}

// statusKind maps a nonzero status to an error kind (IBTA vol. 1, 13.4.7). A redirect counts as busy, because the transport
// does not follow it to the other agent.
func statusKind(s mad.Status) error {
	switch {
	case s.Busy(), s == mad.StatusRedirect:
		return driver.ErrBusy
	case s.Unsupported():
		return driver.ErrUnsupported
	}
	return driver.ErrInvalid
}

// writer sends the writes of one Apply sequentially and records the receipt. After the first failure it records the remaining
// writes as skipped.
type writer struct {
	ctx     context.Context
	d       *Driver
	dev     driver.Device
	receipt driver.Receipt
	err     error
}

// write sends one attribute, over its last read data, if it differs from the device's value.
func (w *writer) write(field string, differs bool, id mad.AttrID, modifier uint32, previous []byte, a mad.Attribute) {
	switch {
	case w.err != nil:
		w.receipt.NoteError(field, driver.OutcomeSkipped, nil)
	case differs:
		w.err = w.d.set(w.ctx, w.dev, id, modifier, previous, a)
		w.receipt.NoteError(field, driver.OutcomeOf(w.err), w.err)
	default:
		w.receipt.NoteError(field, driver.OutcomeUnchanged, nil)
	}
}
