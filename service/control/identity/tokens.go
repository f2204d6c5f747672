package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/tenants"
)

// tokenPrefix marks our tokens, for people and for secret scanners.
const tokenPrefix = "flt_"

// minTokenLength is the shortest token that an operator may choose. It is stored hashed without salt or stretching, which
// is safe only for long random texts.
const minTokenLength = 32

// Bounds of tokens.
const (
	MaxTokens        = 100                  // of one account
	DefaultTokenLife = 90 * 24 * time.Hour  // when the caller does not say
	MaxTokenLife     = 366 * 24 * time.Hour // longest that may be asked for
	usedGrain        = 5 * time.Minute      // resolution of "last used"
)

// NewToken returns a token of 256 random bits in text form, and its hash.
func NewToken() (text string, hash [32]byte) {
	text = tokenPrefix + randomText()
	return text, sha256.Sum256([]byte(text))
}

// randomText returns 256 random bits as text.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// CheckAdminToken rejects a token that Bootstrap would reject.
func CheckAdminToken(given string) error {
	if len(given) < minTokenLength || strings.ContainsAny(given, " \t\r\n") {
		return fmt.Errorf("admin token of %d characters: want at least %d, without blanks", len(given), minTokenLength)
	}
	return nil
}

// Bootstrap makes sure that an administrator can sign in. A given token, of at least 32 characters, is stored under
// BootstrapName and replaces an earlier one. Without one, and with neither a token nor an administrator in the store, it
// generates a token and returns it to be shown once.
func (s *Accounts) Bootstrap(ctx context.Context, given string) (generated string, err error) {
	t := control.Token{Name: control.BootstrapName, CreatedAt: s.Now()}
	if given != "" {
		if err := CheckAdminToken(given); err != nil {
			return "", err
		}
		t.Hash = sha256.Sum256([]byte(given))
	}
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		if given == "" {
			n, err := r.CountTokens(ctx)
			if err != nil || n > 0 {
				return err
			}
			if n, err = r.CountHolders(ctx, tenants.RoleFabricAdmin); err != nil || n > 0 {
				return err
			}
			generated, t.Hash = NewToken()
		}
		return s.putBootstrap(ctx, r, t)
	})
	if err != nil {
		return "", err
	}
	return generated, nil
}

// putBootstrap stores the bootstrap token, with an audit entry when it changed.
func (s *Accounts) putBootstrap(ctx context.Context, r control.Repos, t control.Token) error {
	switch had, err := r.TokenByHash(ctx, t.Hash); {
	case err == nil && had.Account == 0 && had.Name == t.Name:
		return nil
	case err != nil && !errors.Is(err, control.ErrNotFound):
		return err
	}
	if err := r.PutToken(ctx, t); err != nil {
		return err
	}
	return s.AuditIn(ctx, r, control.AuditRecord{Action: "token.bootstrap", Object: t.Name, Outcome: audit.Done,
		Said: phrase.Of("audit.admin-token"), After: tokenData(t)})
}

// Authenticate returns the principal of a token, or ErrUnauthorized. The lookup is by hash, so its time does not reveal
// how close a guess is.
func (s *Accounts) Authenticate(ctx context.Context, text string) (control.Principal, error) {
	if text == "" || len(text) > 1024 {
		return control.Principal{}, control.ErrUnauthorized
	}
	hash := sha256.Sum256([]byte(text))
	var t control.Token
	var p control.Principal
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if t, err = r.TokenByHash(ctx, hash); err != nil {
			return err
		}
		p, err = s.bearer(ctx, r, t)
		return err
	})
	switch {
	case errors.Is(err, control.ErrNotFound):
		return control.Principal{}, control.ErrUnauthorized
	case err != nil:
		return control.Principal{}, err
	}
	if s.Now().Sub(t.UsedAt) >= usedGrain {
		err = s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error { return r.TouchToken(ctx, t.ID, s.Now()) })
		if errors.Is(err, control.ErrUnavailable) {
			err = nil // reads must work with a full or read-only store
		}
	}
	return p, err
}

// bearer returns the principal of a stored token at this time.
func (s *Accounts) bearer(ctx context.Context, r control.Repos, t control.Token) (control.Principal, error) {
	if t.Ended(s.Now()) {
		return control.Principal{}, control.ErrUnauthorized
	}
	if t.Account == 0 {
		return control.Principal{Kind: control.PrincipalBootstrap, Name: t.Name, Token: t.Name, Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}}, nil
	}
	a, err := r.AccountByID(ctx, t.Account)
	if err != nil {
		return control.Principal{}, err
	}
	if a.Disabled {
		return control.Principal{}, control.ErrUnauthorized
	}
	p := a.Principal()
	p.Token, p.Scopes, p.ExpiresAt = t.Name, t.Scopes, t.ExpiresAt
	return p, nil
}

// TokenInput is the input for a token.
type TokenInput struct {
	Name   string
	Scopes []control.Scope // none: all rights of the account
	Life   time.Duration   // 0 is DefaultTokenLife
}

// CreateToken creates a token of an account and returns its text, which is shown only this once. A principal that
// authenticated with a token cannot create one that outlives it, nor any when its own is narrowed to scopes: a lost token
// must end when it ends.
func (s *Accounts) CreateToken(ctx context.Context, ref control.AccountRef, in TokenInput) (text string, out control.Token, err error) {
	if err := checkToken(&in); err != nil {
		return "", control.Token{}, err
	}
	t := control.Token{Name: in.Name, Scopes: in.Scopes, CreatedAt: s.Now()}
	t.ExpiresAt = t.CreatedAt.Add(in.Life)
	text, t.Hash = NewToken()
	err = s.Store.Tx(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, ref)
		if err != nil {
			return err
		}
		list, err := r.ListTokens(ctx, a.ID)
		if err != nil {
			return err
		}
		if len(list) >= MaxTokens {
			return &control.ConflictError{Code: "too-many", Said: phrase.Of("problem.tokens-max", "account", a.Name, "n", len(list))}
		}
		if err := s.boundByOwn(ctx, r, &t); err != nil {
			return err
		}
		t.Account = a.ID
		if out, err = r.CreateToken(ctx, t); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "token.created", Subject: a.Principal().Name, Said: phrase.Of("event.token-made", "token", t.Name)}, tokenData(out))
	})
	if err != nil {
		return "", control.Token{}, err
	}
	return text, out, nil
}

// tokenData returns the data of a token in events.
func tokenData(t control.Token) map[string]any {
	scopes := make([]string, len(t.Scopes))
	for i, sc := range t.Scopes {
		scopes[i] = sc.String()
	}
	data := map[string]any{"token_name": t.Name, "scopes": scopes} // a field called token would be taken for a secret
	if !t.ExpiresAt.IsZero() {
		data["expires_at"] = t.ExpiresAt
	}
	return data
}

func checkToken(in *TokenInput) error {
	if in.Life == 0 {
		in.Life = DefaultTokenLife
	}
	switch {
	case !tenants.ValidName(in.Name):
		return control.Invalid("/name", phrase.Of("problem.token-name", "found", control.Clipped(in.Name)))
	case in.Name == control.MaskedActor:
		return control.ErrMasked("/name", "token name")
	case in.Life < time.Minute || in.Life > MaxTokenLife:
		return control.Invalid("/expires_in_s", phrase.Of("problem.token-life", "found", in.Life, "min", time.Minute, "max", MaxTokenLife))
	case len(in.Scopes) > control.MaxScopes:
		return control.Invalid("/scopes", phrase.Of("problem.scopes-max", "n", len(in.Scopes), "max", control.MaxScopes))
	}
	return nil
}

// boundByOwn limits a new token to the lifetime of the token that creates it, ours or the OpenID provider's.
func (s *Accounts) boundByOwn(ctx context.Context, r control.Repos, t *control.Token) error {
	p, ok := control.PrincipalFrom(ctx)
	switch {
	case !ok || p.Account == 0 || p.Session != 0:
		return nil
	case p.External():
		if !t.CreatedAt.Before(p.ExpiresAt) { // also when its end is unknown
			return control.ErrUnauthorized
		}
		t.ExpiresAt = earlier(t.ExpiresAt, p.ExpiresAt)
		return nil
	}
	if p.Scopes != nil {
		return &control.ForbiddenError{Said: phrase.Of("problem.scoped-token")}
	}
	own, err := control.HeldToken(ctx, r, p)
	if err == nil && !own.ExpiresAt.IsZero() {
		t.ExpiresAt = earlier(t.ExpiresAt, own.ExpiresAt)
	}
	return err
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// ListTokens returns an account's tokens by name, including expired ones.
func (s *Accounts) ListTokens(ctx context.Context, ref control.AccountRef) (list []control.Token, err error) {
	err = s.Store.View(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, ref)
		if err == nil {
			list, err = r.ListTokens(ctx, a.ID)
		}
		return err
	})
	return list, err
}

// DeleteToken revokes a token; requests with it are rejected from then on.
func (s *Accounts) DeleteToken(ctx context.Context, ref control.AccountRef, name string) error {
	return s.Store.Tx(ctx, func(r control.Repos) error {
		a, err := r.Account(ctx, ref)
		if err != nil {
			return err
		}
		if err := r.DeleteToken(ctx, a.ID, name); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "token.deleted", Subject: a.Principal().Name, Said: phrase.Of("event.token-revoked", "token", name)},
			control.Change{Before: map[string]string{"token_name": name}})
	})
}
