package api

import (
	"context"
	"errors"
	"net/http"

	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/identity"
)

func (s *Server) ListSignInMethods(context.Context, server.ListSignInMethodsRequestObject) (server.ListSignInMethodsResponseObject, error) {
	out := server.ListSignInMethods200JSONResponse{Password: true}
	if s.o.OIDC != nil {
		out.Oidc, out.OidcName = true, optional(s.o.OIDC.Name())
	}
	return out, nil
}

// signedIn is the answer to a sign-in: the generated one with cookies.
type signedIn struct {
	cookies
	server.SignIn200JSONResponse
}

var _ server.SignInResponseObject = (*signedIn)(nil)

func (a signedIn) VisitSignInResponse(w http.ResponseWriter) error {
	a.set(w)
	return a.SignIn200JSONResponse.VisitSignInResponse(w)
}

// SignIn implements the contract. It ends a session that the browser already has: an attacker may have planted its
// secret.
func (s *Server) SignIn(ctx context.Context, r server.SignInRequestObject) (server.SignInResponseObject, error) {
	req := requestOf(ctx)
	if err := s.sameOrigin(req); err != nil {
		return nil, err
	}
	forgive, err := s.control.Admit(req.RemoteAddr)
	if err != nil {
		return nil, err
	}
	in, err := s.control.SignIn(s.replacing(ctx, req), r.Body.Name, r.Body.Password)
	if !errors.Is(err, control.ErrUnauthorized) && !isFault(err) {
		forgive()
	}
	if err != nil {
		if errors.Is(err, control.ErrUnauthorized) {
			err = &problemError{code: "sign-in-refused", said: phrase.Of("problem.wrong-password")}
		}
		return nil, err
	}
	return signedIn{s.sessionCookies(req, in.Secret), server.SignIn200JSONResponse{
		Name: in.Principal.Name, CsrfToken: csrfToken(in.Secret), ExpiresAt: in.Session.ExpiresAt,
	}}, nil
}

// replacing returns the context of a sign-in, which ends the session whose cookie the request has.
func (s *Server) replacing(ctx context.Context, r *http.Request) context.Context {
	secret, err := s.sessionSecret(r)
	if err != nil {
		return ctx // no cookie, nothing to end
	}
	return identity.Replacing(ctx, secret)
}

// signedOut is the answer to a sign-out.
type signedOut struct {
	cookies
	server.SignOut204Response
}

var _ server.SignOutResponseObject = (*signedOut)(nil)

func (a signedOut) VisitSignOutResponse(w http.ResponseWriter) error {
	a.set(w)
	return a.SignOut204Response.VisitSignOutResponse(w)
}

func (s *Server) SignOut(ctx context.Context, _ server.SignOutRequestObject) (server.SignOutResponseObject, error) {
	if err := s.control.SignOut(ctx); err != nil {
		return nil, err
	}
	return signedOut{s.sessionCookies(requestOf(ctx), ""), server.SignOut204Response{}}, nil
}

// ChangePassword implements the contract. A wrong present password counts as a refused credential.
func (s *Server) ChangePassword(ctx context.Context, r server.ChangePasswordRequestObject) (server.ChangePasswordResponseObject, error) {
	forgive, err := s.control.Admit(requestOf(ctx).RemoteAddr)
	if err != nil {
		return nil, err
	}
	err = s.control.ChangePassword(ctx, r.Body.Password, r.Body.NewPassword)
	if !errors.Is(err, control.ErrInvalid) && !isFault(err) {
		forgive()
	}
	return server.ChangePassword204Response{}, err
}
