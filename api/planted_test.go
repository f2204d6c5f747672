package api

import (
	"context"
	"errors"
	"testing"

	"fairlane/service/control"
	"fairlane/service/control/usecases"
)

// sessionKeepingStore is a store that ends no session, and records each attempt to create one.
type sessionKeepingStore struct {
	control.Store

	kept [][32]byte
}

func (s *sessionKeepingStore) Tx(ctx context.Context, f func(control.Repos) error) error {
	var made [][32]byte
	err := s.Store.Tx(ctx, func(r control.Repos) error {
		made = nil
		return f(&sessionKeepingRepos{r, &made})
	})
	if err == nil {
		s.kept = append(s.kept, made...)
	}
	return err
}

type sessionKeepingRepos struct {
	control.Repos

	made *[][32]byte
}

func (r *sessionKeepingRepos) CreateSession(ctx context.Context, s control.Session) (control.Session, error) {
	*r.made = append(*r.made, s.Hash)
	return r.Repos.CreateSession(ctx, s)
}

func (*sessionKeepingRepos) DeleteSession(context.Context, int64) error {
	return errors.New("this store ends no session")
}

func TestSignInFailsWhenThePlantedSessionCannotBeEnded(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	st := &sessionKeepingStore{Store: h.rig.Store}
	d := h.rig.deps()
	d.Store, d.Clock = st, h.clock.read
	var err error
	if h.service, err = usecases.New(d); err == nil {
		h.server, err = New(h.service, Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn("ada", adaPassword).want(200)
	if len(st.kept) != 1 {
		t.Fatalf("%d sessions were kept, want 1", len(st.kept))
	}
	b.signIn("ada", adaPassword).want(500, "internal")
	if len(st.kept) != 1 {
		t.Error("a failed sign-in left a session without an owner")
	}
	b.do("GET", "/me", "").want(200) // the previous session stays valid
	b.signIn("ada", "a wrong long word").want(401, "sign-in-refused")
	b.do("GET", "/me", "").want(200)
}
