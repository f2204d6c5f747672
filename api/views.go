package api

import (
	"cmp"
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
)

func (s *Server) GetOverview(ctx context.Context, r server.GetOverviewRequestObject) (server.GetOverviewResponseObject, error) {
	if _, err := s.control.Fabric(ctx, r.Fabric); err != nil {
		return nil, err
	}
	return server.GetOverview200JSONResponse{
		Fabric: r.Fabric, Verdict: gen.VerdictNotMeasured, At: s.control.Now(), Series: gen.SeriesStateOff, TenantStates: []gen.TenantStateCount{},
		Below: []gen.TenantBelow{}, Contended: []gen.ContendedLink{}, Devices: []gen.DeviceStateCount{}, Alerts: []gen.FiringAlert{},
	}, nil
}

func (s *Server) GetMap(ctx context.Context, r server.GetMapRequestObject) (server.GetMapResponseObject, error) {
	snap, _, err := s.control.Topology(ctx, r.Fabric, "")
	if err != nil {
		return nil, err
	}
	return server.GetMap200JSONResponse{
		Fabric: r.Fabric, At: s.control.Now(), Snapshot: snap.SHA256, Series: gen.SeriesStateOff, By: gen.FabricMapBySwitch,
		Groups: []gen.MapGroup{}, Edges: []gen.MapEdge{}, TenantsMeeting: []gen.LinkMeeting{},
	}, nil
}

func (s *Server) GetMapMatrix(ctx context.Context, r server.GetMapMatrixRequestObject) (server.GetMapMatrixResponseObject, error) {
	snap, _, err := s.control.Topology(ctx, r.Fabric, "")
	if err != nil {
		return nil, err
	}
	return server.GetMapMatrix200JSONResponse{
		Fabric: r.Fabric, At: s.control.Now(), Snapshot: snap.SHA256, Series: gen.SeriesStateOff, Tier: 1, By: gen.MapMatrixBySwitch,
		Rows: []gen.MatrixSide{}, Columns: []gen.MatrixSide{}, Cells: []gen.MatrixCell{},
	}, nil
}

func (s *Server) GetPath(ctx context.Context, r server.GetPathRequestObject) (server.GetPathResponseObject, error) {
	snap, f, err := s.control.Topology(ctx, r.Fabric, "")
	if err != nil {
		return nil, err
	}
	src, err := f.ResolvePort(r.Params.Src)
	dst, err2 := f.ResolvePort(r.Params.Dst)
	if err := cmp.Or(err, err2); err != nil {
		return nil, control.InvalidFrom("src", err)
	}
	return server.GetPath200JSONResponse{Fabric: r.Fabric, At: s.control.Now(), Snapshot: snap.SHA256, Src: f.PortID(src).String(), Dst: f.PortID(dst).String(), Series: gen.SeriesStateOff, Hops: []gen.PathHop{}}, nil
}

func (s *Server) GetTenantNow(ctx context.Context, r server.GetTenantNowRequestObject) (server.GetTenantNowResponseObject, error) {
	if _, err := s.control.Tenant(ctx, r.Fabric, r.Tenant); err != nil {
		return nil, err
	}
	return server.GetTenantNow200JSONResponse{Fabric: r.Fabric, Tenant: r.Tenant, At: s.control.Now(), Series: gen.SeriesStateOff}, nil
}

func (s *Server) Search(context.Context, server.SearchRequestObject) (server.SearchResponseObject, error) {
	return server.Search200JSONResponse{Results: []gen.SearchResult{}}, nil
}
