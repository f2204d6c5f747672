package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
)

func (s *Server) ListFeeds(ctx context.Context, r server.ListFeedsRequestObject) (server.ListFeedsResponseObject, error) {
	by := control.FeedFilter{Fabric: r.Fabric, Tenant: deref(r.Params.Tenant), Feed: deref(r.Params.Feed)}
	items, next, err := listed(ctx, by, r.Params.Limit, r.Params.Cursor, s.control.ListFeeds, func(f control.Feed) gen.FeedSummary {
		return gen.FeedSummary{Name: f.Name, Tenant: f.Tenant, Ports: f.Count, Version: f.Version, Actor: f.Actor, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt}
	})
	return server.ListFeeds200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) GetFeed(ctx context.Context, r server.GetFeedRequestObject) (server.GetFeedResponseObject, error) {
	f, err := s.control.Feed(ctx, r.Fabric, r.Tenant, r.Feed)
	if err != nil {
		return nil, err
	}
	name, err := s.control.PortNames(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.GetFeed200JSONResponse{
		Body: gen.Feed{
			Name: f.Name, Tenant: f.Tenant, Ports: f.Count, Version: f.Version, Actor: f.Actor, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
			Functions: functionsOut(f.NodeFunctions), Attachments: feedAttachments(&f, name),
		},
		Headers: server.GetFeed200ResponseHeaders{ETag: etag(f.Version)},
	}, nil
}

func (s *Server) PutFeed(ctx context.Context, r server.PutFeedRequestObject) (server.PutFeedResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	c, err := s.control.PutFeed(ctx, r.Fabric, r.Tenant, r.Feed, v, tenancy.FeedInput{
		NodeFunctions: deref(r.Body.Functions) == gen.FeedFunctionsNode,
		Ports: mapped(r.Body.Attachments, func(a gen.FeedAttachment) tenancy.FeedPort {
			return tenancy.FeedPort{Port: a.Port, Claimed: quantity.BitRate(deref(a.ClaimedBps))}
		}),
	})
	if err != nil {
		return nil, err
	}
	return server.PutFeed200JSONResponse{
		Body: gen.FeedResult{Name: c.Name, Tenant: c.Tenant, Ports: c.Count, Version: c.Version,
			Attached: mapped(c.Attached, ident.PortID.String), Detached: mapped(c.Detached, ident.PortID.String)},
		Headers: server.PutFeed200ResponseHeaders{ETag: etag(c.Version)},
	}, nil
}

func (s *Server) DeleteFeed(ctx context.Context, r server.DeleteFeedRequestObject) (server.DeleteFeedResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteFeed204Response{}, s.control.DeleteFeed(ctx, r.Fabric, r.Tenant, r.Feed, v)
}

// functionsOut says who chooses virtual functions; nil for the plan.
func functionsOut(node bool) *gen.FeedFunctions {
	if !node {
		return nil
	}
	return new(gen.FeedFunctionsNode)
}

// feedAttachments returns what a feed claims, with the ports' names.
func feedAttachments(f *control.Feed, name func(ident.PortID) string) []gen.FeedAttachment {
	out := make([]gen.FeedAttachment, len(f.Ports))
	for i, p := range f.Ports {
		out[i] = gen.FeedAttachment{Port: p.String(), Name: optional(name(p))}
		if f.Claimed != nil {
			out[i].ClaimedBps = optional(int64(f.Claimed[i]))
		}
	}
	return out
}
