package api

import (
	"context"
	"time"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
)

// window returns the length of a measurement: a tenth of a second by default.
func window(ms *gen.WindowQuery) time.Duration {
	return time.Duration(valueOr(ms, 100)) * time.Millisecond
}

func (s *Server) GetShares(ctx context.Context, r server.GetSharesRequestObject) (server.GetSharesResponseObject, error) {
	sh, err := s.control.ReadShares(ctx, r.Fabric, deref(r.Params.Plan), window(r.Params.WindowMs))
	if err != nil {
		return nil, err
	}
	return server.GetShares200JSONResponse(sharesOut(sh)), nil
}

func (s *Server) MeasureShares(ctx context.Context, r server.MeasureSharesRequestObject) (server.MeasureSharesResponseObject, error) {
	sh, err := s.control.MeasureShares(ctx, r.Fabric, deref(r.Params.Plan), window(r.Params.WindowMs))
	if err != nil {
		return nil, err
	}
	return server.MeasureShares201JSONResponse(sharesOut(sh)), nil
}

func (s *Server) ListShares(ctx context.Context, r server.ListSharesRequestObject) (server.ListSharesResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, func(ctx context.Context, fabric string, p control.Page) ([]control.Shares, string, error) {
		return s.control.ListShares(ctx, fabric, deref(r.Params.Since), deref(r.Params.Until), p)
	}, sharesOut)
	return server.ListShares200JSONResponse{Items: items, NextCursor: next}, err
}

func sharesOut(sh control.Shares) gen.Shares {
	return gen.Shares{
		Plan: sh.Plan, WindowMs: sh.Window.Milliseconds(), RequestedWindowMs: optional(sh.Requested.Milliseconds()), MeasuredAt: sh.MeasuredAt, Complete: sh.Complete(),
		Coverage: sh.Coverage, MaxShareError: sh.MaxShareError, ShareErrorLimit: optional(sh.Limit), JainIndex: sh.Jain,
		CongestionControl: loopOut(sh.Loop),
		Tenants: mapped(sh.Tenants, func(t control.TenantShare) gen.TenantShare {
			return gen.TenantShare{
				Tenant: t.Tenant, Weight: t.Weight.Float(), EntitledBps: int64(t.Entitled), DeliveredBps: (*int64)(t.Delivered), ShareError: t.ShareError,
				Measured: t.Delivered != nil, Problem: optional(t.Problem), Said: t.Said,
				AtSenders: optional(t.AtSenders), AmbiguousBps: (*int64)(t.Ambiguous),
				Contention: optional(gen.Contention(t.Contention)), EntitledNowBps: (*int64)(t.EntitledNow), Received: t.Received, LimitingLink: optional(t.Limit),
			}
		}),
		Links: mapped(sh.Links, func(l control.LinkUse) gen.LinkUse {
			return gen.LinkUse{
				Port: l.Port.String(), Peer: l.Peer.String(), Name: l.Name, CapacityBps: int64(l.Capacity), DeliveredBps: (*int64)(l.Delivered), Use: l.Use,
				Measured: l.Delivered != nil, Problem: optional(l.Problem), Said: l.Said, Tenants: linkTenantsOut(l.Tenants),
			}
		}),
	}
}

// linkTenantsOut returns nil for measurements older than the field.
func linkTenantsOut(list []control.LinkTenant) []gen.LinkTenantUse {
	if list == nil {
		return nil
	}
	return mapped(list, func(t control.LinkTenant) gen.LinkTenantUse {
		return gen.LinkTenantUse{
			Tenant: t.Tenant, EntitledBps: int64(t.Entitled), DeliveredBps: (*int64)(t.Delivered),
			Contention: optional(gen.Contention(t.Contention)), EntitledNowBps: (*int64)(t.EntitledNow), Received: t.Received,
		}
	})
}

func loopOut(l *control.CongestionLoop) *gen.CongestionLoop {
	if l == nil {
		return nil
	}
	return &gen.CongestionLoop{State: gen.CongestionLoopState(l.State), Text: l.Text, Said: l.Said, Stage: optional(gen.CongestionLoopStage(l.Stage)), Ports: l.Where}
}
