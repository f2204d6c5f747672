// Package openid signs people in at an OpenID provider (OpenID Connect Core 1.0, authorization code flow, 3.1, with
// PKCE, RFC 7636) and maps its claims to names and roles.
//
// The service stores nothing between the two halves of a sign-in: it derives state, nonce and code verifier from one
// secret in the browser's cookie. Without that cookie they cannot be forged, any manager can finish a sign-in, and a
// flood of sign-ins cannot fill memory.
package openid

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"fairlane/service/control/identity"
)

// Options of a provider. Issuer, ClientID and RedirectURL are required.
type Options struct {
	Issuer       string // URL where the provider publishes its configuration
	ClientID     string
	ClientSecret string  // empty for a public client
	RedirectURL  string  // the service's callback, as registered at the provider
	Name         string  // display name of the provider; empty: the issuer's host
	NameClaim    string  // claim with the user's name; empty: "preferred_username"
	RolesClaim   string  // claim with the groups or roles, nested names joined by dots; empty: "groups"
	Roles        Mapping // grants for each value of that claim
	// Audience lets the API accept the provider's bearer tokens: JSON Web Tokens with this audience. If empty, it
	// accepts none.
	Audience string
	Now      func() time.Time // nil: time.Now
}

// Patience is how long a sign-in at the provider may take.
const Patience = 10 * time.Minute

// maxToken is the maximum size of a token that is parsed, in bytes.
const maxToken = 64 << 10

// Provider is an OpenID provider. It is safe for concurrent use.
type Provider struct {
	o      Options
	client *http.Client

	mu    sync.Mutex
	found *oidc.Provider // nil until the provider has answered
}

// New checks the options. It requests the provider's configuration only when the first sign-in begins, so that the
// service can start while the provider is down.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && issuer.Scheme != "http" {
		return nil, fmt.Errorf("issuer %q: want an https:// URL", o.Issuer)
	}
	if back, err := url.Parse(o.RedirectURL); err != nil || back.Host == "" {
		return nil, fmt.Errorf("redirect URL %q: want the address of our callback", o.RedirectURL)
	}
	if o.ClientID == "" {
		return nil, errors.New("client id is empty: want the name of this service at the provider")
	}
	if o.Name == "" {
		o.Name = issuer.Host
	}
	if o.NameClaim == "" {
		o.NameClaim = "preferred_username"
	}
	if o.RolesClaim == "" {
		o.RolesClaim = "groups"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Provider{o: o, client: &http.Client{Timeout: 10 * time.Second}}, nil
}

// Name returns the provider's display name.
func (p *Provider) Name() string { return p.o.Name }

// with returns a context with the HTTP client. The library fetches keys in it long after the request has ended.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.client)
}

// discover returns the provider's configuration and keeps it once it has been fetched.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	found, err := oidc.NewProvider(p.with(context.WithoutCancel(ctx)), p.o.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the OpenID provider %s for its configuration: %w", p.o.Issuer, err)
	}
	p.found = found
	return found, nil
}

func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.o.RedirectURL,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// derive derives one of the values of a sign-in from its secret.
func derive(secret, what string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(what))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Begin returns the address for the browser, and the secret of this sign-in, which contains no dot.
func (p *Provider) Begin(ctx context.Context) (address, secret string, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", "", err
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	secret = strconv.FormatInt(p.o.Now().Unix(), 36) + "~" + base64.RawURLEncoding.EncodeToString(b[:])
	address = p.oauth(found).AuthCodeURL(derive(secret, "state"), oidc.Nonce(derive(secret, "nonce")), oauth2.S256ChallengeOption(derive(secret, "verifier")))
	return address, secret, nil
}

// Finish exchanges the code for an identity.
func (p *Provider) Finish(ctx context.Context, secret, state, code string) (identity.Identity, error) {
	if err := p.fresh(secret); err != nil {
		return identity.Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(state), []byte(derive(secret, "state"))) != 1 {
		return identity.Identity{}, errors.New("the state that came back is not that of this sign-in")
	}
	if code == "" {
		return identity.Identity{}, errors.New("no code came back")
	}
	found, err := p.discover(ctx)
	if err != nil {
		return identity.Identity{}, err
	}
	token, err := p.oauth(found).Exchange(p.with(ctx), code, oauth2.VerifierOption(derive(secret, "verifier")))
	if err != nil {
		return identity.Identity{}, fmt.Errorf("exchange the code: %w", withoutBody(err))
	}
	raw, _ := token.Extra("id_token").(string)
	id, claims, err := p.verify(ctx, found, raw, p.o.ClientID)
	if err != nil {
		return identity.Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(derive(secret, "nonce"))) != 1 {
		return identity.Identity{}, errors.New("the nonce of the ID token is not that of this sign-in")
	}
	if err := p.complete(ctx, found, token, id.Subject, claims); err != nil {
		return identity.Identity{}, err
	}
	return p.identity(id, claims)
}

// fresh rejects a secret that Begin did not make or that is older than Patience.
func (p *Provider) fresh(secret string) error {
	text, _, ok := strings.Cut(secret, "~")
	begun, err := strconv.ParseInt(text, 36, 64)
	if !ok || err != nil {
		return errors.New("the sign-in's cookie is damaged")
	}
	if age := p.o.Now().Sub(time.Unix(begun, 0)); age < -time.Minute || age > Patience {
		return fmt.Errorf("the sign-in was begun %s ago: want at most %s", age.Round(time.Second), Patience)
	}
	return nil
}

// verify checks a token's signature, issuer, audience and time, and reads its claims.
func (p *Provider) verify(ctx context.Context, found *oidc.Provider, raw, audience string) (*oidc.IDToken, map[string]any, error) {
	if raw == "" || len(raw) > maxToken {
		return nil, nil, fmt.Errorf("token of %d bytes: want 1 to %d", len(raw), maxToken)
	}
	id, err := found.Verifier(&oidc.Config{ClientID: audience, Now: p.o.Now}).Verify(p.with(ctx), raw)
	if err != nil {
		return nil, nil, fmt.Errorf("verify the token: %w", err)
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, nil, fmt.Errorf("read the token's claims: %w", err)
	}
	return id, claims, nil
}

// complete fetches the claims that the ID token lacks from the provider's user info.
func (p *Provider) complete(ctx context.Context, found *oidc.Provider, token *oauth2.Token, subject string, claims map[string]any) error {
	if lookup(claims, p.o.NameClaim) != nil && lookup(claims, p.o.RolesClaim) != nil || found.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := found.UserInfo(p.with(ctx), oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("ask for the user's claims: %w", err)
	}
	if info.Subject != subject { // OpenID Connect Core 5.3.2
		return errors.New("the user info is that of another subject")
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("read the user's claims: %w", err)
	}
	for k, v := range more {
		if _, had := claims[k]; !had {
			claims[k] = v
		}
	}
	return nil
}

// Bearer verifies a provider's token that a program sent.
func (p *Provider) Bearer(ctx context.Context, raw string) (identity.Identity, error) {
	if p.o.Audience == "" {
		return identity.Identity{}, errors.New("tokens of the provider are not taken")
	}
	found, err := p.discover(ctx)
	if err != nil {
		return identity.Identity{}, err
	}
	id, claims, err := p.verify(ctx, found, raw, p.o.Audience)
	if err != nil {
		return identity.Identity{}, err
	}
	return p.identity(id, claims)
}

// withoutBody removes the provider's answer from an error before it is logged: it may repeat what was sent.
func withoutBody(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return fmt.Errorf("the provider answered %s with error %q", answer.Response.Status, answer.ErrorCode)
	}
	return err
}
