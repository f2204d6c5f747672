package api

import (
	"context"
	"errors"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

func (s *Server) ListTenants(ctx context.Context, r server.ListTenantsRequestObject) (server.ListTenantsResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListTenants, tenantOut)
	if err == nil {
		err = s.nameAttachments(ctx, r.Fabric, attachmentsOf(items)...)
	}
	if err == nil && deref(r.Params.FlowCounts) {
		err = s.countFlows(ctx, r.Fabric, items)
	}
	return server.ListTenants200JSONResponse{Items: items, NextCursor: next}, err
}

// countFlows sets the number of declared flows of each tenant of a list.
func (s *Server) countFlows(ctx context.Context, fabric string, list []gen.Tenant) error {
	counts, err := s.control.CountFlows(ctx, fabric, mapped(list, func(t gen.Tenant) string { return t.Name }))
	for i := range list {
		list[i].Flows = new(counts[list[i].Name])
	}
	return err
}

func (s *Server) CreateTenant(ctx context.Context, r server.CreateTenantRequestObject) (server.CreateTenantResponseObject, error) {
	in, err := tenantIn(*r.Body, "")
	if err != nil {
		return nil, err
	}
	t, err := s.control.CreateTenant(ctx, r.Fabric, in)
	if err != nil {
		return nil, err
	}
	out, err := s.namedTenant(ctx, t)
	return server.CreateTenant201JSONResponse{Body: out, Headers: server.CreateTenant201ResponseHeaders{ETag: etag(t.Version)}}, err
}

func (s *Server) GetTenant(ctx context.Context, r server.GetTenantRequestObject) (server.GetTenantResponseObject, error) {
	t, err := s.control.Tenant(ctx, r.Fabric, r.Tenant)
	if err != nil {
		return nil, err
	}
	out, err := s.namedTenant(ctx, t)
	return server.GetTenant200JSONResponse{Body: out, Headers: server.GetTenant200ResponseHeaders{ETag: etag(t.Version)}}, err
}

func (s *Server) UpdateTenant(ctx context.Context, r server.UpdateTenantRequestObject) (server.UpdateTenantResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	in, err := tenantIn(gen.TenantCreate{
		Name: r.Tenant, Weight: r.Body.Weight, Pkey: r.Body.Pkey, GuaranteeBps: r.Body.GuaranteeBps, CapBps: r.Body.CapBps, Classes: r.Body.Classes, Attachments: r.Body.Attachments,
	}, "")
	if err != nil {
		return nil, err
	}
	t, err := s.control.UpdateTenant(ctx, r.Fabric, v, in)
	if err != nil {
		return nil, err
	}
	out, err := s.namedTenant(ctx, t)
	return server.UpdateTenant200JSONResponse{Body: out, Headers: server.UpdateTenant200ResponseHeaders{ETag: etag(t.Version)}}, err
}

func (s *Server) DeleteTenant(ctx context.Context, r server.DeleteTenantRequestObject) (server.DeleteTenantResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteTenant204Response{}, s.control.DeleteTenant(ctx, r.Fabric, r.Tenant, v)
}

func (s *Server) ApplyTenants(ctx context.Context, r server.ApplyTenantsRequestObject) (server.ApplyTenantsResponseObject, error) {
	set := tenancy.TenantSet{Prune: deref(r.Params.Prune)}
	if r.Params.IfMatch != nil {
		var err error
		if set.Version, err = rowVersion(r.Params.IfMatch); err != nil {
			return nil, err
		}
	}
	var bad control.InvalidError
	for i, t := range r.Body.Tenants {
		in, err := tenantIn(t, pointerAt("/tenants", i))
		var inv *control.InvalidError
		if errors.As(err, &inv) {
			bad.Fields = append(bad.Fields, inv.Fields...)
		}
		set.Tenants = append(set.Tenants, in)
	}
	if len(bad.Fields) > 0 {
		bad.Fields = bad.Fields[:min(len(bad.Fields), maxFields)]
		return nil, &bad
	}
	if r.Body.Flows != nil {
		set.Flows = mapped(r.Body.Flows, flowIn)
	}
	dry := deref(r.Params.DryRun)
	res, err := s.control.ApplyTenants(ctx, r.Fabric, set, dry)
	if err != nil {
		return nil, err
	}
	return server.ApplyTenants200JSONResponse{
		Body: gen.TenantSetResult{
			Created: names(res.Created), Updated: names(res.Updated), Unchanged: names(res.Unchanged), Deleted: names(res.Deleted),
			FlowsChanged: res.FlowsChanged, DryRun: dry,
		},
		Headers: server.ApplyTenants200ResponseHeaders{ETag: etag(res.Version)},
	}, nil
}

func (s *Server) GetFlows(ctx context.Context, r server.GetFlowsRequestObject) (server.GetFlowsResponseObject, error) {
	flows, v, err := s.control.Flows(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	out, err := s.flowsOut(ctx, r.Fabric, flows)
	if err != nil {
		return nil, err
	}
	return server.GetFlows200JSONResponse{
		Body:    gen.FlowSet{Flows: out, Version: v},
		Headers: server.GetFlows200ResponseHeaders{ETag: etag(v)},
	}, nil
}

func (s *Server) PutFlows(ctx context.Context, r server.PutFlowsRequestObject) (server.PutFlowsResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	flows, next, err := s.control.PutFlows(ctx, r.Fabric, v, mapped(r.Body.Flows, flowIn))
	if err != nil {
		return nil, err
	}
	out, err := s.flowsOut(ctx, r.Fabric, flows)
	if err != nil {
		return nil, err
	}
	return server.PutFlows200JSONResponse{
		Body:    gen.FlowSet{Flows: out, Version: next},
		Headers: server.PutFlows200ResponseHeaders{ETag: etag(next)},
	}, nil
}

// tenantIn converts a validated body; it can still reject a weight with too many decimals. base is the JSON pointer of
// the tenant in the body.
func tenantIn(t gen.TenantCreate, base string) (tenancy.TenantInput, error) {
	in := tenancy.TenantInput{Name: t.Name, Guarantee: quantity.BitRate(deref(t.GuaranteeBps)), Cap: quantity.BitRate(deref(t.CapBps))}
	var err error
	if in.Weight, err = quantity.WeightFromFloat(t.Weight); err != nil {
		return in, control.InvalidFrom(base+"/weight", err)
	}
	if t.Pkey != nil {
		if in.PKey, err = ident.ParsePKey(*t.Pkey); err != nil {
			return in, control.InvalidFrom(base+"/pkey", err)
		}
	}
	for i, c := range t.Classes {
		class, err := classIn(pointerAt(base+"/classes", i), c.Name, c.Weight)
		if err != nil {
			return in, err
		}
		in.Classes = append(in.Classes, class)
	}
	for _, a := range t.Attachments {
		in.Attachments = append(in.Attachments, tenancy.AttachmentInput{Port: a.Port, SL: slIn(a.SL), FeedOnly: deref(a.FeedOnly)})
	}
	return in, nil
}

func tenantOut(t control.Tenant) gen.Tenant {
	return gen.Tenant{
		Name: t.Name, Weight: t.Weight.Float(), Pkey: t.PKey.String(), GuaranteeBps: int64(t.Guarantee), CapBps: int64(t.Cap),
		Classes: mapped(t.Classes, classOut), Attachments: mapped(t.Attachments, attachmentOut),
		Version: t.Version, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
	}
}

func flowIn(f gen.Flow) tenancy.FlowInput {
	return tenancy.FlowInput{
		Tenant: f.Tenant, Class: deref(f.Class), Src: f.Src, Dst: f.Dst, QPs: deref(f.QPS), Demand: quantity.BitRate(deref(f.DemandBps)),
	}
}

// namedTenant returns a tenant with the names of its ports.
func (s *Server) namedTenant(ctx context.Context, t control.Tenant) (gen.Tenant, error) {
	out := tenantOut(t)
	return out, s.nameAttachments(ctx, t.Fabric, attachmentsOfTenant{t.Name, out.Attachments})
}

func attachmentsOf(list []gen.Tenant) []attachmentsOfTenant {
	return mapped(list, func(t gen.Tenant) attachmentsOfTenant { return attachmentsOfTenant{t.Name, t.Attachments} })
}

// flowsOut returns flows with the names of their ports.
func (s *Server) flowsOut(ctx context.Context, fabric string, flows []tenants.Flow) ([]gen.Flow, error) {
	name, err := s.control.PortNames(ctx, fabric)
	if err != nil {
		return nil, err
	}
	return mapped(flows, func(f tenants.Flow) gen.Flow {
		return gen.Flow{
			Tenant: f.Tenant, Class: optional(f.Class), Src: f.Src.String(), Dst: f.Dst.String(), SrcName: optional(name(f.Src)), DstName: optional(name(f.Dst)),
			QPS: new(f.QPs), DemandBps: new(int64(f.Demand)),
		}
	}), nil
}

// names returns a non-nil list, so that it is [] in JSON.
func names(list []string) []gen.Name { return append([]gen.Name{}, list...) }
