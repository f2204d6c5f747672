package control

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Bounds of sign-in.
const (
	SessionIdle = 12 * time.Hour  // a browser session ends this long after its last request
	SessionLife = 24 * time.Hour  // and this long after its sign-in, whatever happens
	seenGrain   = time.Minute     // how coarsely "last seen" is kept
	freeTries   = 5               // failed sign-ins under one name before the first lock
	firstLock   = 2 * time.Second // doubles with each further failure,
	longestLock = 15 * time.Minute
	forgetAfter = 24 * time.Hour // failures are forgotten

	// From one source: refusals before it must wait, time in which one is forgiven, and how many
	// sources are remembered.
	sourceBurst  = 20
	sourceRefill = 6 * time.Second
	sourcesKept  = 8192

	parallelHashes = 4
)

// gate is the state of this process's sign-in.
type gate struct {
	sources *throttle
	hashers hashers
}

func newGate() gate {
	return gate{sources: newThrottle(sourceBurst, sourceRefill, sourcesKept), hashers: make(hashers, parallelHashes)}
}

// Admit refuses a source, an address with or without port, whose credentials were refused too often of late.
func (s *Service) Admit(addr string) error {
	if wait := s.gate.sources.wait(sourceKey(addr), s.now()); wait > 0 {
		return &LockedError{Detail: "too many refused credentials from this address", Until: s.now().Add(wait)}
	}
	return nil
}

// Refused counts a refused credential of a source.
func (s *Service) Refused(addr string) { s.gate.sources.add(sourceKey(addr), s.now()) }

// SignedIn is a new session. Secret goes into the cookie and is known nowhere else.
type SignedIn struct {
	Secret    string
	Session   Session
	Principal Principal
}

// SignIn checks a name and a password and begins a session. Unknown names, names without a
// password, disabled accounts and wrong passwords are ErrUnauthorized, cost the same and lock
// the same way; a lock is a *LockedError.
func (s *Service) SignIn(ctx context.Context, name, password string) (SignedIn, error) {
	if len(name) > 255 || len(password) > MaxPassword {
		return SignedIn{}, ErrUnauthorized
	}
	key := sha256.Sum256([]byte(name))
	var had SigninFailures
	a := Account{}
	err := s.d.Store.View(ctx, func(r Repos) (err error) {
		if had, err = r.SigninFailures(ctx, key); err != nil {
			return err
		}
		a, err = r.Account(ctx, AccountRef{Kind: PrincipalUser, Name: name})
		if errors.Is(err, ErrNotFound) {
			a, err = Account{}, nil
		}
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	if s.now().Before(had.LockedUntil) {
		return SignedIn{}, &LockedError{Detail: "too many failed sign-ins under this name", Until: had.LockedUntil}
	}
	stored := a.Password
	if stored == "" {
		stored = decoy()
	}
	var ok, renew bool
	if herr := s.gate.hashers.do(ctx, func() { ok, renew, err = checkPassword(password, stored) }); herr != nil {
		return SignedIn{}, herr
	}
	switch {
	case err != nil:
		return SignedIn{}, fmt.Errorf("account %s: %w", a.Name, err)
	case !ok || a.Password == "" || a.Disabled:
		return SignedIn{}, s.failedSignIn(ctx, key)
	}
	if renew {
		a.Password, err = s.hash(ctx, password)
		if err != nil {
			return SignedIn{}, err
		}
	}
	return s.beginSession(ctx, a, "password", key)
}

// failedSignIn counts a failure under a name and returns ErrUnauthorized.
func (s *Service) failedSignIn(ctx context.Context, key [32]byte) error {
	err := s.d.Store.Tx(ctx, func(r Repos) error {
		now := s.now()
		had, err := r.SigninFailures(ctx, key)
		if err != nil {
			return err
		}
		if now.Sub(had.LastAt) > forgetAfter {
			had = SigninFailures{}
		}
		had.Failures++
		had.LastAt = now
		had.LockedUntil = now.Add(lockAfter(had.Failures))
		if err := r.PutSigninFailures(ctx, key, had); err != nil {
			return err
		}
		return r.ForgetSigninFailures(ctx, now.Add(-forgetAfter))
	})
	if err != nil {
		return err
	}
	return ErrUnauthorized
}

// lockAfter is how long a name is locked after so many failures.
func lockAfter(failures int) time.Duration {
	if failures < freeTries {
		return 0
	}
	lock := firstLock
	for range failures - freeTries {
		if lock *= 2; lock >= longestLock {
			return longestLock
		}
	}
	return lock
}

// beginSession records a sign-in. The session's secret is always new: one that the browser brought
// along is worth nothing.
func (s *Service) beginSession(ctx context.Context, a Account, method string, key [32]byte) (SignedIn, error) {
	now := s.now()
	in := SignedIn{Secret: randomText()}
	in.Session = Session{
		Hash: sha256.Sum256([]byte(in.Secret)), Account: a.ID, Method: method,
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(SessionLife),
	}
	err := s.d.Store.Tx(ctx, func(r Repos) (err error) {
		if err := r.ClearSigninFailures(ctx, key); err != nil {
			return err
		}
		if err := r.DeleteStaleSessions(ctx, now, now.Add(-SessionIdle)); err != nil {
			return err
		}
		a.SignedInAt, a.UpdatedAt, a.Version = now, now, 0
		if a, err = r.UpdateAccount(ctx, a); err != nil {
			return err
		}
		if in.Session, err = r.CreateSession(ctx, in.Session); err != nil {
			return err
		}
		in.Principal = a.Principal()
		in.Principal.Session = in.Session.ID
		return s.event(WithPrincipal(ctx, in.Principal), r, Event{Kind: "session.started", Subject: a.Name, Message: a.Name + " signed in"},
			map[string]string{"method": method})
	})
	return in, err
}

// AuthenticateSession returns who a session's secret speaks for, or ErrUnauthorized.
func (s *Service) AuthenticateSession(ctx context.Context, secret string) (Principal, Session, error) {
	if secret == "" || len(secret) > 1024 {
		return Principal{}, Session{}, ErrUnauthorized
	}
	now := s.now()
	var ses Session
	var a Account
	err := s.d.Store.View(ctx, func(r Repos) (err error) {
		if ses, err = r.SessionByHash(ctx, sha256.Sum256([]byte(secret))); err == nil {
			a, err = r.AccountByID(ctx, ses.Account)
		}
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return Principal{}, Session{}, ErrUnauthorized
	case err != nil:
		return Principal{}, Session{}, err
	case a.Disabled, !now.Before(ses.ExpiresAt), now.Sub(ses.SeenAt) >= SessionIdle:
		return Principal{}, Session{}, ErrUnauthorized
	}
	if now.Sub(ses.SeenAt) >= seenGrain {
		err = s.d.Store.Tx(ctx, func(r Repos) error { return r.TouchSession(ctx, ses.ID, now) })
		if err != nil && !errors.Is(err, ErrUnavailable) {
			return Principal{}, Session{}, err
		}
	}
	p := a.Principal()
	p.Session = ses.ID
	return p, ses, nil
}

// SignOut ends the session of who asks; with a token there is none to end.
func (s *Service) SignOut(ctx context.Context) error {
	p, ok := PrincipalFrom(ctx)
	if !ok || p.Session == 0 {
		return &ConflictError{Code: "no-session", Detail: "the request came without a browser session; a token is revoked instead"}
	}
	return s.d.Store.Tx(ctx, func(r Repos) error {
		if err := r.DeleteSession(ctx, p.Session); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "session.ended", Subject: p.Name, Message: p.Name + " signed out"}, nil)
	})
}

// ChangePassword replaces the password of who asks after checking the present one, and ends all of
// the account's other sessions. Its tokens stay: they are revoked one by one.
func (s *Service) ChangePassword(ctx context.Context, present, next string) error {
	p, ok := PrincipalFrom(ctx)
	if !ok || p.Session == 0 || p.Kind != PrincipalUser {
		return &ForbiddenError{Detail: "a password is changed in a session of its own account, after sign-in"}
	}
	if err := checkNewPassword("/new_password", next, p.Name); err != nil {
		return err
	}
	var a Account
	err := s.d.Store.View(ctx, func(r Repos) (err error) { a, err = r.AccountByID(ctx, p.Account); return err })
	if err != nil {
		return err
	}
	stored := a.Password
	if stored == "" {
		stored = decoy()
	}
	var same bool
	if herr := s.gate.hashers.do(ctx, func() { same, _, err = checkPassword(present, stored) }); herr != nil {
		return herr
	}
	if err != nil {
		return err
	}
	if !same {
		return Invalid("/password", "the present password is another one")
	}
	hash, err := s.hash(ctx, next)
	if err != nil {
		return err
	}
	return s.d.Store.Tx(ctx, func(r Repos) error {
		a.Password, a.UpdatedAt, a.Version = hash, s.now(), 0
		if _, err := r.UpdateAccount(ctx, a); err != nil {
			return err
		}
		if err := r.DeleteSessionsOf(ctx, a.ID, p.Session); err != nil {
			return err
		}
		return s.event(ctx, r, Event{Kind: "user.password", Subject: a.Name, Message: a.Name + " changed the password"}, nil)
	})
}

// hash makes a password's hash when there is room to.
func (s *Service) hash(ctx context.Context, password string) (text string, err error) {
	err = s.gate.hashers.do(ctx, func() { text = hashPassword(password, presentCost()) })
	return text, err
}
