package p4rt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// change is one update with the name of its entry, such as "3" or "3/7".
type change struct {
	key    string
	update *p4v1.Update
}

// changes returns the updates from the device's entries to the desired ones, in the order of their keys.
func changes[E wrcc.Entry](have, want []E, entry func(E) *p4v1.TableEntry) []change {
	var out []change
	add := func(kind p4v1.Update_Type, v E, e *p4v1.TableEntry) {
		out = append(out, change{v.Name(), &p4v1.Update{Type: kind, Entity: p4info.Entity(e)}})
	}
	wrcc.Merge(have, want, func(h, w *E) {
		switch {
		case w == nil:
			add(p4v1.Update_DELETE, *h, p4info.Key(entry(*h)))
		case h == nil:
			add(p4v1.Update_INSERT, *w, entry(*w))
		case *h != *w:
			add(p4v1.Update_MODIFY, *w, entry(*w))
		}
	})
	return out
}

// apply writes the differences, table by table.
func (s *session) apply(ctx context.Context, have, want *wrcc.SwitchConfig) (driver.Receipt, error) {
	w := &writer{s: s, ctx: ctx}
	w.table("wrcc.domains", changes(have.Domains, want.Domains, p4info.Domain))
	if s.features.Weights > 0 {
		w.table("wrcc.weights", changes(have.Weights, want.Weights, p4info.ClassWeight))
	}
	w.table("wrcc.ports", changes(have.Ports, want.Ports, p4info.PortConfig))
	return w.receipt, w.err
}

// writer sends the batches of one Apply sequentially and records the receipt. After the first failure it records the remaining
// changes as skipped.
type writer struct {
	s       *session
	ctx     context.Context
	receipt driver.Receipt
	err     error
}

func (w *writer) table(name string, all []change) {
	if len(all) == 0 {
		w.receipt.NoteError(name, driver.OutcomeUnchanged, nil)
	}
	for batch := range slices.Chunk(all, w.s.d.o.BatchSize) {
		field := fmt.Sprintf("%s[%s..%s]", name, batch[0].key, batch[len(batch)-1].key)
		if len(batch) == 1 {
			field = fmt.Sprintf("%s[%s]", name, batch[0].key)
		}
		if w.err != nil {
			w.receipt.NoteError(field, driver.OutcomeSkipped, nil)
			continue
		}
		w.batch(name, field, batch)
	}
}

// batch sends one Write. If the device reports a status for each update, the receipt gets a field for each.
func (w *writer) batch(name, field string, batch []change) {
	all := make([]*p4v1.Update, len(batch))
	for i := range batch {
		all[i] = batch[i].update
	}
	o, each, err := w.s.write(w.ctx, all)
	w.err = err
	if each == nil {
		w.receipt.NoteError(field, o, err)
		return
	}
	w.each(name, batch, each)
}

func (w *writer) each(name string, batch []change, each []*p4v1.Error) {
	var errs []error
	for i, e := range each {
		field := fmt.Sprintf("%s[%s]", name, batch[i].key)
		if e.GetCanonicalCode() == 0 {
			w.receipt.NoteError(field, driver.OutcomeAcknowledged, nil)
			continue
		}
		code := codes.Code(uint32(e.GetCanonicalCode()))
		err := fmt.Errorf("%s of %s: %w: %s: %s", field, w.s.dev, updateKind(code), code, e.GetMessage())
		w.receipt.NoteError(field, driver.OutcomeRefused, err)
		errs = append(errs, err)
	}
	w.err = errors.Join(errs...)
}

// write sends one batch as the primary and returns the outcome; each has the status of every update if the device reports them.
func (s *session) write(ctx context.Context, all []*p4v1.Update) (o driver.Outcome, each []*p4v1.Error, err error) {
	if err := s.becomePrimary(ctx); err != nil {
		return driver.OutcomeSkipped, nil, err
	}
	err = s.send(ctx, all)
	if status.Code(err) == codes.PermissionDenied {
		// The device executed nothing. It has a new primary, or has lost our election.
		s.stream.resetRole()
		if err := s.becomePrimary(ctx); err != nil {
			return driver.OutcomeRefused, nil, err
		}
		err = s.send(ctx, all)
	}
	if err == nil {
		return driver.OutcomeAcknowledged, nil, nil
	}
	each = updates(err, len(all))
	err = s.classify(ctx, "write", err)
	return driver.OutcomeOf(err), each, err
}

func (s *session) send(ctx context.Context, all []*p4v1.Update) error {
	rctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	_, err := s.client.Write(rctx, &p4v1.WriteRequest{
		DeviceId: s.target.DeviceID, ElectionId: s.election.message(), Updates: all, Atomicity: p4v1.WriteRequest_CONTINUE_ON_ERROR,
	})
	return err
}
