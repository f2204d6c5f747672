package api

import (
	"context"
	"encoding/json"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/audit"
	"fairlane/service/control"
)

func (s *Server) ListAudit(ctx context.Context, r server.ListAuditRequestObject) (server.ListAuditResponseObject, error) {
	q := r.Params
	items, next, err := listed(ctx, control.AuditFilter{
		Seq: deref(q.Seq), Actor: deref(q.Actor), Action: deref(q.Action), Object: deref(q.Object), Fabric: deref(q.Fabric), Outcome: string(deref(q.Outcome)),
		Since: deref(q.Since), Until: deref(q.Until), Oldest: deref(q.Order) == gen.ListAuditParamsOrderOldest,
	}, q.Limit, q.Cursor, s.control.ListAudit, auditOut)
	return server.ListAudit200JSONResponse{Items: items, NextCursor: next}, err
}

func auditOut(e audit.Entry) gen.AuditEntry {
	return gen.AuditEntry{
		Seq: e.Seq, At: e.At, Actor: e.Actor, ActorKind: e.ActorKind, Token: optional(e.Token), Addr: optional(e.Addr), RequestID: optional(e.RequestID),
		Fabric: optional(e.Fabric), Action: e.Action, Object: e.Object, Outcome: gen.AuditOutcome(e.Outcome), Detail: optional(e.Detail), Said: optionalText(e.Sentence()),
		Before: rawOut(e.Before), After: rawOut(e.After), Prev: e.Prev.String(), Hash: e.Hash.String(),
	}
}

// rawOut keeps the bytes unchanged: the hash covers them.
func rawOut(b json.RawMessage) *json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return &b
}

func (s *Server) VerifyAudit(ctx context.Context, r server.VerifyAuditRequestObject) (server.VerifyAuditResponseObject, error) {
	var expect audit.Tail
	if r.Params.Expect != nil {
		var err error
		if expect, err = audit.ParseTail(*r.Params.Expect); err != nil {
			return nil, control.InvalidFrom("expect", err)
		}
	}
	found, err := s.control.VerifyAudit(ctx, expect)
	if err != nil {
		return nil, err
	}
	out := server.VerifyAudit200JSONResponse{Ok: found.Bad == nil, Entries: found.Entries, First: found.First, Tail: found.Tail.String()}
	if found.Bad != nil {
		out.Bad = &gen.AuditFault{Seq: found.Bad.Seq, Reason: found.Bad.Said.String(), Said: &found.Bad.Said}
	}
	return out, nil
}
