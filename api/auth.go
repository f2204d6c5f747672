package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/control/identity"
)

// Names of cookies and headers. Over TLS the session's cookie has the prefix that binds it to this
// host and to TLS (RFC 6265bis, 4.1.3.2).
const (
	sessionCookie       = "fairlane_session"
	secureSessionCookie = "__Host-fairlane_session"
	csrfCookie          = "fairlane_csrf"
	csrfHeader          = "X-CSRF-Token"
)

// requestKey is the context key of the HTTP request, for handlers that read cookies.
type requestKey struct{}

func requestOf(ctx context.Context) *http.Request {
	r, _ := ctx.Value(requestKey{}).(*http.Request)
	return r
}

// authenticate identifies the caller by a bearer token, or by the cookie of a browser session, before the body is read.
// Public operations need no credentials.
func (s *Server) authenticate(c *gin.Context) {
	origin := control.Origin{Addr: c.Request.RemoteAddr, RequestID: requestID(c)}
	ctx := control.WithOrigin(context.WithValue(c.Request.Context(), requestKey{}, c.Request), origin)
	c.Request = c.Request.WithContext(ctx)
	if r := s.spec.of(c); r == nil || r.rule.Domain != reachPublic {
		timed, cancel := context.WithTimeout(ctx, requestTimeout)
		p, err := s.caller(c.Request.WithContext(timed))
		cancel()
		if err != nil {
			s.writeProblem(c, s.throttled(c.Request, err))
			return
		}
		c.Request = c.Request.WithContext(control.WithPrincipal(ctx, p))
	}
	if err := s.control.Faults(faultKey(c)); err != nil {
		s.writeProblem(c, err)
	}
}

// faultKey returns the key under which faults of the service are counted: the operation, and the caller or, before
// sign-in, its address. The caller's other operations are not affected.
func faultKey(c *gin.Context) string {
	who := "from " + identity.SourceKey(c.Request.RemoteAddr)
	if p, ok := control.PrincipalFrom(c.Request.Context()); ok {
		who = holder(p)
	}
	return who + " " + c.Request.Method + " " + c.FullPath()
}

// throttled counts refused credentials by their source, and makes a source with too many wait. Valid credentials always
// pass: others behind the same address are not locked out.
func (s *Server) throttled(r *http.Request, err error) error {
	if !errors.Is(err, control.ErrUnauthorized) || !s.carriesCredentials(r) {
		return err
	}
	if _, wait := s.control.Admit(r.RemoteAddr); wait != nil {
		return wait
	}
	return err
}

func (s *Server) carriesCredentials(r *http.Request) bool {
	_, err := s.sessionSecret(r)
	return r.Header.Get("Authorization") != "" || err == nil
}

// caller authenticates a request. A bearer token takes precedence over a cookie.
func (s *Server) caller(r *http.Request) (control.Principal, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return control.Principal{}, control.ErrUnauthorized
		}
		return s.bearer(r.Context(), strings.TrimSpace(token))
	}
	secret, err := s.sessionSecret(r)
	if err != nil {
		return control.Principal{}, control.ErrUnauthorized
	}
	p, _, err := s.control.AuthenticateSession(r.Context(), secret)
	if err != nil {
		return control.Principal{}, err
	}
	return p, s.checkForgery(r, secret)
}

// bearer verifies a token: one of ours or, where accepted, one of the OpenID provider.
func (s *Server) bearer(ctx context.Context, token string) (control.Principal, error) {
	p, err := s.control.Authenticate(ctx, token)
	if err == nil || !errors.Is(err, control.ErrUnauthorized) || s.o.OIDC == nil || strings.Count(token, ".") != 2 {
		return p, err
	}
	id, err := s.o.OIDC.Bearer(ctx, token)
	if err != nil {
		s.o.Log.InfoContext(ctx, "bearer token of the provider refused", "error", err.Error())
		return control.Principal{}, control.ErrUnauthorized
	}
	return s.control.External(ctx, id)
}

// sessionSecret reads the session's cookie. Over TLS it is the one that only this host can set: another host of the
// domain, or an attacker who answers plain HTTP for us, can plant the other one.
func (s *Server) sessionSecret(r *http.Request) (string, error) {
	c, err := r.Cookie(secureSessionCookie)
	if err != nil && !s.overTLS(r) {
		c, err = r.Cookie(sessionCookie)
	}
	if err != nil {
		return "", err
	}
	return c.Value, nil
}

// checkForgery rejects unsafe requests of a session that another site may have sent. It checks the origin that the
// browser reports, and the session's CSRF token, which no other site can read, in header and cookie.
func (s *Server) checkForgery(r *http.Request, secret string) error {
	if safe(r.Method) {
		return nil
	}
	if err := s.sameOrigin(r); err != nil {
		return err
	}
	want := []byte(csrfToken(secret))
	cookie, err := r.Cookie(csrfCookie)
	if err != nil || subtle.ConstantTimeCompare([]byte(r.Header.Get(csrfHeader)), want) != 1 ||
		subtle.ConstantTimeCompare([]byte(cookie.Value), want) != 1 {
		return &problemError{code: "csrf", said: phrase.Of("problem.csrf-token", "header", csrfHeader, "cookie", csrfCookie)}
	}
	return nil
}

// sameOrigin rejects an unsafe request that, by the browser's report, originates from another site.
func (s *Server) sameOrigin(r *http.Request) error {
	if err := s.origins.Check(r); err != nil {
		return &problemError{code: "csrf", said: phrase.Of("problem.csrf-cross-site")}
	}
	return nil
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// csrfToken is derived from the session's secret: it does not match a planted cookie.
func csrfToken(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("fairlane csrf"))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// overTLS reports whether the browser used TLS, to us or to the proxy in front of us.
func (s *Server) overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(s.o.PublicURL, "https://")
}

// sessionCookies returns the two cookies of a session; without a secret they end it.
func (s *Server) sessionCookies(r *http.Request, secret string) cookies {
	secure := s.overTLS(r)
	name, csrf := sessionCookie, ""
	if secure {
		name = secureSessionCookie
	}
	age := -1
	if secret != "" {
		csrf = csrfToken(secret)
		age = int(control.SessionLife.Seconds())
	}
	return cookies{
		{Name: name, Value: secret, Path: "/", MaxAge: age, Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode},
		{Name: csrfCookie, Value: csrf, Path: "/", MaxAge: age, Secure: secure, SameSite: http.SameSiteStrictMode},
	}
}

// cookies are the cookies of an answer: the generated answers can set only one.
type cookies []*http.Cookie

func (list cookies) set(w http.ResponseWriter) {
	for _, c := range list {
		http.SetCookie(w, c)
	}
}
