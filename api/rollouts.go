package api

import (
	"context"
	"strconv"
	"time"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/ccconfig/driver"
	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/rollouts"
)

func (s *Server) ListRollouts(ctx context.Context, r server.ListRolloutsRequestObject) (server.ListRolloutsResponseObject, error) {
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListRollouts, rolloutOut)
	return server.ListRollouts200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) StartRollout(ctx context.Context, r server.StartRolloutRequestObject) (server.StartRolloutResponseObject, error) {
	in := rollouts.RolloutInput{
		Plan: r.Body.Plan, Stages: mapped(r.Body.Stages, func(st gen.Stage) control.Stage { return control.Stage(st) }),
		Options: rolloutOptionsIn(deref(r.Body.Options)), LimitSettings: r.Body.LimitSettings,
	}
	if deref(r.Params.DryRun) {
		waves, err := s.control.PreviewRollout(ctx, r.Fabric, in)
		if err != nil {
			return nil, err
		}
		return server.StartRollout200JSONResponse(previewOut(waves)), nil
	}
	ro, err := s.control.StartRollout(ctx, r.Fabric, in)
	if err != nil {
		return nil, err
	}
	return server.StartRollout202JSONResponse{
		Body:    rolloutOut(ro),
		Headers: server.StartRollout202ResponseHeaders{Location: location("fabrics", ro.Fabric, "rollouts", ro.ID)},
	}, nil
}

func rolloutOptionsIn(o gen.RolloutOptions) control.RolloutOptions {
	return control.RolloutOptions{
		Canary: deref(o.Canary), Wave: deref(o.Wave), Domain: string(deref(o.Domain)), Shard: deref(o.Shard), Parallel: deref(o.Parallel),
		FailureBudget: deref(o.FailureBudget), Attempts: deref(o.Attempts),
		ConfirmWindow: time.Duration(deref(o.ConfirmWindowS)) * time.Second, VerifyShares: deref(o.VerifyShares),
		MaxShareError: deref(o.MaxShareError), MinUtilisation: deref(o.MinUtilisation),
		MeasureWindow: time.Duration(deref(o.MeasureWindowMs)) * time.Millisecond,
	}
}

func rolloutOptionsOut(o control.RolloutOptions) *gen.RolloutOptions {
	return &gen.RolloutOptions{
		Canary: optional(o.Canary), Wave: optional(o.Wave), Domain: optional(gen.RolloutOptionsDomain(o.Domain)), Shard: optional(o.Shard),
		Parallel: optional(o.Parallel), FailureBudget: optional(o.FailureBudget), Attempts: optional(o.Attempts),
		ConfirmWindowS: optional(int(o.ConfirmWindow / time.Second)), VerifyShares: optional(o.VerifyShares),
		MaxShareError: optional(o.MaxShareError), MinUtilisation: optional(o.MinUtilisation),
		MeasureWindowMs: optional(int(o.MeasureWindow / time.Millisecond)),
	}
}

func previewOut(waves []rollouts.WavePreview) gen.RolloutPreview {
	out := gen.RolloutPreview{Waves: make([]gen.RolloutWave, len(waves))}
	for i, w := range waves {
		out.Devices += len(w.Devices)
		out.Waves[i] = gen.RolloutWave{Canary: w.Canary, Shards: w.Shards, Devices: mapped(w.Devices, func(d driver.Device) string { return d.Name })}
	}
	return out
}

func (s *Server) GetRollout(ctx context.Context, r server.GetRolloutRequestObject) (server.GetRolloutResponseObject, error) {
	get := s.control.Rollout
	if deref(r.Params.Settings) {
		get = s.control.RolloutSettings
	}
	ro, err := get(ctx, r.Fabric, r.Rollout)
	if err != nil {
		return nil, err
	}
	return server.GetRollout200JSONResponse(rolloutWith(ro, deref(r.Params.Settings))), nil
}

func (s *Server) CancelRollout(ctx context.Context, r server.CancelRolloutRequestObject) (server.CancelRolloutResponseObject, error) {
	ro, err := s.control.CancelRollout(ctx, r.Fabric, r.Rollout)
	return server.CancelRollout202JSONResponse(rolloutOut(ro)), err
}

func (s *Server) PauseRollout(ctx context.Context, r server.PauseRolloutRequestObject) (server.PauseRolloutResponseObject, error) {
	ro, err := s.control.PauseRollout(ctx, r.Fabric, r.Rollout)
	return server.PauseRollout202JSONResponse(rolloutOut(ro)), err
}

func (s *Server) ResumeRollout(ctx context.Context, r server.ResumeRolloutRequestObject) (server.ResumeRolloutResponseObject, error) {
	ro, err := s.control.ResumeRollout(ctx, r.Fabric, r.Rollout)
	return server.ResumeRollout202JSONResponse(rolloutOut(ro)), err
}

func (s *Server) ConfirmRollout(ctx context.Context, r server.ConfirmRolloutRequestObject) (server.ConfirmRolloutResponseObject, error) {
	ro, err := s.control.ConfirmRollout(ctx, r.Fabric, r.Rollout)
	return server.ConfirmRollout202JSONResponse(rolloutOut(ro)), err
}

func (s *Server) RollBackRollout(ctx context.Context, r server.RollBackRolloutRequestObject) (server.RollBackRolloutResponseObject, error) {
	body := deref(r.Body)
	if body.To != nil {
		if body.Plan != nil {
			return nil, control.Invalid("/to", phrase.Of("problem.to-and-plan"))
		}
		if deref(r.Params.DryRun) {
			waves, err := s.control.PreviewRollBackToBaseline(ctx, r.Fabric, r.Rollout)
			return server.RollBackRollout200JSONResponse(previewOut(waves)), err
		}
		ro, err := s.control.RollBackToBaseline(ctx, r.Fabric, r.Rollout)
		return server.RollBackRollout202JSONResponse(rolloutOut(ro)), err
	}
	if deref(r.Params.DryRun) {
		waves, err := s.control.PreviewRollBack(ctx, r.Fabric, r.Rollout, deref(body.Plan))
		return server.RollBackRollout200JSONResponse(previewOut(waves)), err
	}
	ro, err := s.control.RollBack(ctx, r.Fabric, r.Rollout, deref(body.Plan))
	return server.RollBackRollout202JSONResponse(rolloutOut(ro)), err
}

func (s *Server) ListRolloutEvents(ctx context.Context, r server.ListRolloutEventsRequestObject) (server.ListRolloutEventsResponseObject, error) {
	list, err := s.events(ctx, control.EventFilter{Fabric: r.Fabric, Rollout: r.Rollout}, r.Params.Limit, r.Params.Cursor)
	return server.ListRolloutEvents200JSONResponse(list), err
}

// events lists events; last_cursor continues from the newest one shown, or from the caller's position.
func (s *Server) events(ctx context.Context, f control.EventFilter, limit *gen.Limit, from *gen.Cursor) (gen.EventList, error) {
	p, err := page(limit, from)
	if err != nil {
		return gen.EventList{}, err
	}
	list, next, err := s.control.ListEvents(ctx, f, p)
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
		Kind: e.Kind, Subject: e.Subject, Message: e.Said.String(), Said: optionalText(e.Said),
	}
	if len(e.Data) > 0 {
		var data any = e.Data
		out.Data = &data
	}
	return out
}

func rolloutOut(ro control.Rollout) gen.Rollout { return rolloutWith(ro, false) }

// rolloutWith converts a rollout with or without the settings of its devices.
func rolloutWith(ro control.Rollout, settings bool) gen.Rollout {
	out := gen.Rollout{
		ID: ro.ID, Fabric: ro.Fabric, Plan: ro.Plan, State: gen.RolloutState(ro.State), Result: ro.Result.String(), ResultSaid: optionalText(ro.Result), Actor: ro.Actor,
		Stages:    mapped(ro.Stages, func(st control.Stage) gen.Stage { return gen.Stage(st) }),
		CreatedAt: ro.CreatedAt, UpdatedAt: ro.UpdatedAt, ConfirmBy: instant(ro.ConfirmBy), FinishedAt: instant(ro.FinishedAt),
		Phase: gen.RolloutPhase(ro.Phase), Wish: gen.RolloutWish(ro.Request), Wave: ro.Wave, Waves: ro.Waves, Revision: ro.Revision,
		Options: rolloutOptionsOut(ro.Options), Reason: optional(ro.Reason.String()), ReasonSaid: optionalText(ro.Reason), Repair: optional(ro.Options.Repair), To: optional(gen.RolloutTo(ro.Options.To)), Release: optional(ro.Options.Release),
	}
	for _, d := range ro.Devices {
		out.Devices = append(out.Devices, rolloutDeviceOut(d, settings))
	}
	return out
}

func rolloutDeviceOut(d control.RolloutDevice, settings bool) gen.RolloutDevice {
	out := gen.RolloutDevice{
		ID: d.Device.ID.String(), Name: d.Device.Name, Kind: gen.RolloutDeviceKind(kindOut(d.Device.Kind)),
		State: gen.DeviceState(d.State), Error: optional(d.Error.String()), ErrorSaid: optionalText(d.Error), UpdatedAt: d.UpdatedAt,
		Wave: &d.Wave, Touched: &d.Touched, Note: optional(d.Note.String()), NoteSaid: optionalText(d.Note),
	}
	if d.Receipt != nil {
		out.Receipt = mapped(d.Receipt.Fields, func(f driver.FieldReceipt) gen.FieldReceipt {
			return gen.FieldReceipt{Field: f.Field, Outcome: gen.FieldReceiptOutcome(f.Outcome), Detail: optional(f.Detail), Said: f.Said}
		})
	}
	if settings {
		out.Before, out.Wanted, out.Observed = settingsOut(d.Before), settingsOut(d.Wanted), settingsOut(d.Observed)
	}
	return out
}
