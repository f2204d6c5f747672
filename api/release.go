package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
)

func (s *Server) ReleaseFabric(ctx context.Context, r server.ReleaseFabricRequestObject) (server.ReleaseFabricResponseObject, error) {
	body := deref(r.Body)
	to, options := control.ReturnTo(valueOr(body.To, gen.FabricReleaseTo(control.ToBaseline))), rolloutOptionsIn(deref(body.Options))
	if deref(r.Params.DryRun) {
		p, err := s.control.PreviewRelease(ctx, r.Fabric, to, options)
		if err != nil {
			return nil, err
		}
		return server.ReleaseFabric200JSONResponse(releaseOut(p)), nil
	}
	ro, err := s.control.ReleaseFabric(ctx, r.Fabric, to, options)
	if err != nil {
		return nil, err
	}
	return server.ReleaseFabric202JSONResponse(rolloutOut(ro)), nil
}

func (s *Server) ManageFabric(ctx context.Context, r server.ManageFabricRequestObject) (server.ManageFabricResponseObject, error) {
	f, err := s.control.ManageFabric(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	return server.ManageFabric200JSONResponse(fabricOut(f)), nil
}

func releaseOut(p rollouts.ReleasePreview) gen.ReleasePreview {
	return gen.ReleasePreview{
		To:    string(p.To),
		Waves: previewOut(p.Waves).Waves,
		Placements: mapped(p.Placements, func(x policy.Placement) gen.ReleasedPlacement {
			return gen.ReleasedPlacement{Tenant: x.Tenant, Port: x.Port.String(), Pkey: x.PKey.String(), SL: int(x.SL)}
		}),
		Devices: mapped(p.Devices, func(d rollouts.ReturningDevice) gen.ReturningDevice {
			return gen.ReturningDevice{
				ID: d.Device.ID.String(), Name: d.Device.Name, Kind: gen.ReturningDeviceKind(kindOut(d.Device.Kind)), Origin: gen.ReturningDeviceOrigin(d.Origin),
				Note: optional(d.Note.String()), NoteSaid: optionalText(d.Note), Missing: d.Missing, Error: optional(d.Error.String()), ErrorSaid: optionalText(d.Error),
				Changes: mapped(d.Changes, settingDifferenceOut),
			}
		}),
	}
}
