package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/phrase"
	"fairlane/migrations"
	"fairlane/service/control"
)

// Bounds of a probe of the database.
const (
	probeTime = 2 * time.Second // a slower database counts as not answering
	probeKept = time.Second     // lifetime of an answer
)

// probe holds the latest answer of the database.
type probe struct {
	wrote   atomic.Int64 // time of the last committed write transaction, in nanoseconds since 1970
	mu      sync.Mutex
	at      time.Time
	err     error
	pending chan error // result of a running probe: on SQLite the wait for another process does not end with the context
}

func (p *probe) committed() { p.wrote.Store(time.Now().UnixNano()) }

// end waits for a running probe.
func (p *probe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending != nil {
		p.err, p.pending = <-p.pending, nil
	}
}

// Ping implements control.Store. A write that was committed within probeKept replaces a probe.
func (s *Store) Ping(ctx context.Context) error {
	p := &s.probe
	if d := s.damaged.Load(); d != nil {
		return d
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < probeKept {
		return p.err
	}
	select {
	case p.err = <-p.pending: // of a probe whose caller no longer waits; a nil channel never delivers
		p.pending = nil
	default:
	}
	if p.pending == nil {
		p.pending = make(chan error, 1)
		go func(answer chan<- error) {
			timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
			defer cancel()
			answer <- s.ping(timed)
		}(p.pending)
	}
	wait := time.NewTimer(probeTime + probeTime/4) // so that the probe's own error, which has more detail, comes first
	defer wait.Stop()
	select {
	case p.err = <-p.pending:
		p.pending = nil
	case <-wait.C:
		p.err = blocked(context.DeadlineExceeded)
	case <-ctx.Done():
		return ctx.Err()
	}
	p.at = time.Now()
	return p.err
}

func (s *Store) ping(ctx context.Context) error {
	err := s.closers[len(s.closers)-1].PingContext(ctx) // readers; the writer is probed below
	if errors.Is(err, context.DeadlineExceeded) {
		return &control.UnavailableError{Code: codeUnavailable, Said: phrase.Of("problem.database-silent"), Err: err}
	}
	if err != nil {
		return s.fault(fmt.Errorf("ping database: %w", err), false)
	}
	if time.Since(time.Unix(0, s.probe.wrote.Load())) < probeKept {
		return nil
	}
	err = s.tryWrite(ctx)
	if errors.Is(err, context.DeadlineExceeded) || isBusy(err) {
		return blocked(err)
	}
	return s.fault(err, true)
}

// blocked returns the error of a database that answers reads while writes wait.
func blocked(err error) error {
	return &control.UnavailableError{Code: codeBlocked, Said: phrase.Of("problem.database-blocked", "time", probeTime), Err: err}
}

// errProbed rolls back the write of a probe.
var errProbed = errors.New("probed")

// scopeProbe is the scope of a probe's write; no other write has it.
const scopeProbe control.WriteScope = "probe"

// tryWrite does what every write does, except the commit: it waits for its turn, also for the end of the audit log, and
// writes.
func (s *Store) tryWrite(ctx context.Context) error {
	var turn *turn
	if s.dialect == migrations.Postgres {
		var err error
		if turn, err = s.turns.take(ctx, scopeProbe); err != nil {
			return err
		}
		defer turn.end()
	}
	err := s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if turn != nil {
			defer s.evicting(ctx)()
			if err := takeTurn(tx, scopeProbe); err != nil {
				return err
			}
			if err := turn.takeChain(ctx, tx); err != nil {
				return err
			}
		}
		if err := tx.Exec("UPDATE audit_tail SET seq = seq WHERE id = 1").Error; err != nil {
			return err
		}
		return errProbed
	})
	if errors.Is(err, errProbed) {
		return nil
	}
	return err
}
