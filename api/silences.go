package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control/silences"
	"fairlane/service/silence"
)

func (s *Server) ListSilences(ctx context.Context, r server.ListSilencesRequestObject) (server.ListSilencesResponseObject, error) {
	items, next, err := listed(ctx, deref(r.Params.Expired), r.Params.Limit, r.Params.Cursor, s.control.ListSilences, s.silenceOut)
	return server.ListSilences200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) AddSilence(ctx context.Context, r server.AddSilenceRequestObject) (server.AddSilenceResponseObject, error) {
	added, err := s.control.AddSilence(ctx, silences.Input{
		Matchers: r.Body.Matchers, StartsAt: deref(r.Body.StartsAt), EndsAt: r.Body.EndsAt, Comment: r.Body.Comment,
	})
	if err != nil {
		return nil, err
	}
	return server.AddSilence201JSONResponse(s.silenceOut(added)), nil
}

func (s *Server) ExpireSilence(ctx context.Context, r server.ExpireSilenceRequestObject) (server.ExpireSilenceResponseObject, error) {
	return server.ExpireSilence204Response{}, s.control.ExpireSilence(ctx, r.Silence)
}

func (s *Server) silenceOut(x silence.Silence) gen.Silence {
	return gen.Silence{
		ID: x.ID, Matchers: x.Matchers.Texts(), StartsAt: x.StartsAt, EndsAt: x.EndsAt, Author: x.Author, Comment: x.Comment, CreatedAt: x.CreatedAt,
		State: gen.SilenceState(x.State(s.control.Now())),
	}
}
