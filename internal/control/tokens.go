package control

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"fairlane/tenants"
)

// tokenPrefix marks our tokens, for people and for secret scanners.
const tokenPrefix = "flt_"

// minTokenLength is the shortest token an operator may choose: it is stored hashed without
// salt or stretching, which only long random texts bear.
const minTokenLength = 32

// BootstrapName is the name of the first token.
const BootstrapName = "admin"

// ErrUnauthorized means that a token is missing or not one of ours.
var ErrUnauthorized = errors.New("unauthorized")

// NewToken returns a token of 256 random bits in text form, and its hash.
func NewToken() (text string, hash [32]byte) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	text = tokenPrefix + base64.RawURLEncoding.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

// Bootstrap makes sure that there is an admin token. A given one, of at least 32 characters, is
// stored under BootstrapName in the place of an earlier one. Without one, and with no token in
// the store, a new one is made and returned to be shown once.
func (s *Service) Bootstrap(ctx context.Context, given string) (generated string, err error) {
	t := Token{Name: BootstrapName, CreatedAt: s.now()}
	if given != "" {
		if len(given) < minTokenLength || strings.ContainsAny(given, " \t\r\n") {
			return "", fmt.Errorf("admin token of %d characters: want at least %d, without blanks", len(given), minTokenLength)
		}
		t.Hash = sha256.Sum256([]byte(given))
	}
	err = s.d.Store.Tx(ctx, func(r Repos) error {
		if given == "" {
			n, err := r.CountTokens(ctx)
			if err != nil || n > 0 {
				return err
			}
			generated, t.Hash = NewToken()
		}
		return r.PutToken(ctx, t)
	})
	if err != nil {
		return "", err
	}
	return generated, nil
}

// PutToken stores a token's hash under a name.
func (s *Service) PutToken(ctx context.Context, name string, hash [32]byte) error {
	if !tenants.ValidName(name) {
		return Invalid("/name", "token name %q: want 1 to 63 of a-z, 0-9 and inner hyphens", name)
	}
	return s.d.Store.Tx(ctx, func(r Repos) error {
		return r.PutToken(ctx, Token{Name: name, Hash: hash, CreatedAt: s.now()})
	})
}

// Authenticate returns the token that the text is, or ErrUnauthorized. The time it takes says
// nothing about how close the text is: what is looked up and compared is its hash.
func (s *Service) Authenticate(ctx context.Context, text string) (Token, error) {
	if text == "" || len(text) > 1024 {
		return Token{}, ErrUnauthorized
	}
	hash := sha256.Sum256([]byte(text))
	var t Token
	err := s.d.Store.View(ctx, func(r Repos) (err error) { t, err = r.TokenByHash(ctx, hash); return err })
	switch {
	case errors.Is(err, ErrNotFound):
		return Token{}, ErrUnauthorized
	case err != nil:
		return Token{}, err
	case subtle.ConstantTimeCompare(hash[:], t.Hash[:]) != 1:
		return Token{}, ErrUnauthorized
	}
	return t, nil
}
