package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"sync"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// store is the library's storage in memory, extended by groups as a claim and a key that can be rotated.
type store struct {
	*storage.Storage

	mu      sync.Mutex
	key     *rsa.PrivateKey
	version int
}

func newStore(s *storage.Storage) (*store, error) {
	st := &store{Storage: s}
	return st, st.rotate()
}

// rotate replaces the signing key and drops the old one.
func (s *store) rotate() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
	s.version++
	return nil
}

// signing is the current key, private and public.
type signing struct {
	key    *rsa.PrivateKey
	id     string
	public bool
}

func (k signing) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k signing) Algorithm() jose.SignatureAlgorithm          { return jose.RS256 }
func (k signing) ID() string                                  { return k.id }
func (k signing) Use() string                                 { return "sig" }
func (k signing) Key() any {
	if k.public {
		return &k.key.PublicKey
	}
	return k.key
}

func (s *store) present(public bool) signing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return signing{s.key, fmt.Sprintf("key-%d", s.version), public}
}

var _ op.Storage = (*store)(nil)

func (s *store) SigningKey(context.Context) (op.SigningKey, error) { return s.present(false), nil }

func (s *store) KeySet(context.Context) ([]op.Key, error) { return []op.Key{s.present(true)}, nil }

func (s *store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin); err != nil {
		return err
	}
	info.AppendClaims("groups", groups(subject))
	return nil
}

func (s *store) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

// SetUserinfoFromRequest sets the claims of an ID token. It implements op.CanSetUserinfoFromRequest.
func (s *store) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	if err := s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes); err != nil {
		return err
	}
	info.AppendClaims("groups", groups(token.GetSubject()))
	return nil
}

func groups(id string) []string {
	switch id {
	case "alice":
		return []string{"staff", "fabric-admins"}
	case "rob":
		return []string{"red-team"}
	}
	return []string{}
}

// people are the users.
type people struct{}

func user(id, name string) *storage.User {
	return &storage.User{ID: id, Username: name, Password: "secret-" + id, FirstName: id, LastName: "Example", Email: id + "@example.org", EmailVerified: true}
}

var _ storage.UserStore = (*people)(nil)

func (people) GetUserByID(id string) *storage.User {
	switch id {
	case "alice", "rob":
		return user(id, id)
	case "bad":
		return user(id, "No Good")
	}
	return nil
}

func (p people) GetUserByUsername(name string) *storage.User {
	if name == "No Good" {
		return p.GetUserByID("bad")
	}
	return p.GetUserByID(name)
}

func (people) ExampleClientID() string { return "fairlane" }
