package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"fairlane/internal/phrase"

	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/identity"
)

// IdentityProvider is an OpenID provider. Begin and Finish are the two halves of the authorization code flow with PKCE.
// The secret that Begin returns is sealed into the browser's cookie and passed to Finish.
type IdentityProvider interface {
	// Name returns the provider's display name.
	Name() string
	// Begin returns the address to send the browser to, and a secret of this sign-in.
	Begin(ctx context.Context) (address, secret string, err error)
	// Finish verifies the provider's answer: the state must match the secret, the code is exchanged, and the identity's
	// signature, issuer, audience, time and nonce are checked.
	Finish(ctx context.Context, secret, state, code string) (identity.Identity, error)
	// Bearer verifies a token of the provider that a program sent; an error when such tokens are not accepted.
	Bearer(ctx context.Context, token string) (identity.Identity, error)
}

// oidcCookie holds the secret of a sign-in in progress. It is used only one time.
const oidcCookie = "fairlane_oidc"

// oidcPatience is how long a sign-in at the provider may take.
const oidcPatience = 10 * time.Minute

// oidcPath is the only path that the cookie is sent to.
const oidcPath = "/api/v1/sign-in/oidc"

// OIDCCallback is the path to which the provider sends the browser back.
const OIDCCallback = oidcPath + "/callback"

func (s *Server) oidcCookie(r *http.Request, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: oidcCookie, Value: value, Path: oidcPath, MaxAge: int(age.Seconds()), Secure: s.overTLS(r), HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// startedOidc is the answer that sends the browser to the provider.
type startedOidc struct {
	cookies
	server.StartOidc302Response
}

var _ server.StartOidcResponseObject = (*startedOidc)(nil)

func (a startedOidc) VisitStartOidcResponse(w http.ResponseWriter) error {
	a.set(w)
	return a.StartOidc302Response.VisitStartOidcResponse(w)
}

func (s *Server) StartOidc(ctx context.Context, r server.StartOidcRequestObject) (server.StartOidcResponseObject, error) {
	if s.o.OIDC == nil {
		return nil, &problemError{code: "oidc-off", said: phrase.Of("problem.oidc-off")}
	}
	address, secret, err := s.o.OIDC.Begin(ctx)
	if err != nil {
		return nil, s.oidcFault(ctx, err)
	}
	value := secret + "." + url.QueryEscape(deref(r.Params.ReturnTo))
	return startedOidc{
		cookies{s.oidcCookie(requestOf(ctx), value, oidcPatience)},
		server.StartOidc302Response{Headers: server.StartOidc302ResponseHeaders{Location: address}},
	}, nil
}

// finishedOidc is the answer that sends the browser back to the page where it started.
type finishedOidc struct {
	cookies
	server.FinishOidc302Response
}

var _ server.FinishOidcResponseObject = (*finishedOidc)(nil)

func (a finishedOidc) VisitFinishOidcResponse(w http.ResponseWriter) error {
	a.set(w)
	return a.FinishOidc302Response.VisitFinishOidcResponse(w)
}

func (s *Server) FinishOidc(ctx context.Context, r server.FinishOidcRequestObject) (server.FinishOidcResponseObject, error) {
	if s.o.OIDC == nil {
		return nil, &problemError{code: "oidc-off", said: phrase.Of("problem.oidc-off")}
	}
	req := requestOf(ctx)
	forgive, err := s.control.Admit(req.RemoteAddr)
	if err != nil {
		return nil, err
	}
	cookie, err := req.Cookie(oidcCookie)
	if err != nil {
		return nil, &problemError{code: "sign-in-refused", said: phrase.Of("problem.sign-in-foreign")}
	}
	secret, back, _ := strings.Cut(cookie.Value, ".")
	if e := deref(r.Params.Error); e != "" {
		return nil, &problemError{code: "sign-in-refused", said: phrase.Of("problem.oidc-refused", "reason", clip(e))}
	}
	id, err := s.o.OIDC.Finish(ctx, secret, deref(r.Params.State), deref(r.Params.Code))
	if err != nil {
		return nil, s.oidcFault(ctx, err)
	}
	in, err := s.control.SignInExternal(s.replacing(ctx, req), id)
	if !isFault(err) {
		forgive()
	}
	switch {
	case errors.Is(err, control.ErrUnauthorized):
		return nil, &problemError{code: "sign-in-refused", said: phrase.Of("problem.account-disabled")}
	case err != nil:
		return nil, err
	}
	set := append(s.sessionCookies(req, in.Secret), s.oidcCookie(req, "", -time.Second))
	return finishedOidc{set, server.FinishOidc302Response{Headers: server.FinishOidc302ResponseHeaders{Location: returnTo(back)}}}, nil
}

// returnTo returns a path of this service; anything else becomes its front page, so that no browser is redirected
// elsewhere.
func returnTo(escaped string) string {
	path, err := url.QueryUnescape(escaped)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}

// oidcFault converts a fault of a sign-in into a refusal; only the log has the reason.
func (s *Server) oidcFault(ctx context.Context, err error) error {
	s.o.Log.WarnContext(ctx, "sign-in at the OpenID provider failed", "error", err.Error())
	return &problemError{code: "sign-in-refused", said: phrase.Of("problem.sign-in-failed")}
}
