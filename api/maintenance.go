package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/maintenance"
)

func (s *Server) ListMaintenance(ctx context.Context, r server.ListMaintenanceRequestObject) (server.ListMaintenanceResponseObject, error) {
	q := maintenance.Query{Fabric: r.Fabric, Ended: deref(r.Params.Ended)}
	items, next, err := listed(ctx, q, r.Params.Limit, r.Params.Cursor, s.control.ListMaintenance, s.maintenanceOut)
	return server.ListMaintenance200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) AddMaintenance(ctx context.Context, r server.AddMaintenanceRequestObject) (server.AddMaintenanceResponseObject, error) {
	m, err := s.control.AddMaintenance(ctx, r.Fabric, maintenanceIn(r.Body))
	if err != nil {
		return nil, err
	}
	return server.AddMaintenance201JSONResponse{Body: s.maintenanceOut(m), Headers: server.AddMaintenance201ResponseHeaders{
		ETag: etag(m.Version), Location: location("fabrics", r.Fabric, "maintenance", m.ID)}}, nil
}

func (s *Server) GetMaintenance(ctx context.Context, r server.GetMaintenanceRequestObject) (server.GetMaintenanceResponseObject, error) {
	m, err := s.control.Maintenance(ctx, r.Fabric, r.Maintenance)
	if err != nil {
		return nil, err
	}
	return server.GetMaintenance200JSONResponse{Body: s.maintenanceOut(m), Headers: server.GetMaintenance200ResponseHeaders{ETag: etag(m.Version)}}, nil
}

func (s *Server) PutMaintenance(ctx context.Context, r server.PutMaintenanceRequestObject) (server.PutMaintenanceResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	m, err := s.control.UpdateMaintenance(ctx, r.Fabric, r.Maintenance, v, maintenanceIn(r.Body))
	if err != nil {
		return nil, err
	}
	return server.PutMaintenance200JSONResponse{Body: s.maintenanceOut(m), Headers: server.PutMaintenance200ResponseHeaders{ETag: etag(m.Version)}}, nil
}

func (s *Server) CancelMaintenance(ctx context.Context, r server.CancelMaintenanceRequestObject) (server.CancelMaintenanceResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.CancelMaintenance204Response{}, s.control.CancelMaintenance(ctx, r.Fabric, r.Maintenance, v)
}

func (s *Server) ListTenantMaintenance(ctx context.Context, r server.ListTenantMaintenanceRequestObject) (server.ListTenantMaintenanceResponseObject, error) {
	items, next, err := listed(ctx, maintenance.TenantRef{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor, s.control.TenantMaintenance,
		func(m control.Maintenance) gen.MaintenanceNotice {
			return gen.MaintenanceNotice{ID: m.ID, StartsAt: m.StartsAt, EndsAt: m.EndsAt, State: gen.MaintenanceState(m.State(s.control.Now())), Text: maintenanceText(m.Text)}
		})
	return server.ListTenantMaintenance200JSONResponse{Items: items, NextCursor: next}, err
}

func maintenanceIn(b *gen.MaintenancePut) maintenance.Input {
	in := maintenance.Input{StartsAt: b.StartsAt, EndsAt: b.EndsAt, Text: control.MaintenanceText{EN: deref(b.Text.En), ZH: deref(b.Text.Zh)}}
	if b.Scope != nil {
		in.Scope = control.MaintenanceScope{Tenants: b.Scope.Tenants, Places: b.Scope.Places}
	}
	return in
}

func (s *Server) maintenanceOut(m control.Maintenance) gen.Maintenance {
	return gen.Maintenance{
		ID: m.ID, StartsAt: m.StartsAt, EndsAt: m.EndsAt, State: gen.MaintenanceState(m.State(s.control.Now())), Text: maintenanceText(m.Text),
		Scope: gen.MaintenanceScope{Tenants: m.Scope.Tenants, Places: m.Scope.Places}, Touches: names(m.Touches), Author: m.Author, Version: m.Version,
		CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt, CanceledAt: instant(m.CanceledAt),
	}
}

func maintenanceText(t control.MaintenanceText) gen.MaintenanceText {
	return gen.MaintenanceText{En: optional(t.EN), Zh: optional(t.ZH)}
}
