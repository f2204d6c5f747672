package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/views"
	"fairlane/service/series"
	"fairlane/tenants"
	"fairlane/tenants/authz"
)

// may reports whether the caller of a context may read objects of a kind in a domain.
func (s *Server) may(ctx context.Context, o authz.Object, d tenants.Domain) bool {
	p, ok := control.PrincipalFrom(ctx)
	if !ok || !p.InScope(string(o), string(authz.Read)) {
		return false
	}
	rights, err := s.rights.Rights(p.Grants)
	if err != nil {
		return false
	}
	can, err := rights.Can(d, o, authz.Read)
	return err == nil && can
}

// parts returns which parts of an answer about a whole fabric the caller may see: the operation's rule is about one object.
func (s *Server) parts(ctx context.Context, fabric string) views.Parts {
	d := tenants.Domain{Fabric: fabric}
	return views.Parts{Devices: s.may(ctx, authz.Device, d), Rollouts: s.may(ctx, authz.Rollout, d), Events: s.may(ctx, authz.Event, d)}
}

func (s *Server) GetOverview(ctx context.Context, r server.GetOverviewRequestObject) (server.GetOverviewResponseObject, error) {
	o, err := s.control.Overview(ctx, r.Fabric, s.parts(ctx, r.Fabric))
	if err != nil {
		return nil, err
	}
	out := server.GetOverview200JSONResponse{
		Fabric: o.Fabric, Verdict: gen.Verdict(o.Verdict), At: o.At, Series: gen.SeriesState(o.Series), MeasuredAt: instant(o.MeasuredAt), Tenants: o.Tenants,
		TenantStates: mapped(o.States, func(c views.Count) gen.TenantStateCount {
			return gen.TenantStateCount{State: gen.MeasuredState(c.State), Tenants: c.N}
		}),
		BelowCount: o.BelowCount, Below: mapped(o.Below, belowOut),
		ContendedCount: o.ContendedSize, Contended: mapped(o.Contended, func(l views.Contended) gen.ContendedLink {
			return gen.ContendedLink{Name: l.Name, Port: optional(l.Port), CapacityBps: l.Capacity, DeliveredBps: l.Delivered, Use: l.Use}
		}),
		Devices: mapped(o.Devices, func(c views.Count) gen.DeviceStateCount {
			return gen.DeviceStateCount{State: c.State, Devices: c.N}
		}),
		AlertsFiring: o.AlertsFiring, Alerts: mapped(o.Alerts, firingOut),
	}
	if p := o.Plan; p != nil {
		out.Plan = &gen.OverviewPlan{Name: p.Name, Policy: p.Policy, CreatedAt: p.CreatedAt}
	}
	if ro := o.Rollout; ro != nil {
		full := rolloutOut(*ro)
		out.Rollout = &gen.OverviewRollout{
			ID: full.ID, Plan: full.Plan, State: full.State, Phase: full.Phase, Wave: full.Wave, Waves: full.Waves, Repair: full.Repair,
			Actor: full.Actor, CreatedAt: full.CreatedAt, ConfirmBy: full.ConfirmBy,
		}
	}
	if o.Latest != nil {
		out.LatestEvent = new(eventOut(*o.Latest))
	}
	return out, nil
}

func belowOut(b views.Below) gen.TenantBelow {
	return gen.TenantBelow{
		Tenant: b.Tenant, Weight: b.Weight, EntitledBps: b.Entitled, EntitledNowBps: b.EntitledNow, DeliveredBps: b.Delivered,
		Received: &b.Received, Bound: &b.Bound, State: gen.MeasuredState(b.State), LimitingLink: optional(b.Link),
	}
}

func firingOut(a series.Alert) gen.FiringAlert {
	return gen.FiringAlert{
		Name: a.Name, Severity: optional(a.Label("severity")), Tenant: optional(a.Label(series.LabelTenant)), Link: optional(a.Label(series.LabelLink)), Since: a.ActiveAt.UTC(),
	}
}

func (s *Server) GetMap(ctx context.Context, r server.GetMapRequestObject) (server.GetMapResponseObject, error) {
	m, err := s.control.Map(ctx, r.Fabric, views.MapQuery{Expand: deref(r.Params.Expand), Find: deref(r.Params.Find)}, s.parts(ctx, r.Fabric))
	if err != nil {
		return nil, err
	}
	var found *gen.MapPlace
	if m.Found != nil {
		found = new(placeOut(*m.Found))
	}
	return server.GetMap200JSONResponse{
		Found: found, Fabric: m.Fabric, At: m.At, MeasuredAt: instant(m.MeasuredAt), Snapshot: m.Snapshot, Series: gen.SeriesState(m.Series), By: gen.FabricMapBy(m.By),
		Expanded: optional(m.Expanded), Groups: mapped(m.Groups, mapGroupOut), More: m.More, MoreEdges: m.MoreEdges, MoreMeetings: m.MoreMeetings,
		Edges: mapped(m.Edges, func(e views.MapEdge) gen.MapEdge {
			return gen.MapEdge{A: e.A, B: e.B, Links: e.Links, CapacityBps: e.Capacity, Contended: e.Contended, WorstUse: e.WorstUse, Down: e.Down}
		}),
		TenantsMeeting: mapped(m.Meetings, func(x views.Meeting) gen.LinkMeeting {
			return gen.LinkMeeting{Link: x.Link, Use: x.Use, A: optional(x.A), B: optional(x.B), Tenants: mapped(x.Tenants, meetingOut), More: x.More}
		}),
	}, nil
}

// mapStates are the states of groups, by views.MapState.
var mapStates = []gen.MapState{gen.MapStateOk, gen.MapStateContended, gen.MapStateDrifted, gen.MapStateBelowShare, gen.MapStateDown}

func mapGroupOut(g views.MapGroup) gen.MapGroup {
	kind := gen.MapGroupKindSwitch
	if g.Host {
		kind = gen.MapGroupKindHost
	}
	return gen.MapGroup{
		ID: g.ID, Kind: kind, Tier: g.Tier, Name: g.Name, Switches: g.Switches, Hosts: g.Hosts, Domain: optional(g.Domain),
		State: mapStates[g.State], WorstUse: g.WorstUse, More: g.More,
	}
}

func placeOut(p views.Place) gen.MapPlace {
	return gen.MapPlace{GUID: p.GUID.String(), Name: p.Name, Groups: p.Groups}
}

func meetingOut(t views.MeetingTenant) gen.MeetingTenant {
	return gen.MeetingTenant{Tenant: t.Tenant, EntitledBps: t.Entitled, DeliveredBps: t.Delivered, State: optional(gen.MeasuredState(t.State))}
}

func (s *Server) GetMapMatrix(ctx context.Context, r server.GetMapMatrixRequestObject) (server.GetMapMatrixResponseObject, error) {
	m, err := s.control.Matrix(ctx, r.Fabric, views.MatrixQuery{Tier: deref(r.Params.Tier), Group: deref(r.Params.Group)})
	if err != nil {
		return nil, err
	}
	by := gen.MapMatrixBySwitch
	if m.Grouped {
		by = gen.MapMatrixByGroup
	}
	side := func(x views.Side) gen.MatrixSide { return gen.MatrixSide{ID: x.ID, Name: x.Name} }
	return server.GetMapMatrix200JSONResponse{
		Fabric: m.Fabric, At: m.At, MeasuredAt: instant(m.MeasuredAt), Snapshot: m.Snapshot, Series: gen.SeriesState(m.Series), Tier: m.Tier, By: by,
		Rows: mapped(m.Rows, side), Columns: mapped(m.Columns, side), MoreRows: m.MoreRows, MoreColumns: m.MoreColumns,
		Cells: mapped(m.Cells, func(c views.Cell) gen.MatrixCell {
			return gen.MatrixCell{Row: c.Row, Column: c.Column, Links: c.Links, WorstUse: c.WorstUse, Contended: c.Contended, Down: c.Down}
		}),
	}, nil
}

func (s *Server) GetPath(ctx context.Context, r server.GetPathRequestObject) (server.GetPathResponseObject, error) {
	p, err := s.control.Path(ctx, r.Fabric, r.Params.Src, r.Params.Dst, deref(r.Params.Tenant))
	if err != nil {
		return nil, err
	}
	out := server.GetPath200JSONResponse{
		Fabric: p.Fabric, At: p.At, MeasuredAt: instant(p.MeasuredAt), Snapshot: p.Snapshot, Series: gen.SeriesState(p.Series), Src: p.Src, Dst: p.Dst,
		Tenant: optional(p.Tenant), More: p.More, Nodes: mapped(p.Nodes, placeOut),
		Hops: mapped(p.Hops, func(h views.Hop) gen.PathHop {
			return gen.PathHop{
				Distance: h.Distance, Name: h.Name, Port: h.Port, Peer: h.Peer, CapacityBps: h.Capacity, DeliveredBps: h.Delivered, Use: h.Use,
				Contended: h.Contended, Tenants: mapped(h.Tenants, meetingOut),
			}
		}),
	}
	if p.Fault != nil {
		out.Fault, out.Said = new(p.Fault.String()), p.Fault
	}
	return out, nil
}

func (s *Server) GetTenantNow(ctx context.Context, r server.GetTenantNowRequestObject) (server.GetTenantNowResponseObject, error) {
	t, err := s.control.TenantNow(ctx, r.Fabric, r.Tenant)
	if err != nil {
		return nil, err
	}
	window := func(c views.ContendedTime) gen.ContendedTime {
		return gen.ContendedTime{ContendedS: c.Contended, BadS: c.Bad, DeliveredContendedBps: c.Delivered, Since: instant(c.Since)}
	}
	return server.GetTenantNow200JSONResponse{
		Fabric: t.Fabric, Tenant: t.Tenant, At: t.At, MeasuredAt: instant(t.MeasuredAt), Series: gen.SeriesState(t.Series), Weight: t.Weight,
		EntitledBps: t.Entitled, DeliveredBps: t.Delivered, State: optional(gen.MeasuredState(t.State)),
		Objective: gen.TenantBudget{Bound: t.Objective.Bound, Target: t.Objective.Target, BudgetLeft: t.BudgetLeft},
		Hour:      window(t.Hour), Period: window(t.Period),
	}, nil
}

func (s *Server) Search(ctx context.Context, r server.SearchRequestObject) (server.SearchResponseObject, error) {
	list, more, err := s.control.Search(ctx, views.SearchQuery{
		Text: r.Params.Q, Fabric: deref(r.Params.Fabric), Limit: valueOr(r.Params.Limit, 20),
		May: func(object, fabric, tenant string) bool {
			return s.may(ctx, authz.Object(object), tenants.Domain{Fabric: fabric, Tenant: tenant})
		},
	})
	if err != nil {
		return nil, err
	}
	return server.Search200JSONResponse{More: more, Results: mapped(list, func(f views.Found) gen.SearchResult {
		return gen.SearchResult{Kind: gen.SearchResultKind(f.Kind), Fabric: optional(f.Fabric), ID: f.ID, Name: f.Name, Detail: optional(f.Detail)}
	})}, nil
}

// ListEndpoints lists the ports of a tenant with their state.
func (s *Server) ListEndpoints(ctx context.Context, r server.ListEndpointsRequestObject) (server.ListEndpointsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, err := s.control.Endpoints(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, p)
	if err != nil {
		return nil, err
	}
	return server.ListEndpoints200JSONResponse{Items: mapped(list.Items, endpointOut), NextCursor: cursor(list.Next), Series: gen.SeriesState(list.Series)}, nil
}

func endpointOut(e views.Endpoint) gen.Endpoint {
	out := gen.Endpoint{
		Port: e.Port.String(), Name: optional(e.Name), State: gen.EndpointState(e.State), StateSince: instant(e.Since), SeenAt: instant(e.Seen),
		RateBps: optional(e.Rate), Classes: e.Classes, Functions: e.Functions, FunctionsSentBps: e.FunctionsSent,
	}
	if e.SL != nil {
		out.SL = new(gen.SL(*e.SL))
	}
	return out
}
