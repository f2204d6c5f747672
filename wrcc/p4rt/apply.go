package p4rt

import (
	"context"
	"errors"
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/driver"
	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// change is one update with the name of its entry, such as "3" or "3/7".
type change struct {
	key    string
	update *p4v1.Update
}

// changes lists what leads from the entries that a device has to those wanted, in the order of their keys.
func changes[T comparable](have, want []T, key func(T) uint32, name func(T) string, entry func(T) *p4v1.TableEntry) []change {
	var out []change
	add := func(kind p4v1.Update_Type, v T, e *p4v1.TableEntry) {
		out = append(out, change{name(v), &p4v1.Update{Type: kind, Entity: table(e)}})
	}
	for len(have) > 0 || len(want) > 0 {
		switch {
		case len(want) == 0 || len(have) > 0 && key(have[0]) < key(want[0]):
			add(p4v1.Update_DELETE, have[0], p4info.Key(entry(have[0])))
			have = have[1:]
		case len(have) == 0 || key(want[0]) < key(have[0]):
			add(p4v1.Update_INSERT, want[0], entry(want[0]))
			want = want[1:]
		default:
			if have[0] != want[0] {
				add(p4v1.Update_MODIFY, want[0], entry(want[0]))
			}
			have, want = have[1:], want[1:]
		}
	}
	return out
}

func portName(port uint16) string { return fmt.Sprint(port) }

// apply writes the differences, table by table.
func (s *session) apply(ctx context.Context, have, want *wrcc.SwitchConfig) (driver.Receipt, error) {
	w := &writer{s: s, ctx: ctx}
	w.table("wrcc.domains", changes(have.Domains, want.Domains, func(d wrcc.PortDomain) uint32 { return uint32(d.Port) },
		func(d wrcc.PortDomain) string { return portName(d.Port) }, p4info.Domain))
	if s.features.Weights > 0 {
		w.table("wrcc.weights", changes(have.Weights, want.Weights, wrcc.ClassWeight.Key,
			func(c wrcc.ClassWeight) string { return fmt.Sprintf("%d/%d", c.Port, c.Class) }, p4info.ClassWeight))
	}
	w.table("wrcc.ports", changes(have.Ports, want.Ports, func(p wrcc.PortConfig) uint32 { return uint32(p.Port) },
		func(p wrcc.PortConfig) string { return portName(p.Port) }, p4info.PortConfig))
	return w.receipt, w.err
}

// writer sends the batches of one Apply one after the other and keeps the receipt. After the first failure it only
// lists what was left out.
type writer struct {
	s       *session
	ctx     context.Context
	receipt driver.Receipt
	err     error
}

func (w *writer) note(field string, o driver.Outcome, detail string) {
	w.receipt.Fields = append(w.receipt.Fields, driver.FieldReceipt{Field: field, Outcome: o, Detail: detail})
}

func (w *writer) table(name string, all []change) {
	if len(all) == 0 {
		w.note(name, driver.OutcomeUnchanged, "")
	}
	for batch := range slices.Chunk(all, w.s.d.o.BatchSize) {
		field := fmt.Sprintf("%s[%s..%s]", name, batch[0].key, batch[len(batch)-1].key)
		if len(batch) == 1 {
			field = fmt.Sprintf("%s[%s]", name, batch[0].key)
		}
		if w.err != nil {
			w.note(field, driver.OutcomeSkipped, "")
			continue
		}
		w.batch(name, field, batch)
	}
}

// batch sends one Write. A device that answers for each update gets a field for each in the receipt.
func (w *writer) batch(name, field string, batch []change) {
	all := make([]*p4v1.Update, len(batch))
	for i := range batch {
		all[i] = batch[i].update
	}
	o, each, err := w.s.write(w.ctx, all)
	w.err = err
	switch {
	case err == nil:
		w.note(field, o, "")
	case each == nil:
		w.note(field, o, err.Error())
	default:
		w.each(name, batch, each)
	}
}

func (w *writer) each(name string, batch []change, each []*p4v1.Error) {
	var errs []error
	for i, e := range each {
		field := fmt.Sprintf("%s[%s]", name, batch[i].key)
		if e.GetCanonicalCode() == 0 {
			w.note(field, driver.OutcomeAcknowledged, "")
			continue
		}
		code := codes.Code(uint32(e.GetCanonicalCode()))
		err := fmt.Errorf("%s of %s: %w: %s: %s", field, w.s.dev, updateKind(code), code, e.GetMessage())
		w.note(field, driver.OutcomeRefused, err.Error())
		errs = append(errs, err)
	}
	w.err = errors.Join(errs...)
}

// write sends one batch as the primary, and says what became of it; each is the status of its updates where the device
// tells them apart.
func (s *session) write(ctx context.Context, all []*p4v1.Update) (o driver.Outcome, each []*p4v1.Error, err error) {
	if err := s.becomePrimary(ctx); err != nil {
		return driver.OutcomeSkipped, nil, err
	}
	err = s.send(ctx, all)
	if codeOf(err) == codes.PermissionDenied {
		// The device carried out nothing. It has a new primary, or has forgotten us.
		s.stream.doubt()
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
	return outcome(err), each, err
}

func (s *session) send(ctx context.Context, all []*p4v1.Update) error {
	rctx, cancel := s.request(ctx)
	defer cancel()
	_, err := s.client.Write(rctx, &p4v1.WriteRequest{
		DeviceId: s.target.DeviceID, ElectionId: s.election.message(), Updates: all, Atomicity: p4v1.WriteRequest_CONTINUE_ON_ERROR,
	})
	return err
}
