package p4dev

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"fairlane/wrcc"
	"fairlane/wrcc/p4info"
)

// maxUpdates is the largest number of updates of one Write.
const maxUpdates = 4096

// write executes a batch, and returns the status of each update if any failed.
func (d *Device) write(r *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	if err := d.hasPipeline(); err != nil {
		return nil, err
	}
	if err := d.mayWrite(r.GetRole(), r.GetElectionId()); err != nil {
		return nil, err
	}
	if a := r.GetAtomicity(); a != p4v1.WriteRequest_CONTINUE_ON_ERROR {
		return nil, status.Errorf(codes.Unimplemented, "atomicity %s: want CONTINUE_ON_ERROR", a)
	}
	if n := len(r.GetUpdates()); n > maxUpdates {
		return nil, status.Errorf(codes.InvalidArgument, "%d updates in a batch: want at most %d", n, maxUpdates)
	}
	do := len(r.GetUpdates())
	if d.faults.Partial {
		d.faults.Partial = false
		do /= 2
	}
	failed := false
	answers := make([]protoadapt.MessageV1, 0, len(r.GetUpdates()))
	for _, u := range r.GetUpdates()[:do] {
		s := status.Convert(d.update(u))
		failed = failed || s.Code() != codes.OK
		answers = append(answers, protoadapt.MessageV1Of(&p4v1.Error{CanonicalCode: int32(s.Code()), Message: s.Message()}))
	}
	for range len(r.GetUpdates()) - do {
		answers = append(answers, protoadapt.MessageV1Of(&p4v1.Error{}))
	}
	d.configure()
	if !failed {
		return &p4v1.WriteResponse{}, nil
	}
	s, err := status.New(codes.Unknown, "some updates failed").WithDetails(answers...)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "status of the updates: %v", err)
	}
	return nil, s.Err()
}

// update executes one update. The error is a status.
func (d *Device) update(u *p4v1.Update) error {
	switch e := u.GetEntity().GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return d.updateTable(u.GetType(), e.TableEntry)
	case *p4v1.Entity_DigestEntry:
		return d.updateDigest(u.GetType(), e.DigestEntry)
	case *p4v1.Entity_RegisterEntry, *p4v1.Entity_CounterEntry:
		return status.Error(codes.PermissionDenied, "the data plane writes registers and counters")
	case nil:
		return status.Error(codes.InvalidArgument, "no entity")
	}
	return status.Error(codes.Unimplemented, "want a table entry or a digest entry")
}

func (d *Device) updateTable(kind p4v1.Update_Type, e *p4v1.TableEntry) error {
	if _, has := d.sizes[e.GetTableId()]; !has {
		return status.Errorf(codes.NotFound, "no table 0x%08x", e.GetTableId())
	}
	port, class, err := p4info.DecodeKey(e)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	switch e.GetTableId() {
	case p4info.TablePortConfig:
		c, derr := p4info.DecodePortConfig(e)
		if derr == nil {
			derr = (&wrcc.SwitchConfig{Ports: []wrcc.PortConfig{c}}).Validate(d.ports)
			if m := d.faults.ClampTargetMbps; m > 0 {
				c.TargetMbps = min(c.TargetMbps, m)
			}
		}
		return put(d, kind, e.GetTableId(), d.portCfg, port, c, derr)
	case p4info.TableClassWeight:
		w, derr := p4info.DecodeClassWeight(e)
		if derr == nil {
			derr = (&wrcc.SwitchConfig{Weights: []wrcc.ClassWeight{w}}).ValidateRanges(d.ports)
		}
		return put(d, kind, e.GetTableId(), d.weights, wrcc.ClassWeight{Port: port, Class: class}.Key(), w, derr)
	}
	p, derr := p4info.DecodeDomain(e)
	if derr == nil {
		derr = (&wrcc.SwitchConfig{Domains: []wrcc.PortDomain{p}}).ValidateRanges(d.ports)
	}
	return put(d, kind, e.GetTableId(), d.domains, port, p, derr)
}

// put executes one update of a table. Errors in the entry matter only if more than its key is needed.
func put[K comparable, V any](d *Device, kind p4v1.Update_Type, table uint32, in map[K]V, key K, v V, wrong error) error {
	_, has := in[key]
	if kind == p4v1.Update_DELETE {
		if !has {
			return status.Error(codes.NotFound, "no such entry")
		}
		delete(in, key)
		return nil
	}
	if wrong != nil {
		return status.Error(codes.InvalidArgument, wrong.Error())
	}
	switch {
	case kind == p4v1.Update_INSERT && has:
		return status.Error(codes.AlreadyExists, "the entry exists")
	case kind == p4v1.Update_MODIFY && !has:
		return status.Error(codes.NotFound, "no such entry")
	case kind != p4v1.Update_INSERT && kind != p4v1.Update_MODIFY:
		return status.Errorf(codes.InvalidArgument, "update type %s", kind)
	case !has && len(in) >= d.sizes[table]:
		return status.Errorf(codes.ResourceExhausted, "table full: %d entries", len(in))
	}
	in[key] = v
	return nil
}

func (d *Device) updateDigest(kind p4v1.Update_Type, e *p4v1.DigestEntry) error {
	if !d.features.Digest || e.GetDigestId() != p4info.DigestCongestion {
		return status.Errorf(codes.NotFound, "no digest 0x%08x", e.GetDigestId())
	}
	has := d.digest != nil
	switch {
	case kind == p4v1.Update_INSERT && has:
		return status.Error(codes.AlreadyExists, "the digest is configured")
	case kind != p4v1.Update_INSERT && !has:
		return status.Error(codes.NotFound, "the digest is not configured")
	case kind == p4v1.Update_DELETE:
		d.digest = nil
	case kind == p4v1.Update_INSERT, kind == p4v1.Update_MODIFY:
		d.digest = e
	default:
		return status.Errorf(codes.InvalidArgument, "update type %s", kind)
	}
	return nil
}
