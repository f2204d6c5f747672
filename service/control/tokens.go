package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/tenants"
)

// tokenPrefix marks our tokens, for people and for secret scanners.
const tokenPrefix = "flt_"

// minTokenLength is the shortest token an operator may choose: it is stored hashed without
// salt or stretching, which only long random texts bear.
const minTokenLength = 32

// BootstrapName is the name of the first token.
const BootstrapName = "admin"

// Bounds of tokens.
const (
	MaxTokens        = 100                  // of one account
	DefaultTokenLife = 90 * 24 * time.Hour  // when the caller does not say
	MaxTokenLife     = 366 * 24 * time.Hour // longest that may be asked for
	usedGrain        = 5 * time.Minute      // how coarsely "last used" is kept
)

// Token is an access token; the secret itself is never stored.
type Token struct {
	ID        int64
	Account   int64 // 0: the bootstrap token, which belongs to none
	Name      string
	Hash      [32]byte  // SHA-256 of the token's text
	Scopes    []Scope   // nil: all rights of the account
	ExpiresAt time.Time // zero: never
	UsedAt    time.Time // zero: never; at most usedGrain old when it was
	CreatedAt time.Time
}

// NewToken returns a token of 256 random bits in text form, and its hash.
func NewToken() (text string, hash [32]byte) {
	text = tokenPrefix + randomText()
	return text, sha256.Sum256([]byte(text))
}

// randomText is 256 random bits as text.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// CheckAdminToken refuses a token that Bootstrap would refuse.
func CheckAdminToken(given string) error {
	if len(given) < minTokenLength || strings.ContainsAny(given, " \t\r\n") {
		return fmt.Errorf("admin token of %d characters: want at least %d, without blanks", len(given), minTokenLength)
	}
	return nil
}

// Bootstrap makes sure that somebody can get in. A given token, of at least 32 characters, is
// stored under BootstrapName in the place of an earlier one. Without one, and with neither a token
// nor an administrator in the store, a new one is made and returned to be shown once.
func (s *Service) Bootstrap(ctx context.Context, given string) (generated string, err error) {
	t := Token{Name: BootstrapName, CreatedAt: s.now()}
	if given != "" {
		if err := CheckAdminToken(given); err != nil {
			return "", err
		}
		t.Hash = sha256.Sum256([]byte(given))
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
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

// putBootstrap stores the first token, with its entry in the audit log when it is another one than before.
func (s *Service) putBootstrap(ctx context.Context, r Repos, t Token) error {
	switch had, err := r.TokenByHash(ctx, t.Hash); {
	case err == nil && had.Account == 0 && had.Name == t.Name:
		return nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return err
	}
	if err := r.PutToken(ctx, t); err != nil {
		return err
	}
	return s.AuditIn(ctx, r, AuditRecord{Action: "token.bootstrap", Object: t.Name, Outcome: audit.Done,
		Detail: "the token that belongs to no account was made, or replaced by another", After: tokenData(t)})
}

// Authenticate returns who the token speaks for, or ErrUnauthorized. The time it takes says
// nothing about how close the text is: what is looked up is its hash.
func (s *Service) Authenticate(ctx context.Context, text string) (Principal, error) {
	if text == "" || len(text) > 1024 {
		return Principal{}, ErrUnauthorized
	}
	hash := sha256.Sum256([]byte(text))
	var t Token
	var p Principal
	err := s.d.Store.View(ctx, func(r Repos) (err error) {
		if t, err = r.TokenByHash(ctx, hash); err != nil {
			return err
		}
		p, err = s.bearer(ctx, r, t)
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return Principal{}, ErrUnauthorized
	case err != nil:
		return Principal{}, err
	}
	if s.now().Sub(t.UsedAt) >= usedGrain {
		err = s.d.Store.Tx(WithScope(ctx, ScopeSignIn), func(r Repos) error { return r.TouchToken(ctx, t.ID, s.now()) })
		if errors.Is(err, ErrUnavailable) {
			err = nil // a full or read-only store still lets read
		}
	}
	return p, err
}

// ended reports whether a token is past its end.
func (t Token) ended(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// heldToken is the token that a principal came with; ErrUnauthorized when it was revoked since.
func heldToken(ctx context.Context, r Repos, p Principal) (Token, error) {
	list, err := r.ListTokens(ctx, p.Account)
	if err != nil {
		return Token{}, err
	}
	i := slices.IndexFunc(list, func(t Token) bool { return t.Name == p.Token })
	if i < 0 {
		return Token{}, ErrUnauthorized
	}
	return list[i], nil
}

// bearer is who a stored token speaks for at this time.
func (s *Service) bearer(ctx context.Context, r Repos, t Token) (Principal, error) {
	if t.ended(s.now()) {
		return Principal{}, ErrUnauthorized
	}
	if t.Account == 0 {
		return Principal{Kind: PrincipalBootstrap, Name: t.Name, Token: t.Name, Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}}, nil
	}
	a, err := r.AccountByID(ctx, t.Account)
	if err != nil {
		return Principal{}, err
	}
	if a.Disabled {
		return Principal{}, ErrUnauthorized
	}
	p := a.Principal()
	p.Token, p.Scopes, p.ExpiresAt = t.Name, t.Scopes, t.ExpiresAt
	return p, nil
}

// TokenInput is a token as it is asked for.
type TokenInput struct {
	Name   string
	Scopes []Scope       // none: all rights of the account
	Life   time.Duration // 0 is DefaultTokenLife
}

// CreateToken makes a token of an account and returns its text, which is shown only this once. A
// principal that came with a token makes none that outlives it, and none at all when its own
// is narrowed to scopes: a lost token must end when it ends.
func (s *Service) CreateToken(ctx context.Context, ref AccountRef, in TokenInput) (text string, out Token, err error) {
	if err := checkToken(&in); err != nil {
		return "", Token{}, err
	}
	t := Token{Name: in.Name, Scopes: in.Scopes, CreatedAt: s.now()}
	t.ExpiresAt = t.CreatedAt.Add(in.Life)
	text, t.Hash = NewToken()
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		a, err := r.Account(ctx, ref)
		if err != nil {
			return err
		}
		list, err := r.ListTokens(ctx, a.ID)
		if err != nil {
			return err
		}
		if len(list) >= MaxTokens {
			return &ConflictError{Code: "too-many", Said: phrase.Of("problem.tokens-max", "account", a.Name, "n", len(list))}
		}
		if err := s.boundByOwn(ctx, r, &t); err != nil {
			return err
		}
		t.Account = a.ID
		if out, err = r.CreateToken(ctx, t); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "token.created", Subject: a.Principal().Name, Said: phrase.Of("event.token-made", "token", t.Name)}, tokenData(out))
	})
	if err != nil {
		return "", Token{}, err
	}
	return text, out, nil
}

// tokenData is what an event tells of a token.
func tokenData(t Token) map[string]any {
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
		return Invalid("/name", phrase.Of("problem.token-name", "found", clipped(in.Name)))
	case in.Name == MaskedActor:
		return errMasked("/name", "token name")
	case in.Life < time.Minute || in.Life > MaxTokenLife:
		return Invalid("/expires_in_s", phrase.Of("problem.token-life", "found", in.Life, "min", time.Minute, "max", MaxTokenLife))
	case len(in.Scopes) > MaxScopes:
		return Invalid("/scopes", phrase.Of("problem.scopes-max", "n", len(in.Scopes), "max", MaxScopes))
	}
	return nil
}

// boundByOwn makes a new token end no later than the token that asks for it, be it ours or the OpenID provider's.
func (s *Service) boundByOwn(ctx context.Context, r Repos, t *Token) error {
	p, ok := PrincipalFrom(ctx)
	switch {
	case !ok || p.Account == 0 || p.Session != 0:
		return nil
	case p.external():
		if !t.CreatedAt.Before(p.ExpiresAt) { // also when its end is not known
			return ErrUnauthorized
		}
		t.ExpiresAt = earlier(t.ExpiresAt, p.ExpiresAt)
		return nil
	}
	if p.Scopes != nil {
		return &ForbiddenError{Said: phrase.Of("problem.scoped-token")}
	}
	own, err := heldToken(ctx, r, p)
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

// ListTokens returns an account's tokens by name, expired ones too.
func (s *Service) ListTokens(ctx context.Context, ref AccountRef) (list []Token, err error) {
	err = s.d.Store.View(ctx, func(r Repos) error {
		a, err := r.Account(ctx, ref)
		if err == nil {
			list, err = r.ListTokens(ctx, a.ID)
		}
		return err
	})
	return list, err
}

// DeleteToken revokes a token; it is refused from the next request on.
func (s *Service) DeleteToken(ctx context.Context, ref AccountRef, name string) error {
	return s.d.Store.Tx(ctx, func(r Repos) error {
		a, err := r.Account(ctx, ref)
		if err != nil {
			return err
		}
		if err := r.DeleteToken(ctx, a.ID, name); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "token.deleted", Subject: a.Principal().Name, Said: phrase.Of("event.token-revoked", "token", name)},
			change{Before: map[string]string{"token_name": name}})
	})
}
