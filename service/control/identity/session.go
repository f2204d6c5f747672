package identity

import (
	"context"
	"errors"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Session returns the caller's browser session; ok is false for a caller with a token.
func (s *Accounts) Session(ctx context.Context) (ses control.Session, ok bool, err error) {
	p, _ := control.PrincipalFrom(ctx)
	if p.Session == 0 {
		return ses, false, nil
	}
	err = s.Store.View(ctx, func(r control.Repos) (err error) { ses, err = r.SessionByID(ctx, p.Session); return err })
	if errors.Is(err, control.ErrNotFound) { // ended meanwhile
		err = control.ErrUnauthorized
	}
	return ses, err == nil, err
}

// ExtendSession counts the request as activity of the caller's browser session at once, while other requests do so at most once in
// seenGrain. The end by age does not move.
func (s *Accounts) ExtendSession(ctx context.Context) (control.Session, error) {
	p, _ := control.PrincipalFrom(ctx)
	if p.Session == 0 {
		return control.Session{}, &control.ConflictError{Code: "no-session", Said: phrase.Of("problem.no-session")}
	}
	err := s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error { return r.TouchSession(ctx, p.Session, s.Now()) })
	if err != nil {
		return control.Session{}, err
	}
	ses, _, err := s.Session(ctx)
	return ses, err
}
