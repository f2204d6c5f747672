package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// Bounds of sign-in.
const (
	seenGrain   = time.Minute     // resolution of "last seen"
	freeTries   = 5               // failed sign-ins under one name before the first lock
	firstLock   = 2 * time.Second // doubles with each further failure,
	longestLock = 15 * time.Minute
	forgetAfter = 24 * time.Hour // failures no longer count after this time

	// For one source: refusals before it must wait, the time after which one less is counted, and how many sources are
	// stored.
	sourceBurst  = 20
	sourceRefill = 6 * time.Second
	sourcesKept  = 8192

	// For one caller and operation: faults of the service before the caller must wait, and the time after which one less
	// is counted.
	faultBurst  = 10
	faultRefill = 10 * time.Second

	parallelHashes = 4
)

// gate is the sign-in state of this process.
type gate struct {
	sources *throttle
	faults  *throttle
	hashers hashers
}

func newGate() gate {
	return gate{
		sources: newThrottle(sourceBurst, sourceRefill, sourcesKept), faults: newThrottle(faultBurst, faultRefill, sourcesKept),
		hashers: make(hashers, parallelHashes),
	}
}

// Faulted counts a request that failed because of a fault of the service, under a key of its caller and operation.
func (s *Accounts) Faulted(key string) { s.gate.faults.take(key, s.Now()) }

// Faults returns a *LockedError while a key has too many faults: a request that fails costs the service more than one
// that it rejects, and repeating it does not help.
func (s *Accounts) Faults(key string) error {
	if wait := s.gate.faults.wait(key, s.Now()); wait > 0 {
		return &control.LockedError{Said: phrase.Of("problem.faulting"), Until: s.Now().Add(wait)}
	}
	return nil
}

// Admit lets a source, an address with or without port, try one credential, or returns a *LockedError after too many
// recent refusals. It counts the attempt as refused at once, so that concurrent attempts are limited like sequential
// ones; forgive removes the count when the attempt was not refused.
func (s *Accounts) Admit(addr string) (forgive func(), err error) {
	key := SourceKey(addr)
	if wait := s.gate.sources.take(key, s.Now()); wait > 0 {
		return nil, &control.LockedError{Said: phrase.Of("problem.refused-address"), Until: s.Now().Add(wait)}
	}
	return func() { s.gate.sources.give(key, s.Now()) }, nil
}

// SignedIn is a new session. Secret goes into the cookie and is stored nowhere else.
type SignedIn struct {
	Secret    string
	Session   control.Session
	Principal control.Principal
}

// SignIn checks a name and a password and begins a session. Unknown names, names without a password, disabled accounts
// and wrong passwords all return ErrUnauthorized, take the same time and lock the same way; a lock is a *LockedError.
func (s *Accounts) SignIn(ctx context.Context, name, password string) (SignedIn, error) {
	if len(name) > 255 || len(password) > MaxPassword {
		return SignedIn{}, control.ErrUnauthorized
	}
	key := sha256.Sum256([]byte(name))
	var a control.Account
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if _, err := s.unlocked(ctx, r, key); err != nil {
			return err
		}
		a, err = r.Account(ctx, control.AccountRef{Kind: control.PrincipalUser, Name: name})
		if errors.Is(err, control.ErrNotFound) {
			a, err = control.Account{}, nil
		}
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	ok, renew, err := s.check(ctx, password, a.Password)
	switch {
	case err != nil:
		return SignedIn{}, fmt.Errorf("account %s: %w", a.Name, err)
	case !ok || a.Disabled:
		return SignedIn{}, s.refuse(ctx, key, a.Name)
	}
	p := proof{account: a.ID, method: "password", password: a.Password, key: key}
	if renew {
		if p.renewed, err = s.hash(ctx, password); err != nil {
			return SignedIn{}, err
		}
	}
	return s.beginSession(ctx, p)
}

// check compares a password with a stored hash when a hasher is free. Without a hash it takes the same time and reports a
// mismatch.
func (s *Accounts) check(ctx context.Context, password, stored string) (ok, renew bool, err error) {
	against := stored
	if against == "" {
		against = decoy()
	}
	if herr := s.gate.hashers.do(ctx, func() { ok, renew, err = checkPassword(password, against) }); herr != nil {
		return false, false, herr
	}
	return ok && stored != "", renew, err
}

// unlocked returns the stored failures of a name, and a *LockedError while it is locked. It is called before a password
// is checked, and again in the transaction that uses the result: concurrent attempts count no more than sequential ones.
// A lock longer than the maximum results from a wrong clock, and is ignored.
func (s *Accounts) unlocked(ctx context.Context, r control.Repos, key [32]byte) (control.SigninFailures, error) {
	had, err := r.SigninFailures(ctx, key)
	if left := had.LockedUntil.Sub(s.Now()); err == nil && left > 0 && left <= longestLock {
		err = &control.LockedError{Said: phrase.Of("problem.refused-name"), Until: had.LockedUntil}
	}
	return had, err
}

// refuse counts a failure under a name, with an audit entry, and returns ErrUnauthorized, or a *LockedError when the name
// was locked meanwhile. account is the account of that name, "" without one: then the typed name may be a password, and
// is not stored.
func (s *Accounts) refuse(ctx context.Context, key [32]byte, account string) error {
	err := s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error {
		had, err := s.unlocked(ctx, r, key)
		if err != nil {
			return err
		}
		now := s.Now()
		if now.Sub(had.LastAt).Abs() > forgetAfter {
			had = control.SigninFailures{}
		}
		had.Failures++
		had.LastAt = now
		had.LockedUntil = now.Add(lockAfter(had.Failures))
		if err := r.PutSigninFailures(ctx, key, had); err != nil {
			return err
		}
		if err := r.ForgetSigninFailures(ctx, now.Add(-forgetAfter)); err != nil {
			return err
		}
		said := phrase.Of("audit.password-refused")
		if account == "" {
			said = phrase.Of("audit.unknown-account")
		}
		return s.AuditIn(ctx, r, control.AuditRecord{Action: "session.refused", Object: account, Outcome: audit.Refused, Said: said})
	})
	if err != nil {
		return err
	}
	return control.ErrUnauthorized
}

// lockAfter returns how long a name is locked after n failures.
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

// proof is the evidence that a sign-in is based on.
type proof struct {
	account  int64
	method   string   // "password" or "oidc"
	key      [32]byte // key of the name, with a password
	password string   // the hash that the password was compared with
	renewed  string   // its hash at the present cost, when that was lower
}

// holds returns the account of a proof if the proof is still valid. Checking a password takes a while; meanwhile the
// account may have been disabled, its password changed, or its name locked.
func (s *Accounts) holds(ctx context.Context, r control.Repos, p proof) (control.Account, error) {
	if p.method == "password" {
		if _, err := s.unlocked(ctx, r, p.key); err != nil {
			return control.Account{}, err
		}
	}
	a, err := r.AccountByID(ctx, p.account)
	switch {
	case errors.Is(err, control.ErrNotFound), err == nil && (a.Disabled || p.method == "password" && a.Password != p.password):
		return control.Account{}, control.ErrUnauthorized
	}
	return a, err
}

// beginSession records a sign-in. The session's secret is always new: a secret that the browser sent has no effect.
func (s *Accounts) beginSession(ctx context.Context, p proof) (SignedIn, error) {
	now := s.Now()
	in := SignedIn{Secret: randomText()}
	in.Session = control.Session{
		Hash: sha256.Sum256([]byte(in.Secret)), Account: p.account, Method: p.method,
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(control.SessionLife),
	}
	err := s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error {
		a, err := s.holds(ctx, r, p)
		if err != nil {
			return err
		}
		if p.method == "password" {
			if err := r.ClearSigninFailures(ctx, p.key); err != nil {
				return err
			}
		}
		if err := r.DeleteStaleSessions(ctx, now, now.Add(-control.SessionIdle)); err != nil {
			return err
		}
		if p.renewed != "" {
			a.Password = p.renewed
		}
		a.SignedInAt, a.UpdatedAt = now, now
		if a, err = r.UpdateAccount(ctx, a); err != nil {
			return err
		}
		if err := s.endReplaced(ctx, r, now); err != nil {
			return err
		}
		if in.Session, err = r.CreateSession(ctx, in.Session); err != nil {
			return err
		}
		in.Principal = a.Principal()
		in.Principal.Session = in.Session.ID
		return s.AddEvent(control.WithPrincipal(ctx, in.Principal), r, control.Event{Kind: "session.started", Subject: a.Name, Said: phrase.Of("event.signed-in", "user", a.Name)},
			map[string]string{"method": p.method})
	})
	return in, err
}

type replacedKey struct{}

// Replacing returns a context in which a successful sign-in ends the session of a secret. The request carried that
// secret, and an attacker may have planted it. Both changes are stored, or neither.
func Replacing(ctx context.Context, secret string) context.Context {
	return context.WithValue(ctx, replacedKey{}, secret)
}

// endReplaced ends the session that the new one replaces, if any.
func (s *Accounts) endReplaced(ctx context.Context, r control.Repos, now time.Time) error {
	secret, _ := ctx.Value(replacedKey{}).(string)
	if secret == "" {
		return nil
	}
	old, err := r.SessionByHash(ctx, sha256.Sum256([]byte(secret)))
	switch {
	case errors.Is(err, control.ErrNotFound), err == nil && !old.Valid(now):
		return nil
	case err != nil:
		return err
	}
	a, err := r.AccountByID(ctx, old.Account)
	if err != nil {
		return err
	}
	if err := r.DeleteSession(ctx, old.ID); err != nil {
		return err
	}
	p := a.Principal()
	p.Session = old.ID
	return s.AddEvent(control.WithPrincipal(ctx, p), r, control.Event{Kind: "session.ended", Subject: a.Name, Said: phrase.Of("event.signed-out", "user", a.Name)}, nil)
}

// AuthenticateSession returns the principal of a session's secret, or ErrUnauthorized.
func (s *Accounts) AuthenticateSession(ctx context.Context, secret string) (control.Principal, control.Session, error) {
	if secret == "" || len(secret) > 1024 {
		return control.Principal{}, control.Session{}, control.ErrUnauthorized
	}
	now := s.Now()
	var ses control.Session
	var a control.Account
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if ses, err = r.SessionByHash(ctx, sha256.Sum256([]byte(secret))); err == nil {
			a, err = r.AccountByID(ctx, ses.Account)
		}
		return err
	})
	switch {
	case errors.Is(err, control.ErrNotFound):
		return control.Principal{}, control.Session{}, control.ErrUnauthorized
	case err != nil:
		return control.Principal{}, control.Session{}, err
	case a.Disabled, !ses.Valid(now):
		return control.Principal{}, control.Session{}, control.ErrUnauthorized
	}
	if now.Sub(ses.SeenAt) >= seenGrain {
		err = s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error { return r.TouchSession(ctx, ses.ID, now) })
		if err != nil && !errors.Is(err, control.ErrUnavailable) {
			return control.Principal{}, control.Session{}, err
		}
	}
	p := a.Principal()
	p.Session = ses.ID
	return p, ses, nil
}

// SignOut ends the caller's session; with a token it does nothing.
func (s *Accounts) SignOut(ctx context.Context) error {
	p, ok := control.PrincipalFrom(ctx)
	if !ok || p.Session == 0 {
		return &control.ConflictError{Code: "no-session", Said: phrase.Of("problem.no-session")}
	}
	return s.Store.Tx(control.WithScope(ctx, control.ScopeSignIn), func(r control.Repos) error {
		if err := r.DeleteSession(ctx, p.Session); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "session.ended", Subject: p.Name, Said: phrase.Of("event.signed-out", "user", p.Name)}, nil)
	})
}

// ChangePassword replaces the caller's password after checking the present one, and ends all other sessions of the
// account. Its tokens stay valid: they are revoked one by one.
func (s *Accounts) ChangePassword(ctx context.Context, present, next string) error {
	p, ok := control.PrincipalFrom(ctx)
	if !ok || p.Session == 0 || p.Kind != control.PrincipalUser {
		return &control.ForbiddenError{Said: phrase.Of("problem.password-session")}
	}
	if err := checkNewPassword("/new_password", next, p.Name); err != nil {
		return err
	}
	key := sha256.Sum256([]byte(p.Name))
	var a control.Account
	err := s.Store.View(ctx, func(r control.Repos) (err error) {
		if _, err := s.unlocked(ctx, r, key); err != nil {
			return err
		}
		a, err = r.AccountByID(ctx, p.Account)
		return err
	})
	if err != nil {
		return err
	}
	same, _, err := s.check(ctx, present, a.Password)
	if err != nil {
		return err
	}
	if !same {
		if err := s.refuse(ctx, key, a.Name); !errors.Is(err, control.ErrUnauthorized) {
			return err
		}
		return control.Invalid("/password", phrase.Of("problem.password-wrong"))
	}
	hash, err := s.hash(ctx, next)
	if err != nil {
		return err
	}
	return s.Store.Tx(ctx, func(r control.Repos) error {
		now, err := s.holds(ctx, r, proof{account: a.ID, method: "password", key: key, password: a.Password})
		if err != nil {
			return err
		}
		now.Password, now.UpdatedAt = hash, s.Now()
		if _, err := r.UpdateAccount(ctx, now); err != nil {
			return err
		}
		if err := r.DeleteSessionsOf(ctx, a.ID, p.Session); err != nil {
			return err
		}
		return s.AddEvent(ctx, r, control.Event{Kind: "user.password", Subject: a.Name, Said: phrase.Of("event.password", "user", a.Name)}, nil)
	})
}

// hash returns a password's hash when a hasher is free, or the one from PreparePassword.
func (s *Accounts) hash(ctx context.Context, password string) (text string, err error) {
	if had, ok := ctx.Value(preparedPasswordKey{}).(preparedPassword); ok && had.password == password {
		return had.hash, nil
	}
	err = s.gate.hashers.do(ctx, func() { text = hashPassword(password, presentCost()) })
	return text, err
}
