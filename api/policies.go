package api

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/tenants"
)

func (s *Server) ListPolicies(ctx context.Context, r server.ListPoliciesRequestObject) (server.ListPoliciesResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListPolicies, policyOut)
	return server.ListPolicies200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) GetPolicy(ctx context.Context, r server.GetPolicyRequestObject) (server.GetPolicyResponseObject, error) {
	c, err := s.control.Policy(ctx, r.Fabric, r.Revision)
	if err != nil {
		return nil, err
	}
	flows, err := s.flowsOut(ctx, r.Fabric, c.Traffic)
	if err != nil {
		return nil, err
	}
	return server.GetPolicy200JSONResponse{
		Policy: policyOut(c.Policy), Tenants: mapped(c.List, declaredTenant), Flows: flows, Options: optionsOut(c.Options),
	}, nil
}

func (s *Server) DiffPolicies(ctx context.Context, r server.DiffPoliciesRequestObject) (server.DiffPoliciesResponseObject, error) {
	d, err := s.control.DiffPolicies(ctx, r.Fabric, deref(r.Params.Against), r.Revision)
	if err != nil {
		return nil, err
	}
	added, err := s.flowsOut(ctx, r.Fabric, d.FlowsAdded)
	if err != nil {
		return nil, err
	}
	removed, err := s.flowsOut(ctx, r.Fabric, d.FlowsRemoved)
	if err != nil {
		return nil, err
	}
	out := server.DiffPolicies200JSONResponse{
		From: d.From, To: d.To, Added: mapped(d.Added, declaredTenant), Removed: mapped(d.Removed, declaredTenant),
		FlowsAdded:   gen.FlowDifference{Count: d.FlowsAddedN, First: added},
		FlowsRemoved: gen.FlowDifference{Count: d.FlowsRemovedN, First: removed},
		Changed:      []gen.TenantDifference{},
	}
	if out.Options, err = fieldDifferences(optionsOut(d.Before), optionsOut(d.After)); err != nil {
		return nil, err
	}
	for _, c := range d.Changed {
		fields, err := fieldDifferences(declaredTenant(c.Before), declaredTenant(c.After))
		if err != nil {
			return nil, err
		}
		out.Changed = append(out.Changed, gen.TenantDifference{Tenant: c.After.Name, Fields: fields})
	}
	return out, nil
}

func (s *Server) RestorePolicy(ctx context.Context, r server.RestorePolicyRequestObject) (server.RestorePolicyResponseObject, error) {
	version := control.AnyVersion
	if r.Params.IfMatch != nil {
		var err error
		if version, err = ifMatch(r.Params.IfMatch); err != nil {
			return nil, err
		}
	}
	p, _, err := s.control.RestorePolicy(ctx, r.Fabric, r.Revision, version)
	return server.RestorePolicy200JSONResponse(policyOut(p)), err
}

func (s *Server) LabelPolicy(ctx context.Context, r server.LabelPolicyRequestObject) (server.LabelPolicyResponseObject, error) {
	p, err := s.control.LabelPolicy(ctx, r.Fabric, r.Revision, r.Body.Label)
	return server.LabelPolicy200JSONResponse(policyOut(p)), err
}

func (s *Server) GetOptions(ctx context.Context, r server.GetOptionsRequestObject) (server.GetOptionsResponseObject, error) {
	o, v, err := s.control.Options(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.GetOptions200JSONResponse{Body: optionsOut(o), Headers: server.GetOptions200ResponseHeaders{ETag: etag(v)}}, nil
}

func (s *Server) PutOptions(ctx context.Context, r server.PutOptionsRequestObject) (server.PutOptionsResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	o := optionsIn(r.Body)
	next, err := s.control.PutOptions(ctx, r.Fabric, v, o)
	if err != nil {
		return nil, err
	}
	return server.PutOptions200JSONResponse{Body: optionsOut(o), Headers: server.PutOptions200ResponseHeaders{ETag: etag(next)}}, nil
}

func policyOut(p control.Policy) gen.Policy {
	return gen.Policy{
		Revision: p.Number, Fabric: p.Fabric, Label: optional(p.Label), Message: p.Said.String(), Said: optionalText(p.Said), Actor: p.Actor, Restores: optional(p.Restores),
		Tenants: p.Tenants, Flows: p.Flows, CreatedAt: p.CreatedAt,
	}
}

// declaredTenant returns a tenant in the form of a request.
func declaredTenant(t tenants.Tenant) gen.TenantCreate {
	full := tenantOut(control.Tenant{Tenant: t})
	return gen.TenantCreate{
		Name: full.Name, Weight: full.Weight, Pkey: &full.Pkey, GuaranteeBps: &full.GuaranteeBps, CapBps: &full.CapBps,
		Classes: full.Classes, Attachments: full.Attachments,
	}
}

// fieldDifferences compares two values of the contract field by field.
func fieldDifferences(before, after any) ([]gen.FieldDifference, error) {
	a, err := recast[map[string]json.RawMessage](before)
	if err != nil {
		return nil, err
	}
	b, err := recast[map[string]json.RawMessage](after)
	if err != nil {
		return nil, err
	}
	out := []gen.FieldDifference{}
	for name, v := range a {
		switch w, still := b[name]; {
		case !still:
			out = append(out, gen.FieldDifference{Field: name, Before: v})
		case !bytes.Equal(v, w):
			out = append(out, gen.FieldDifference{Field: name, Before: v, After: w})
		}
	}
	for name, w := range b {
		if _, had := a[name]; !had {
			out = append(out, gen.FieldDifference{Field: name, After: w})
		}
	}
	slices.SortFunc(out, func(x, y gen.FieldDifference) int { return strings.Compare(x.Field, y.Field) })
	return out, nil
}
