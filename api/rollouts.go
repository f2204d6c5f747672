package api

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fairlane/api/gen"
	"fairlane/ccconfig/driver"
	"fairlane/internal/control"
)

// ListRollouts implements the contract.
func (s *Server) ListRollouts(ctx context.Context, r gen.ListRolloutsRequestObject) (gen.ListRolloutsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListRollouts(ctx, r.Fabric, p)
	if err != nil {
		return nil, err
	}
	items := mapped(list, func(ro control.Rollout) gen.Rollout { return rolloutOut(ro, false) })
	return gen.ListRollouts200JSONResponse{Items: items, NextCursor: cursor(next)}, nil
}

// StartRollout implements the contract.
func (s *Server) StartRollout(ctx context.Context, r gen.StartRolloutRequestObject) (gen.StartRolloutResponseObject, error) {
	stages := mapped(r.Body.Stages, func(st gen.Stage) control.Stage { return control.Stage(st) })
	ro, err := s.control.StartRollout(ctx, r.Fabric, r.Body.Plan, stages)
	if err != nil {
		return nil, err
	}
	return gen.StartRollout202JSONResponse{
		Body:    rolloutOut(ro, false),
		Headers: gen.StartRollout202ResponseHeaders{Location: fmt.Sprintf("/api/v1/fabrics/%s/rollouts/%d", ro.Fabric, ro.ID)},
	}, nil
}

// GetRollout implements the contract.
func (s *Server) GetRollout(ctx context.Context, r gen.GetRolloutRequestObject) (gen.GetRolloutResponseObject, error) {
	ro, err := s.control.Rollout(ctx, r.Fabric, r.Rollout)
	if err != nil {
		return nil, err
	}
	return gen.GetRollout200JSONResponse(rolloutOut(ro, deref(r.Params.Settings))), nil
}

// CancelRollout implements the contract.
func (s *Server) CancelRollout(ctx context.Context, r gen.CancelRolloutRequestObject) (gen.CancelRolloutResponseObject, error) {
	ro, err := s.control.CancelRollout(ctx, r.Fabric, r.Rollout)
	if err != nil {
		return nil, err
	}
	return gen.CancelRollout202JSONResponse(rolloutOut(ro, false)), nil
}

// ListRolloutEvents implements the contract.
func (s *Server) ListRolloutEvents(ctx context.Context, r gen.ListRolloutEventsRequestObject) (gen.ListRolloutEventsResponseObject, error) {
	list, err := s.events(ctx, r.Fabric, r.Rollout, r.Params.Limit, r.Params.Cursor)
	return gen.ListRolloutEvents200JSONResponse(list), err
}

// events lists events; last_cursor goes on from the newest one shown, or from where the caller was.
func (s *Server) events(ctx context.Context, fabric string, rollout int64, limit *gen.Limit, from *gen.Cursor) (gen.EventList, error) {
	p, err := page(limit, from)
	if err != nil {
		return gen.EventList{}, err
	}
	list, next, err := s.control.Events(ctx, fabric, rollout, p)
	if err != nil {
		return gen.EventList{}, err
	}
	last := p.After
	if len(list) > 0 {
		last = strconv.FormatInt(list[len(list)-1].ID, 10)
	}
	if last == "" {
		last = "0"
	}
	return gen.EventList{Items: mapped(list, eventOut), NextCursor: cursor(next), LastCursor: *cursor(last)}, nil
}

func eventOut(e control.Event) gen.Event {
	out := gen.Event{
		ID: e.ID, At: e.At, Fabric: e.Fabric, Rollout: optional(e.Rollout), Actor: e.Actor,
		Kind: e.Kind, Subject: e.Subject, Message: e.Message,
	}
	if len(e.Data) > 0 {
		var data any = e.Data
		out.Data = &data
	}
	return out
}

func rolloutOut(ro control.Rollout, settings bool) gen.Rollout {
	out := gen.Rollout{
		ID: ro.ID, Fabric: ro.Fabric, Plan: ro.Plan, State: gen.RolloutState(ro.State), Result: ro.Result, Actor: ro.Actor,
		Stages:    mapped(ro.Stages, func(st control.Stage) gen.Stage { return gen.Stage(st) }),
		CreatedAt: ro.CreatedAt, UpdatedAt: ro.UpdatedAt,
	}
	if !ro.FinishedAt.IsZero() {
		out.FinishedAt = &ro.FinishedAt
	}
	for _, d := range ro.Devices {
		out.Devices = append(out.Devices, rolloutDeviceOut(d, settings))
	}
	return out
}

func rolloutDeviceOut(d control.RolloutDevice, settings bool) gen.RolloutDevice {
	out := gen.RolloutDevice{
		ID: d.Device.ID.String(), Name: d.Device.Name, Kind: gen.RolloutDeviceKind(kindOut(d.Device.Kind)),
		State: d.State, Error: optional(d.Error), UpdatedAt: d.UpdatedAt,
	}
	if d.Receipt != nil {
		out.Receipt = mapped(d.Receipt.Fields, func(f driver.FieldReceipt) gen.FieldReceipt {
			return gen.FieldReceipt{Field: f.Field, Outcome: gen.FieldReceiptOutcome(f.Outcome), Detail: optional(f.Detail)}
		})
	}
	if settings {
		out.Before, out.Wanted, out.Observed = settingsOut(d.Before), settingsOut(d.Wanted), settingsOut(d.Observed)
	}
	return out
}

// ListDevices implements the contract.
func (s *Server) ListDevices(ctx context.Context, r gen.ListDevicesRequestObject) (gen.ListDevicesResponseObject, error) {
	plan, list, err := s.control.Devices(ctx, r.Fabric, deref(r.Params.Plan))
	if err != nil {
		return nil, err
	}
	out := gen.ListDevices200JSONResponse{Plan: plan, Items: make([]gen.Device, len(list))}
	for i, d := range list {
		switch d.State {
		case "in-sync":
			out.InSync++
		case "drifted":
			out.Drifted++
		default:
			out.Failed++
		}
		out.Items[i] = deviceOut(d, deref(r.Params.Settings))
	}
	return out, nil
}

func deviceOut(d control.DeviceReport, settings bool) gen.Device {
	out := gen.Device{
		ID: d.Device.ID.String(), Name: d.Device.Name, Kind: gen.DeviceKind(kindOut(d.Device.Kind)), State: d.State, Error: optional(d.Error),
		Differences: mapped(d.Differences, func(x control.Difference) gen.Difference {
			return gen.Difference{Field: x.Field, Desired: x.Desired, Observed: x.Observed}
		}),
	}
	if settings {
		out.Desired, out.Observed = settingsOut(d.Desired), settingsOut(d.Observed)
	}
	return out
}

// defaultWindow is how long shares are measured when the caller does not say.
const defaultWindow = 100 * time.Millisecond

// GetShares implements the contract.
func (s *Server) GetShares(ctx context.Context, r gen.GetSharesRequestObject) (gen.GetSharesResponseObject, error) {
	window := defaultWindow
	if r.Params.WindowMs != nil {
		window = time.Duration(*r.Params.WindowMs) * time.Millisecond
	}
	sh, err := s.control.Shares(ctx, r.Fabric, deref(r.Params.Plan), window)
	if err != nil {
		return nil, err
	}
	return gen.GetShares200JSONResponse{
		Plan: sh.Plan, WindowMs: sh.Window.Milliseconds(), MeasuredAt: sh.MeasuredAt, MaxShareError: sh.MaxShareError, JainIndex: sh.Jain,
		Tenants: mapped(sh.Tenants, func(t control.TenantShare) gen.TenantShare {
			return gen.TenantShare{
				Tenant: t.Tenant, Weight: t.Weight.Float(), EntitledBps: int64(t.Entitled), DeliveredBps: int64(t.Delivered), ShareError: t.ShareError,
			}
		}),
		Links: mapped(sh.Links, func(l control.LinkUse) gen.LinkUse {
			return gen.LinkUse{
				Port: l.Port.String(), Peer: l.Peer.String(), Name: l.Name, CapacityBps: int64(l.Capacity), DeliveredBps: int64(l.Delivered), Use: l.Use,
			}
		}),
	}, nil
}
