package api

import (
	"context"
	"time"

	"fairlane/api/gen"
	"fairlane/internal/control"
)

// defaultWindow is how long shares are measured when the caller does not say.
const defaultWindow = 100 * time.Millisecond

func window(ms *gen.WindowQuery) time.Duration {
	if ms == nil {
		return defaultWindow
	}
	return time.Duration(*ms) * time.Millisecond
}

// GetShares implements the contract.
func (s *Server) GetShares(ctx context.Context, r gen.GetSharesRequestObject) (gen.GetSharesResponseObject, error) {
	sh, err := s.control.Shares(ctx, r.Fabric, deref(r.Params.Plan), window(r.Params.WindowMs))
	if err != nil {
		return nil, err
	}
	return gen.GetShares200JSONResponse(sharesOut(sh)), nil
}

// MeasureShares implements the contract.
func (s *Server) MeasureShares(ctx context.Context, r gen.MeasureSharesRequestObject) (gen.MeasureSharesResponseObject, error) {
	sh, err := s.control.MeasureShares(ctx, r.Fabric, deref(r.Params.Plan), window(r.Params.WindowMs))
	if err != nil {
		return nil, err
	}
	return gen.MeasureShares201JSONResponse(sharesOut(sh)), nil
}

// ListShares implements the contract.
func (s *Server) ListShares(ctx context.Context, r gen.ListSharesRequestObject) (gen.ListSharesResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListShares(ctx, r.Fabric, deref(r.Params.Since), deref(r.Params.Until), p)
	if err != nil {
		return nil, err
	}
	return gen.ListShares200JSONResponse{Items: mapped(list, sharesOut), NextCursor: cursor(next)}, nil
}

func sharesOut(sh control.Shares) gen.Shares {
	return gen.Shares{
		Plan: sh.Plan, WindowMs: sh.Window.Milliseconds(), RequestedWindowMs: optional(sh.Requested.Milliseconds()), MeasuredAt: sh.MeasuredAt, Complete: sh.Complete(),
		MaxShareError: sh.MaxShareError, JainIndex: sh.Jain,
		Tenants: mapped(sh.Tenants, func(t control.TenantShare) gen.TenantShare {
			return gen.TenantShare{
				Tenant: t.Tenant, Weight: t.Weight.Float(), EntitledBps: int64(t.Entitled), DeliveredBps: int64(t.Delivered), ShareError: t.ShareError,
				Measured: t.Problem == "", Problem: optional(t.Problem),
			}
		}),
		Links: mapped(sh.Links, func(l control.LinkUse) gen.LinkUse {
			return gen.LinkUse{
				Port: l.Port.String(), Peer: l.Peer.String(), Name: l.Name, CapacityBps: int64(l.Capacity), DeliveredBps: int64(l.Delivered), Use: l.Use,
				Measured: l.Problem == "", Problem: optional(l.Problem),
			}
		}),
	}
}
