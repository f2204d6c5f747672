package gnmitree

import (
	"context"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// Set implements gnmi.GNMIServer: deletes, replaces and updates in that order, as one transaction. Sets of one target are
// serialized.
func (s *Server) Set(ctx context.Context, r *gnmi.SetRequest) (out *gnmi.SetResponse, err error) {
	n := len(r.GetDelete()) + len(r.GetReplace()) + len(r.GetUpdate())
	c, from := Call{Method: "Set", Target: r.GetPrefix().GetTarget(), Peer: PeerOf(ctx), Operations: n}, time.Now()
	defer func() { s.ended(c, from, err) }()
	t, err := s.enter(ctx, c, r.GetPrefix())
	if err != nil {
		return nil, err
	}
	ops, err := t.operations(r, n)
	if err != nil {
		return nil, err
	}
	claim, err := extensions(r.GetExtension())
	if err != nil {
		return nil, err
	}
	release, err := s.masters.enter(ctx, t, claim)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := t.tree.Set(ctx, ops)
	if err != nil {
		return nil, coded(err)
	}
	if result.Time.IsZero() {
		result.Time = time.Now()
	}
	return t.done(ops, result), nil
}

func (t *target) operations(r *gnmi.SetRequest, n int) ([]Operation, error) {
	if len(r.GetUnionReplace()) > 0 {
		return nil, errorf(codes.Unimplemented, "union_replace is not supported, want delete, replace and update")
	}
	if n > t.limits.Operations {
		return nil, invalid("request has %d operations, want at most %d", n, t.limits.Operations)
	}
	ops := make([]Operation, 0, n)
	for _, p := range r.GetDelete() {
		at, err := t.writable(p)
		if err != nil {
			return nil, err
		}
		ops = append(ops, Operation{Op: OpDelete, Path: at})
	}
	for _, part := range []struct {
		op      Op
		updates []*gnmi.Update
	}{{OpReplace, r.GetReplace()}, {OpUpdate, r.GetUpdate()}} {
		for _, u := range part.updates {
			at, err := t.writable(u.GetPath())
			if err != nil {
				return nil, err
			}
			if inValue(u) {
				return nil, invalid("%s %s: the value is in the field value, which gNMI 0.3.0 deprecated: want val", part.op, at)
			}
			v, err := fromTyped(u.GetVal(), t.limits.JSONDepth)
			if err != nil {
				return nil, invalid("%s %s: %v", part.op, at, err)
			}
			ops = append(ops, Operation{part.op, at, v})
		}
	}
	return ops, nil
}

// writable returns the path of an operation, which must identify one node.
func (t *target) writable(p *gnmi.Path) (Path, error) {
	at, err := t.path(p)
	if err != nil {
		return at, err
	}
	if at.HasWildcard() {
		return at, invalid("path %s has wildcards, want the path of one node to set", at)
	}
	return at, nil
}

// done returns the answer to a successful Set.
func (t *target) done(ops []Operation, result Result) *gnmi.SetResponse {
	prefix, n := t.reply(func(yield func(Path) bool) {
		for i := range ops {
			if !yield(ops[i].Path) {
				return
			}
		}
	})
	out := &gnmi.SetResponse{Prefix: prefix, Timestamp: result.Time.UnixNano(), Response: make([]*gnmi.UpdateResult, len(ops))}
	wire := [...]gnmi.UpdateResult_Operation{OpDelete: gnmi.UpdateResult_DELETE, OpReplace: gnmi.UpdateResult_REPLACE, OpUpdate: gnmi.UpdateResult_UPDATE}
	for i, o := range ops {
		out.Response[i] = &gnmi.UpdateResult{Path: t.wire(o.Path, n, o.Path.Origin), Op: wire[o.Op]}
	}
	return out
}
