package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control/drift"
)

func (s *Server) ListBaseline(ctx context.Context, r server.ListBaselineRequestObject) (server.ListBaselineResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	q := drift.BaselineQuery{Against: deref(r.Params.Against), Device: deref(r.Params.Device)}
	against, list, next, err := s.control.ListBaseline(ctx, r.Fabric, q, p)
	if err != nil {
		return nil, err
	}
	settings := valueOr(r.Params.Settings, false)
	return server.ListBaseline200JSONResponse{
		Against: optional(against), NextCursor: cursor(next),
		Items: mapped(list, func(b drift.BaselineView) gen.BaselineDevice { return baselineOut(&b, settings) }),
	}, nil
}

func baselineOut(b *drift.BaselineView, settings bool) gen.BaselineDevice {
	out := gen.BaselineDevice{
		ID: b.Device.ID.String(), Name: b.Device.Name, Kind: gen.BaselineDeviceKind(kindOut(b.Device.Kind)), Origin: gen.BaselineDeviceOrigin(b.Origin),
		Note: optional(b.Note.String()), NoteSaid: optionalText(b.Note), Held: b.Held, RecordedAt: b.RecordedAt, Rollout: b.Rollout, Error: optional(b.Error.String()), ErrorSaid: optionalText(b.Error),
	}
	if b.Compared {
		out.Differences = mapped(b.Differences, settingDifferenceOut)
	}
	if settings {
		out.Settings = settingsOut(&b.Settings)
	}
	return out
}
