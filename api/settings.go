package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control/operations"
)

func (s *Server) GetSettings(ctx context.Context, _ server.GetSettingsRequestObject) (server.GetSettingsResponseObject, error) {
	set, err := s.control.Settings(ctx)
	if err != nil {
		return nil, err
	}
	return server.GetSettings200JSONResponse{Body: settingsBody(set), Headers: server.GetSettings200ResponseHeaders{ETag: etag(set.Version)}}, nil
}

func (s *Server) PutSettings(ctx context.Context, r server.PutSettingsRequestObject) (server.PutSettingsResponseObject, error) {
	v, err := ifMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	set, err := s.control.PutSettings(ctx, v, settingsIn(*r.Body))
	if err != nil {
		return nil, err
	}
	return server.PutSettings200JSONResponse{Body: settingsBody(set), Headers: server.PutSettings200ResponseHeaders{ETag: etag(set.Version)}}, nil
}

// settingsIn replaces omitted fields by their defaults.
func settingsIn(in gen.SettingsUpdate) operations.Settings {
	set, shares, tasks := operations.DefaultSettings(), deref(in.Shares), deref(in.Tasks)
	set.Shares.Interval = valueOr(shares.IntervalS, set.Shares.Interval)
	set.Shares.Window = valueOr(shares.WindowMs, set.Shares.Window)
	set.Shares.Keep = valueOr(shares.Keep, set.Shares.Keep)
	set.Tasks.Keep = valueOr(tasks.Keep, set.Tasks.Keep)
	set.Tasks.Limit = valueOr(tasks.Limit, set.Tasks.Limit)
	return set
}

func settingsBody(s operations.Settings) gen.Settings {
	return gen.Settings{
		Shares:  gen.ShareSettings{IntervalS: &s.Shares.Interval, WindowMs: &s.Shares.Window, Keep: &s.Shares.Keep},
		Tasks:   gen.TaskSettings{Keep: &s.Tasks.Keep, Limit: &s.Tasks.Limit},
		Version: s.Version, UpdatedAt: instant(s.UpdatedAt),
	}
}
