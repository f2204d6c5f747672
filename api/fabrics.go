package api

import (
	"context"
	"strings"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/subnet"
)

func (s *Server) ListFabrics(ctx context.Context, r server.ListFabricsRequestObject) (server.ListFabricsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListFabrics(ctx, p)
	if err != nil {
		return nil, err
	}
	return server.ListFabrics200JSONResponse{Items: mapped(list, fabricOut), NextCursor: cursor(next)}, nil
}

func (s *Server) CreateFabric(ctx context.Context, r server.CreateFabricRequestObject) (server.CreateFabricResponseObject, error) {
	f, err := s.control.CreateFabric(ctx, control.Fabric{
		Name: r.Body.Name, Source: r.Body.Source, Plane: subnet.Plane(deref(r.Body.Plane)), TimeScale: deref(r.Body.TimeScale),
		Counters: control.Counters(deref(r.Body.Counters)), Prerequisites: control.Prerequisites(deref(r.Body.Prerequisites)),
	})
	if err != nil {
		return nil, err
	}
	return server.CreateFabric201JSONResponse{Body: fabricOut(f), Headers: server.CreateFabric201ResponseHeaders{ETag: etag(f.Version)}}, nil
}

func (s *Server) GetFabric(ctx context.Context, r server.GetFabricRequestObject) (server.GetFabricResponseObject, error) {
	f, err := s.control.Fabric(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.GetFabric200JSONResponse{Body: fabricOut(f), Headers: server.GetFabric200ResponseHeaders{ETag: etag(f.Version)}}, nil
}

func (s *Server) UpdateFabric(ctx context.Context, r server.UpdateFabricRequestObject) (server.UpdateFabricResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	f, err := s.control.UpdateFabric(ctx, control.Fabric{
		Name: r.Fabric, Version: v, Source: r.Body.Source, TimeScale: valueOr(r.Body.TimeScale, 1), Counters: control.Counters(deref(r.Body.Counters)),
		Prerequisites: control.Prerequisites(deref(r.Body.Prerequisites)),
	})
	if err != nil {
		return nil, err
	}
	return server.UpdateFabric200JSONResponse{Body: fabricOut(f), Headers: server.UpdateFabric200ResponseHeaders{ETag: etag(f.Version)}}, nil
}

func (s *Server) DeleteFabric(ctx context.Context, r server.DeleteFabricRequestObject) (server.DeleteFabricResponseObject, error) {
	v, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteFabric204Response{}, s.control.DeleteFabric(ctx, r.Fabric, v, valueOr(r.Params.KeepSettings, false))
}

func (s *Server) DiscoverFabric(ctx context.Context, r server.DiscoverFabricRequestObject) (server.DiscoverFabricResponseObject, error) {
	snap, err := s.control.Discover(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.DiscoverFabric200JSONResponse(snapshotOut(snap)), nil
}

func (s *Server) ListSnapshots(ctx context.Context, r server.ListSnapshotsRequestObject) (server.ListSnapshotsResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListSnapshots, snapshotOut)
	return server.ListSnapshots200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) GetTopology(ctx context.Context, r server.GetTopologyRequestObject) (server.GetTopologyResponseObject, error) {
	snap, topo, err := s.control.Topology(ctx, r.Fabric, deref(r.Params.Snapshot))
	if err != nil {
		return nil, err
	}
	return server.GetTopology200JSONResponse{
		Body:    topologyOut(snap.SHA256, topo),
		Headers: server.GetTopology200ResponseHeaders{ETag: `"` + snap.SHA256 + `"`},
	}, nil
}

func (s *Server) GetTopologyFile(ctx context.Context, r server.GetTopologyFileRequestObject) (server.GetTopologyFileResponseObject, error) {
	snap, _, err := s.control.Topology(ctx, r.Fabric, deref(r.Params.Snapshot))
	if err != nil {
		return nil, err
	}
	text := string(snap.Topology)
	return server.GetTopologyFile200ApplicationYamlResponse{Body: strings.NewReader(text), ContentLength: int64(len(text))}, nil
}

func (s *Server) ListEvents(ctx context.Context, r server.ListEventsRequestObject) (server.ListEventsResponseObject, error) {
	q := r.Params
	list, err := s.events(ctx, control.EventFilter{
		Fabric: r.Fabric, Kind: deref(q.Kind), Subject: deref(q.Subject), Since: deref(q.Since), Until: deref(q.Until),
		NoSteps: !valueOr(q.Progress, true), Newest: deref(q.Order) == gen.ListEventsParamsOrderNewest,
	}, q.Limit, q.Cursor)
	return server.ListEvents200JSONResponse(list), err
}

func fabricOut(f control.Fabric) gen.Fabric {
	out := gen.Fabric{
		Name: f.Name, Plane: gen.Plane(f.Plane), Source: f.Source, TimeScale: f.TimeScale,
		Counters: optional(gen.Counters(f.Counters)), Prerequisites: optional(gen.Prerequisites(f.Prerequisites)),
		Version: f.Version, FlowsVersion: f.FlowsVersion, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
	}
	if f.Management != "" { // empty for callers with a reduced view
		out.Management, out.ManagementAt, out.RestoredAt = new(gen.FabricManagement(f.Management)), instant(f.ManagementAt), instant(f.RestoredAt)
		out.RepairsWait = optional(f.RepairsWait)
	}
	if f.Snapshot != nil {
		snap := snapshotOut(*f.Snapshot)
		out.Snapshot = &snap
	}
	return out
}

func snapshotOut(s control.Snapshot) gen.Snapshot {
	return gen.Snapshot{
		Sha256: s.SHA256, Nodes: s.Nodes, Switches: s.Switches, Hosts: s.Hosts, Links: s.Links,
		TakenAt: s.TakenAt, SeenAt: s.SeenAt, WallMs: float64(s.Stats.Wall.Microseconds()) / 1000, MadsSent: s.Stats.MADsSent,
		Warnings: phrase.English(s.Stats.Warnings), WarningsSaid: s.Stats.Warnings,
	}
}

func topologyOut(sha string, f *subnet.Fabric) gen.Topology {
	out := gen.Topology{Snapshot: sha, Nodes: make([]gen.TopologyNode, len(f.Nodes)), Links: make([]gen.TopologyLink, len(f.Links))}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		node := gen.TopologyNode{
			GUID: n.GUID.String(), Kind: gen.TopologyNodeKind(kindOut(n.Kind)), Name: n.Name,
			Domain: optional(n.Domain), Ports: max(len(n.Ports)-1, 0),
		}
		for _, p := range n.Ports {
			if p.LID != 0 {
				node.Lids = append(node.Lids, int(p.LID))
			}
		}
		out.Nodes[i] = node
	}
	for i, l := range f.Links {
		out.Links[i] = gen.TopologyLink{
			A: f.PortID(l.A).String(), B: f.PortID(l.B).String(), RateBps: int64(l.Rate), DelayPs: int64(l.Delay),
		}
	}
	return out
}

// kindOut returns the contract's word for a kind of node.
func kindOut(k subnet.NodeKind) string {
	switch k {
	case subnet.KindSwitch:
		return "switch"
	case subnet.KindRouter:
		return "router"
	}
	return "ca"
}

// mapped converts a list; the result is never nil, so that it is [] in JSON.
func mapped[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

// deref returns *p, or the zero value for nil.
func deref[T any](p *T) T { return valueOr(p, *new(T)) }

// valueOr returns *p, or otherwise for nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
