package identity_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/service/audit"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/service/control/usecases"
	"fairlane/tenants"
)

// interposed is a store that runs a hook after the next view: a concurrent change while a password is checked.
type interposed struct {
	control.Store
	mu    sync.Mutex
	after func()
}

func (s *interposed) then(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = f
}

func (s *interposed) View(ctx context.Context, f func(control.Repos) error) error {
	err := s.Store.View(ctx, f)
	s.mu.Lock()
	after := s.after
	s.after = nil
	s.mu.Unlock()
	if after != nil {
		after()
	}
	return err
}

// signInService is a service with the users ada, an administrator, and bob; the test controls the clock.
type signInService struct {
	*usecases.Services
	rig   *controltest.Rig
	store *interposed
	mu    sync.Mutex
	now   time.Time
}

const (
	adasWord = "correct horse battery"
	bobsWord = "staple in the hay"
)

func newSignInService(t *testing.T) *signInService {
	t.Helper()
	d := &signInService{rig: controltest.New(t, controltest.OpenSQLite), now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	d.store = &interposed{Store: d.rig.Store}
	d.Services = d.rig.Manager(t, func(deps *control.Deps) { deps.Store, deps.Clock = d.store, d.clock })
	_, err := d.CreateUser(t.Context(), identity.UserInput{Name: "ada", Password: adasWord, Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}})
	if err == nil {
		_, err = d.CreateUser(t.Context(), identity.UserInput{Name: "bob", Password: bobsWord})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *signInService) clock() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *signInService) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = d.now.Add(by)
}

func (d *signInService) failures(t *testing.T, name string) (n int) {
	t.Helper()
	err := d.rig.Store.View(t.Context(), func(r control.Repos) error {
		f, err := r.SigninFailures(t.Context(), sha256.Sum256([]byte(name)))
		n = f.Failures
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestChangesDuringPasswordCheckApply changes bob's account between the read and the decision.
func TestChangesDuringPasswordCheckApply(t *testing.T) {
	t.Parallel()
	const newWord = "quite another word"
	for name, c := range map[string]struct {
		change func(context.Context, *signInService) error
		kind   error
		check  func(a control.Account) bool
	}{
		"disabled": {func(ctx context.Context, d *signInService) error {
			_, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "bob", Disabled: true})
			return err
		}, control.ErrUnauthorized, func(a control.Account) bool { return a.Disabled && a.SignedInAt.IsZero() }},
		"deleted": {func(ctx context.Context, d *signInService) error { return d.DeleteUser(ctx, "bob", 0) }, control.ErrUnauthorized, nil},
		"another password": {func(ctx context.Context, d *signInService) error {
			_, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "bob", Password: newWord})
			return err
		}, control.ErrUnauthorized, func(a control.Account) bool { return a.SignedInAt.IsZero() }},
		"another name for people": {func(ctx context.Context, d *signInService) error {
			_, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "bob", DisplayName: "Bob"})
			return err
		}, nil, func(a control.Account) bool { return a.DisplayName == "Bob" && !a.SignedInAt.IsZero() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSignInService(t)
			ctx := t.Context()
			d.store.then(func() {
				if err := c.change(ctx, d); err != nil {
					t.Error(err)
				}
			})
			in, err := d.SignIn(ctx, "bob", bobsWord)
			if !errors.Is(err, c.kind) {
				t.Errorf("sign-in gave %v, want %v", err, c.kind)
			}
			if _, _, err := d.AuthenticateSession(ctx, in.Secret); errors.Is(err, control.ErrUnauthorized) != (c.kind != nil) {
				t.Errorf("the session gives %v", err)
			}
			a, err := d.User(ctx, "bob")
			if c.check == nil {
				controltest.MustFail(t, "bob", err, control.ErrNotFound)
			} else if err != nil || !c.check(a) {
				t.Errorf("bob is %+v, %v", a, err)
			}
			if name == "another password" {
				if _, err := d.SignIn(ctx, "bob", newWord); err != nil {
					t.Errorf("the new password: %v", err)
				}
			}
		})
	}
}

func TestPasswordChangeKeepsConcurrentChanges(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	ctx := t.Context()
	in, err := d.SignIn(ctx, "bob", bobsWord)
	if err != nil {
		t.Fatal(err)
	}
	own := control.WithPrincipal(ctx, in.Principal)
	d.store.then(func() {
		if _, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "bob", Disabled: true}); err != nil {
			t.Error(err)
		}
	})
	controltest.MustFail(t, "change", d.ChangePassword(own, bobsWord, "a third long word"), control.ErrUnauthorized)
	if a, err := d.User(ctx, "bob"); err != nil || !a.Disabled {
		t.Errorf("bob is %+v, %v", a, err)
	}
}

func TestConcurrentGuessesAreLimitedLikeSequentialOnes(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	errs := make(chan error, 12)
	var wg sync.WaitGroup
	for range cap(errs) {
		wg.Go(func() {
			_, err := d.SignIn(t.Context(), "bob", "a wrong long word")
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	judged, locked := 0, 0
	for err := range errs {
		var l *control.LockedError
		switch {
		case errors.Is(err, control.ErrUnauthorized):
			judged++
		case errors.As(err, &l):
			locked++
		default:
			t.Errorf("a guess gave %v", err)
		}
	}
	if judged != 5 || locked != cap(errs)-5 || d.failures(t, "bob") != 5 {
		t.Errorf("%d guesses were judged, %d locked out, %d counted: want 5, %d, 5", judged, locked, d.failures(t, "bob"), cap(errs)-5)
	}
	// The correct password does not help while the lock holds, even when the attempt started before it.
	d.pass(2 * time.Second)
	d.store.then(func() {
		_, err := d.SignIn(t.Context(), "bob", "a wrong long word")
		controltest.MustFail(t, "a sixth guess", err, control.ErrUnauthorized)
	})
	var l *control.LockedError
	if _, err := d.SignIn(t.Context(), "bob", bobsWord); !errors.As(err, &l) {
		t.Errorf("the right word under a lock gave %v", err)
	}
}

func TestGuessingThePresentPasswordInASessionIsLimited(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	in, err := d.SignIn(t.Context(), "bob", bobsWord)
	if err != nil {
		t.Fatal(err)
	}
	own := control.WithPrincipal(t.Context(), in.Principal)
	for range 5 {
		controltest.MustFail(t, "a guess", d.ChangePassword(own, "a wrong long word", "a third long word"), control.ErrInvalid)
	}
	var l *control.LockedError
	if err := d.ChangePassword(own, bobsWord, "a third long word"); !errors.As(err, &l) {
		t.Errorf("after five guesses: %v", err)
	}
}

func TestWrongClockCausesNoLongLockOrSession(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	ctx := t.Context()
	const wrong = 365 * 24 * time.Hour
	d.pass(wrong)
	in, err := d.SignIn(ctx, "ada", adasWord)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		_, _ = d.SignIn(ctx, "bob", "a wrong long word") // five refused, then locked
	}
	d.pass(-wrong) // the clock is corrected
	if _, _, err := d.AuthenticateSession(ctx, in.Secret); !errors.Is(err, control.ErrUnauthorized) {
		t.Errorf("a session that would end in a year gives %v", err)
	}
	if _, err := d.SignIn(ctx, "bob", bobsWord); err != nil {
		t.Errorf("bob is locked out until the wrong clock's time: %v", err)
	}
	in, err = d.SignIn(ctx, "ada", adasWord)
	if err != nil {
		t.Fatal(err)
	}
	d.pass(-10 * time.Minute) // a small step back has no effect
	if _, _, err := d.AuthenticateSession(ctx, in.Secret); err != nil {
		t.Errorf("ten minutes back: %v", err)
	}
}

func TestRefusedSignInsAreAuditedWithoutTheInput(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	ctx := control.WithOrigin(t.Context(), control.Origin{Addr: "192.0.2.7:4711", RequestID: "r-1"})
	_, err := d.SignIn(ctx, "bob", "a wrong long word")
	controltest.MustFail(t, "wrong word", err, control.ErrUnauthorized)
	if e := controltest.LastAuditEntry(t, d.Services); e.Action != "session.refused" || e.Object != "bob" || e.Outcome != audit.Refused || e.Addr != "192.0.2.7:4711" || e.RequestID != "r-1" {
		t.Errorf("entry is %+v", e)
	}
	_, err = d.SignIn(ctx, adasWord, "") // the password typed as name
	controltest.MustFail(t, "unknown name", err, control.ErrUnauthorized)
	if e := controltest.LastAuditEntry(t, d.Services); e.Action != "session.refused" || e.Object != "" || strings.Contains(string(e.Canonical()), adasWord) {
		t.Errorf("entry is %+v", e)
	}
}

func TestLastAdministratorCannotBeRemoved(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	in, err := d.SignIn(t.Context(), "ada", adasWord)
	if err != nil {
		t.Fatal(err)
	}
	ctx := control.WithPrincipal(t.Context(), in.Principal)
	admin := []tenants.Grant{{Role: tenants.RoleFabricAdmin}}
	if _, err := d.CreateUser(ctx, identity.UserInput{Name: "eve", Grants: admin}); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteUser(ctx, "ada", 0); controltest.Code(err) != "last-admin" {
		t.Errorf("with only a name that cannot sign in left: %v", err)
	}
	if _, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "eve", Password: "a third long word", Grants: admin}); err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteUser(ctx, "ada", 0); err != nil {
		t.Errorf("with another who can: %v", err)
	}
}

// TestEventStreamEndsWithItsCredential ends tokens, sessions and accounts under watchers.
func TestEventStreamEndsWithItsCredential(t *testing.T) {
	t.Parallel()
	bob := control.AccountRef{Kind: control.PrincipalUser, Name: "bob"}
	for name, c := range map[string]struct {
		token bool
		end   func(ctx context.Context, d *signInService, own context.Context) error
		kind  error
	}{
		"nothing ended": {true, func(context.Context, *signInService, context.Context) error { return nil }, nil},
		"the token revoked": {true, func(ctx context.Context, d *signInService, _ context.Context) error {
			return d.DeleteToken(ctx, bob, "t")
		}, control.ErrUnauthorized},
		"the token expired": {true, func(_ context.Context, d *signInService, _ context.Context) error { d.pass(time.Hour); return nil }, control.ErrUnauthorized},
		"signed out":        {false, func(_ context.Context, d *signInService, own context.Context) error { return d.SignOut(own) }, control.ErrUnauthorized},
		"the session idle": {false, func(_ context.Context, d *signInService, _ context.Context) error {
			d.pass(control.SessionIdle)
			return nil
		}, control.ErrUnauthorized},
		"the account disabled": {true, func(ctx context.Context, d *signInService, _ context.Context) error {
			_, err := d.UpdateUser(ctx, 0, identity.UserInput{Name: "bob", Disabled: true})
			return err
		}, control.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSignInService(t)
			ctx := t.Context()
			var p control.Principal
			if c.token {
				text, _, err := d.CreateToken(ctx, bob, identity.TokenInput{Name: "t", Life: time.Hour})
				if err == nil {
					p, err = d.Authenticate(ctx, text)
				}
				if err != nil {
					t.Fatal(err)
				}
			} else {
				in, err := d.SignIn(ctx, "bob", bobsWord)
				if err != nil {
					t.Fatal(err)
				}
				p = in.Principal
			}
			own := control.WithPrincipal(ctx, p)
			w, err := d.WatchEvents(own, control.EventFilter{}, 0)
			if err == nil {
				err = c.end(ctx, d, own)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Next(own, time.Nanosecond); !errors.Is(err, c.kind) {
				t.Errorf("the watcher hears %v, want %v", err, c.kind)
			}
		})
	}
}

// TestEveryRefusalCostsAHash takes all hashers: a refusal without a hash would differ in time and reveal which names
// exist.
func TestEveryRefusalCostsAHash(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	for _, in := range []identity.UserInput{{Name: "nopass"}, {Name: "off", Password: bobsWord, Disabled: true}} {
		if _, err := d.CreateUser(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	free := d.OccupyHashers()
	for _, name := range []string{"bob", "nobody", "nopass", "off", "No Name!", "admin"} {
		ctx, cancel := context.WithCancel(t.Context())
		d.store.then(cancel) // after the account was read
		if _, err := d.SignIn(ctx, name, bobsWord); !errors.Is(err, context.Canceled) {
			t.Errorf("%s is judged without a hash: %v", name, err)
		}
		cancel()
	}
	free()
	for _, name := range []string{"nobody", "nopass", "off", "No Name!", "admin"} {
		_, err := d.SignIn(t.Context(), name, bobsWord)
		controltest.MustFail(t, name, err, control.ErrUnauthorized)
	}
}

func TestAuditLogNamesTheTokenOfAChange(t *testing.T) {
	t.Parallel()
	d := newSignInService(t)
	ada := control.AccountRef{Kind: control.PrincipalUser, Name: "ada"}
	text, _, err := d.CreateToken(t.Context(), ada, identity.TokenInput{Name: "laptop"})
	if err != nil {
		t.Fatal(err)
	}
	made := controltest.LastAuditEntry(t, d.Services)
	if made.Action != "token.created" || made.Token != "" || !strings.Contains(string(made.After), `"token_name":"laptop"`) {
		t.Errorf("the entry of the new token is %+v, after %s", made, made.After)
	}
	p, err := d.Authenticate(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.DeleteToken(control.WithPrincipal(t.Context(), p), ada, "laptop"); err != nil {
		t.Fatal(err)
	}
	if e := controltest.LastAuditEntry(t, d.Services); e.Token != "laptop" || e.Actor != "ada" || string(e.Before) != `{"token_name":"laptop"}` {
		t.Errorf("the entry of what the token did is %+v, before %s", e, e.Before)
	}
	in, err := d.SignIn(t.Context(), "bob", bobsWord)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SignOut(control.WithPrincipal(t.Context(), in.Principal)); err != nil {
		t.Fatal(err)
	}
	if e := controltest.LastAuditEntry(t, d.Services); e.Token != "" || e.Actor != "bob" {
		t.Errorf("the entry of what a session did is %+v", e)
	}
}
