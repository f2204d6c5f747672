package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/drift"
)

func (s *Server) ListDevices(ctx context.Context, r server.ListDevicesRequestObject) (server.ListDevicesResponseObject, error) {
	var out server.ListDevices200JSONResponse
	var list []drift.DeviceView
	if valueOr(r.Params.Read, true) {
		var err error
		if out.Plan, list, err = s.control.Devices(ctx, r.Fabric, deref(r.Params.Plan)); err != nil {
			return nil, err
		}
	} else {
		if r.Params.Plan != nil {
			return nil, control.Invalid("plan", phrase.Of("problem.plan-unread"))
		}
		p, err := page(r.Params.Limit, r.Params.Cursor)
		if err != nil {
			return nil, err
		}
		var next string
		if out.Plan, list, next, err = s.control.ListDevices(ctx, r.Fabric, p); err != nil {
			return nil, err
		}
		out.NextCursor = cursor(next)
	}
	out.Items = make([]gen.Device, len(list))
	pending := 0
	for i := range list {
		switch list[i].Watch.Reading {
		case control.ReadingInSync:
			out.InSync++
		case drift.ReadingCleanup:
			pending++
		case control.ReadingDrifted:
			out.Drifted++
		default:
			out.Failed++
		}
		out.Items[i] = deviceOut(&list[i], deref(r.Params.Settings))
	}
	out.CleanUpPending = optional(pending)
	return out, nil
}

func (s *Server) GetDevice(ctx context.Context, r server.GetDeviceRequestObject) (server.GetDeviceResponseObject, error) {
	v, err := s.control.Device(ctx, r.Fabric, r.Device, deref(r.Params.Read))
	if err != nil {
		return nil, err
	}
	return server.GetDevice200JSONResponse{Body: deviceOut(&v, true), Headers: server.GetDevice200ResponseHeaders{ETag: etag(v.Version)}}, nil
}

func (s *Server) UpdateDevice(ctx context.Context, r server.UpdateDeviceRequestObject) (server.UpdateDeviceResponseObject, error) {
	version, err := rowVersion(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	p := control.DevicePolicy(r.Body.Policy)
	if r.Body.Policy == gen.DeviceUpdatePolicyInherit {
		p = ""
	}
	if err := s.control.SetDevicePolicy(ctx, r.Fabric, r.Device, version, p); err != nil {
		return nil, err
	}
	v, err := s.control.Device(ctx, r.Fabric, r.Device, false)
	if err != nil {
		return nil, err
	}
	return server.UpdateDevice200JSONResponse{Body: deviceOut(&v, true), Headers: server.UpdateDevice200ResponseHeaders{ETag: etag(v.Version)}}, nil
}

func (s *Server) ReleaseDevice(ctx context.Context, r server.ReleaseDeviceRequestObject) (server.ReleaseDeviceResponseObject, error) {
	if err := s.control.ReleaseDevice(ctx, r.Fabric, r.Device); err != nil {
		return nil, err
	}
	v, err := s.control.Device(ctx, r.Fabric, r.Device, false)
	if err != nil {
		return nil, err
	}
	return server.ReleaseDevice200JSONResponse(deviceOut(&v, true)), nil
}

func (s *Server) RepairDevice(ctx context.Context, r server.RepairDeviceRequestObject) (server.RepairDeviceResponseObject, error) {
	ro, err := s.control.RepairDevice(ctx, r.Fabric, r.Device)
	if err != nil {
		return nil, err
	}
	return server.RepairDevice202JSONResponse{
		Body:    rolloutOut(ro),
		Headers: server.RepairDevice202ResponseHeaders{Location: location("fabrics", ro.Fabric, "rollouts", ro.ID)},
	}, nil
}

func (s *Server) GetDriftPolicy(ctx context.Context, r server.GetDriftPolicyRequestObject) (server.GetDriftPolicyResponseObject, error) {
	p, err := s.control.DriftPolicy(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.GetDriftPolicy200JSONResponse{Body: driftPolicyOut(p), Headers: server.GetDriftPolicy200ResponseHeaders{ETag: etag(p.Version)}}, nil
}

func (s *Server) PutDriftPolicy(ctx context.Context, r server.PutDriftPolicyRequestObject) (server.PutDriftPolicyResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	p, err := s.control.PutDriftPolicy(ctx, r.Fabric, v, driftPolicyIn(*r.Body))
	if err != nil {
		return nil, err
	}
	return server.PutDriftPolicy200JSONResponse{Body: driftPolicyOut(p), Headers: server.PutDriftPolicy200ResponseHeaders{ETag: etag(p.Version)}}, nil
}

// driftPolicyIn replaces omitted fields by their defaults.
func driftPolicyIn(in gen.DriftPolicyUpdate) control.DriftPolicy {
	p := control.DefaultDriftPolicy()
	return control.DriftPolicy{
		Policy:   control.DevicePolicy(valueOr(in.Policy, gen.DevicePolicy(p.Policy))),
		Interval: valueOr(in.IntervalS, p.Interval), Limit: valueOr(in.QuarantineAfter, p.Limit),
		Window: valueOr(in.WindowS, p.Window), Release: valueOr(in.ReleaseS, p.Release),
	}
}

func driftPolicyOut(p control.DriftPolicy) gen.DriftPolicy {
	return gen.DriftPolicy{
		Policy: gen.DevicePolicy(p.Policy), IntervalS: p.Interval, QuarantineAfter: p.Limit, WindowS: p.Window, ReleaseS: p.Release,
		Version: p.Version, UpdatedAt: instant(p.UpdatedAt),
	}
}

func deviceKind(d driver.Device) gen.DeviceKind {
	if drift.IsManager(d) {
		return gen.DeviceKindSubnetManager
	}
	return gen.DeviceKind(kindOut(d.Kind))
}

func deviceOut(v *drift.DeviceView, settings bool) gen.Device {
	out := gen.Device{
		ID: v.Device.ID.String(), Name: v.Device.Name, Kind: deviceKind(v.Device), State: v.State, Error: optional(v.Error.String()), ErrorSaid: optionalText(v.Error),
		Differences: mapped(v.Differences, settingDifferenceOut),
		Reading:     new(gen.DeviceReading(v.Watch.Reading)), ReadAt: instant(v.ReadAt), ReadBy: optional(v.ReadBy), SeenAt: instant(v.SeenAt), NextReadAt: instant(v.Due),
		Leaving: optional(v.Left), Rollout: optional(v.Rollout), Repair: optional(v.Repair), Note: optional(v.Note), Said: v.Said, Incidents: optional(len(v.Watch.Incidents)),
	}
	if v.InForce != "" {
		out.Policy = new(gen.DevicePolicy(v.InForce))
		out.PolicyInherited = new(v.Policy == "")
		out.Version = &v.Version
	}
	if !v.Watch.Quarantined.IsZero() {
		out.QuarantinedAt, out.QuarantineReason = instant(v.Watch.Quarantined), optional(v.Watch.Reason.String())
		out.QuarantineSaid = optionalText(v.Watch.Reason)
	}
	if settings {
		out.Desired, out.Observed = settingsOut(v.Desired), settingsOut(v.Observed)
	}
	return out
}

func settingDifferenceOut(x control.Difference) gen.Difference {
	return gen.Difference{
		Field: x.Field, Desired: x.Desired, Observed: x.Observed,
		Prerequisite: optional(x.Prerequisite), Reason: optional(x.Reason), Said: x.Said, Repairable: optional(x.Repairable),
	}
}
