package control

import (
	"context"
	"slices"
	"time"
)

// BootstrapName is the name of the first token.
const BootstrapName = "admin"

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

// Ended reports whether a token is past its end.
func (t Token) Ended(now time.Time) bool { return !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt) }

// HeldToken is the token that a principal came with; ErrUnauthorized when it was revoked since.
func HeldToken(ctx context.Context, r Repos, p Principal) (Token, error) {
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
