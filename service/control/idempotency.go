package control

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"fairlane/internal/phrase"
)

// OnceTTL is how long the answer to a request with an idempotency key is kept.
const OnceTTL = 24 * time.Hour

// OnceKey names a request that must happen at most once: a word that its actor chose, and the digest of
// the request it was chosen for.
type OnceKey struct {
	Actor   string
	Key     string
	Request [32]byte // SHA-256 of method, path, query and body
}

// OnceAnswer is what a request came to. Status 0 says that the change was made and its answer is not kept: it was
// too large, or the manager ended before it could be written down.
type OnceAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// OnceRepo keeps the idempotency keys of requests that were done, with their answers.
type OnceRepo interface {
	// TakeOnce takes a key in this transaction, and forgets keys that have expired. false: somebody has it.
	TakeOnce(ctx context.Context, k OnceKey, now time.Time) (bool, error)
	// KeepOnce writes the answer of a key that was taken.
	KeepOnce(ctx context.Context, k OnceKey, a OnceAnswer) error
	// Once returns a key that was taken and not expired, with the digest of its request, or *NotFoundError.
	Once(ctx context.Context, actor, key string, now time.Time) (OnceKey, OnceAnswer, error)
}

// Codes of *ConflictError about idempotency keys.
const (
	CodeOnceBusy = "idempotency-in-progress"
	CodeOnceLost = "idempotency-answer-lost"
)

// ErrOnceMismatch means that an idempotency key was sent before with another request.
var ErrOnceMismatch = errors.New("the idempotency key was used for another request")

// errOnceTaken rolls back a change whose key somebody else took meanwhile.
var errOnceTaken = errors.New("idempotency key taken")

// ActorName returns under whose name the changes of a context are recorded, "system" when nobody in particular acts.
func ActorName(ctx context.Context) string { return Actor(ctx) }

// session is what a request's context carries into the store.
type session struct {
	repos Repos      // the open transaction that use cases join; nil: each has its own
	scope WriteScope // of that transaction
	dry   bool       // roll every transaction back after it went through
	once  *onceTaking
}

// onceTaking is a key to be taken in the first transaction of a request.
type onceTaking struct {
	key   OnceKey
	taken atomic.Bool
}

type sessionKey struct{}

func sessionOf(ctx context.Context) session {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s
}

// joining is a store whose transactions obey the session of their context.
type joining struct {
	Store
	now     func() time.Time
	changed *signal
}

var _ Store = (*joining)(nil)

func (j joining) Tx(ctx context.Context, f func(Repos) error) error {
	s := sessionOf(ctx)
	if s.repos != nil {
		if err := within(s.scope, ScopeOf(ctx)); err != nil {
			return err
		}
		return f(s.repos)
	}
	taking := s.once != nil && !s.once.taken.Load()
	err := j.Store.Tx(ctx, func(r Repos) error {
		if taking {
			switch ok, err := r.TakeOnce(ctx, s.once.key, j.now()); {
			case err != nil:
				return err
			case !ok:
				return errOnceTaken
			}
		}
		if err := f(r); err != nil {
			return err
		}
		if s.dry {
			return ErrDryRun
		}
		return nil
	})
	switch {
	case err == nil:
		if taking {
			s.once.taken.Store(true)
		}
		j.changed.fire()
	case s.dry && errors.Is(err, ErrDryRun):
		return nil
	case errors.Is(err, errOnceTaken):
		return &ConflictError{Code: CodeOnceBusy, Said: phrase.Of("problem.idempotency-busy")}
	}
	return err
}

func (j joining) View(ctx context.Context, f func(Repos) error) error {
	if s := sessionOf(ctx); s.repos != nil {
		return f(s.repos)
	}
	return j.Store.View(ctx, f)
}

// DryRun returns a context under which every transaction is rolled back after it went through: use cases find and
// answer what they would, and keep nothing.
func DryRun(ctx context.Context) context.Context {
	s := sessionOf(ctx)
	s.dry = true
	return context.WithValue(ctx, sessionKey{}, s)
}

// IsDryRun reports whether the context is of a dry run. Use cases that act outside of the store ask it.
func IsDryRun(ctx context.Context) bool { return sessionOf(ctx).dry }

// Atomic runs do in one transaction of the context's scope, which the use cases called with its context join, all of that
// scope or in that of the whole service: all of them are kept or none. A dry run rolls back after do went through. do may be called again when the database asks for it. Nobody else
// writes meanwhile: what takes long is done before, by PreparePassword and PrepareDevices.
func (s *Base) Atomic(ctx context.Context, do func(ctx context.Context) error) error {
	return s.Store.Tx(ctx, func(r Repos) error {
		in := sessionOf(ctx)
		in.repos, in.scope = r, ScopeOf(ctx)
		return do(WithScope(context.WithValue(ctx, sessionKey{}, in), ScopeService)) // each says its own
	})
}

// Replay returns the answer of a request that was done before under the same key; found is false when it was
// not. It fails with ErrOnceMismatch when the key was another request's, and with a *ConflictError of code
// CodeOnceLost when the request was done and its answer is not there.
func (s *Base) Replay(ctx context.Context, k OnceKey) (a OnceAnswer, found bool, err error) {
	var had OnceKey
	err = s.Store.View(ctx, func(r Repos) (err error) {
		had, a, err = r.Once(ctx, k.Actor, k.Key, s.Now())
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return OnceAnswer{}, false, nil
	case err != nil:
		return OnceAnswer{}, false, err
	case had.Request != k.Request:
		return OnceAnswer{}, false, ErrOnceMismatch
	case a.Status == 0:
		return OnceAnswer{}, true, &ConflictError{Code: CodeOnceLost, Said: phrase.Of("problem.idempotency-lost", "key", Clipped(k.Key))}
	}
	return a, true, nil
}

// Once runs do, whose changes are kept together with the key: in one transaction with the answer when whole is
// set, else in do's first transaction, so that a crash never leaves a change without its key. The answer is what do
// returns. When somebody has the key, the error is a *ConflictError of code CodeOnceBusy, and nothing is kept.
func (s *Base) Once(ctx context.Context, k OnceKey, whole bool, do func(ctx context.Context) (OnceAnswer, error)) (a OnceAnswer, err error) {
	in := sessionOf(ctx)
	in.once = &onceTaking{key: k}
	ctx = context.WithValue(ctx, sessionKey{}, in)
	if whole {
		err = s.Atomic(ctx, func(inner context.Context) (err error) {
			if a, err = do(inner); err != nil {
				return err
			}
			return sessionOf(inner).repos.KeepOnce(inner, k, a)
		})
		return a, err
	}
	if a, err = do(ctx); err != nil {
		return a, err
	}
	// The change is made. When its answer cannot be kept, a repetition is told that it is lost.
	return a, s.Store.Tx(WithScope(ctx, ScopeSignIn), func(r Repos) error { return r.KeepOnce(ctx, k, a) })
}

// signal wakes everybody who waits for it.
type signal struct{ at atomic.Pointer[chan struct{}] }

func newSignal() *signal {
	s := &signal{}
	c := make(chan struct{})
	s.at.Store(&c)
	return s
}

// wait returns what is closed by the next fire.
func (s *signal) wait() <-chan struct{} { return *s.at.Load() }

func (s *signal) fire() {
	next := make(chan struct{})
	close(*s.at.Swap(&next))
}

// ErrDryRun rolls a transaction back after all checks and all writes went through.
var ErrDryRun = errors.New("dry run")
