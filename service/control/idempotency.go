package control

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"fairlane/internal/phrase"
)

// IdempotencyTTL is how long the answer to a request with an idempotency key is kept.
const IdempotencyTTL = 24 * time.Hour

// IdempotencyKey identifies a request that must take effect at most once: a key that its actor chose, and the digest of the
// request.
type IdempotencyKey struct {
	Actor   string
	Key     string
	Request [32]byte // SHA-256 of method, path, query and body
}

// IdempotentAnswer is the answer to a request. Status 0 means that the change was made but its answer is not stored: it was too
// large, or the manager stopped before it stored the answer.
type IdempotentAnswer struct {
	Status int
	Header http.Header
	Body   []byte
}

// IdempotencyRepo stores the idempotency keys of completed requests, with their answers.
type IdempotencyRepo interface {
	// ReserveIdempotencyKey reserves a key in this transaction, and removes expired keys. It returns false when the key is taken.
	ReserveIdempotencyKey(ctx context.Context, k IdempotencyKey, now time.Time) (bool, error)
	// KeepIdempotentAnswer stores the answer of a reserved key.
	KeepIdempotentAnswer(ctx context.Context, k IdempotencyKey, a IdempotentAnswer) error
	// IdempotencyKey returns a reserved, unexpired key with the digest of its request, or *NotFoundError.
	IdempotencyKey(ctx context.Context, actor, key string, now time.Time) (IdempotencyKey, IdempotentAnswer, error)
}

// Codes of *ConflictError about idempotency keys.
const (
	CodeIdempotencyBusy = "idempotency-in-progress"
	CodeIdempotencyLost = "idempotency-answer-lost"
)

// ErrIdempotencyMismatch means that an idempotency key was used before for another request.
var ErrIdempotencyMismatch = errors.New("the idempotency key was used for another request")

// errIdempotencyKeyTaken rolls back a change whose key another request reserved meanwhile.
var errIdempotencyKeyTaken = errors.New("idempotency key taken")

// ActorName returns the name that the changes of a context are recorded under, "system" without a principal.
func ActorName(ctx context.Context) string { return Actor(ctx) }

// session holds the state that a request's context carries into the store.
type session struct {
	repos       Repos      // the open transaction that use cases join; nil: each opens its own
	scope       WriteScope // scope of that transaction
	dry         bool       // roll every transaction back after it succeeded
	reservation *idempotencyReservation
}

// idempotencyReservation is a key to be reserved in the first transaction of a request.
type idempotencyReservation struct {
	key   IdempotencyKey
	taken atomic.Bool
}

type sessionKey struct{}

func sessionOf(ctx context.Context) session {
	s, _ := ctx.Value(sessionKey{}).(session)
	return s
}

// joining is a store whose transactions follow the session in their context.
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
	taking := s.reservation != nil && !s.reservation.taken.Load()
	err := j.Store.Tx(ctx, func(r Repos) error {
		if taking {
			switch ok, err := r.ReserveIdempotencyKey(ctx, s.reservation.key, j.now()); {
			case err != nil:
				return err
			case !ok:
				return errIdempotencyKeyTaken
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
			s.reservation.taken.Store(true)
		}
		j.changed.fire()
	case s.dry && errors.Is(err, ErrDryRun):
		return nil
	case errors.Is(err, errIdempotencyKeyTaken):
		return &ConflictError{Code: CodeIdempotencyBusy, Said: phrase.Of("problem.idempotency-busy")}
	}
	return err
}

func (j joining) View(ctx context.Context, f func(Repos) error) error {
	if s := sessionOf(ctx); s.repos != nil {
		return f(s.repos)
	}
	return j.Store.View(ctx, f)
}

// DryRun returns a context under which every transaction is rolled back after it succeeded: use cases validate and answer
// as usual, but store nothing.
func DryRun(ctx context.Context) context.Context {
	s := sessionOf(ctx)
	s.dry = true
	return context.WithValue(ctx, sessionKey{}, s)
}

// Atomic runs do in one transaction of the context's scope. The use cases called with do's context join it, whether their
// scope is that one or the whole service; either all changes are stored or none. A dry run rolls back after do succeeded.
// The database may require that do is called again. No other write runs meanwhile, so slow work is done before, by
// PreparePassword and PrepareDevices.
func (s *Base) Atomic(ctx context.Context, do func(ctx context.Context) error) error {
	return s.Store.Tx(ctx, func(r Repos) error {
		in := sessionOf(ctx)
		in.repos, in.scope = r, ScopeOf(ctx)
		return do(WithScope(context.WithValue(ctx, sessionKey{}, in), ScopeService)) // each use case sets its own scope
	})
}

// Replay returns the answer of an earlier request under the same key; found is false when there was none. It fails with
// ErrIdempotencyMismatch when the key belongs to another request, and with a *ConflictError of code CodeIdempotencyLost when the
// request was completed but its answer is not stored.
func (s *Base) Replay(ctx context.Context, k IdempotencyKey) (a IdempotentAnswer, found bool, err error) {
	var had IdempotencyKey
	err = s.Store.View(ctx, func(r Repos) (err error) {
		had, a, err = r.IdempotencyKey(ctx, k.Actor, k.Key, s.Now())
		return err
	})
	switch {
	case errors.Is(err, ErrNotFound):
		return IdempotentAnswer{}, false, nil
	case err != nil:
		return IdempotentAnswer{}, false, err
	case had.Request != k.Request:
		return IdempotentAnswer{}, false, ErrIdempotencyMismatch
	case a.Status == 0:
		return IdempotentAnswer{}, true, &ConflictError{Code: CodeIdempotencyLost, Said: phrase.Of("problem.idempotency-lost", "key", Clipped(k.Key))}
	}
	return a, true, nil
}

// Idempotent runs do and stores the key together with its changes, so that a crash never leaves a change without its key. When
// whole is set, one transaction holds changes, key and answer; else the key is stored in do's first transaction. The
// answer is what do returns. When the key is taken, the error is a *ConflictError of code CodeIdempotencyBusy, and nothing is
// stored.
func (s *Base) Idempotent(ctx context.Context, k IdempotencyKey, whole bool, do func(ctx context.Context) (IdempotentAnswer, error)) (a IdempotentAnswer, err error) {
	in := sessionOf(ctx)
	in.reservation = &idempotencyReservation{key: k}
	ctx = context.WithValue(ctx, sessionKey{}, in)
	if whole {
		err = s.Atomic(ctx, func(inner context.Context) (err error) {
			if a, err = do(inner); err != nil {
				return err
			}
			return sessionOf(inner).repos.KeepIdempotentAnswer(inner, k, a)
		})
		return a, err
	}
	if a, err = do(ctx); err != nil {
		return a, err
	}
	// The change is made. If storing the answer fails, a repeated request receives CodeIdempotencyLost.
	return a, s.Store.Tx(WithScope(ctx, ScopeSignIn), func(r Repos) error { return r.KeepIdempotentAnswer(ctx, k, a) })
}

// signal wakes all its waiters.
type signal struct{ at atomic.Pointer[chan struct{}] }

func newSignal() *signal {
	s := &signal{}
	c := make(chan struct{})
	s.at.Store(&c)
	return s
}

// wait returns a channel that the next fire closes.
func (s *signal) wait() <-chan struct{} { return *s.at.Load() }

func (s *signal) fire() {
	next := make(chan struct{})
	close(*s.at.Swap(&next))
}

// ErrDryRun rolls a transaction back after all checks and writes succeeded.
var ErrDryRun = errors.New("dry run")
