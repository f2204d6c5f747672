package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/control"
	"fairlane/migrations"
)

// Bounds of a probe of the database.
const (
	probeTime = 2 * time.Second // a database that answers later does not answer
	probeKept = time.Second     // who asks sooner gets the same answer
)

// probe keeps what the database answered last.
type probe struct {
	wrote   atomic.Int64 // when a write transaction was committed last, in nanoseconds since 1970
	mu      sync.Mutex
	at      time.Time
	err     error
	pending chan error // of a try that goes on: SQLite waits for another process whatever the context says
}

func (p *probe) committed() { p.wrote.Store(time.Now().UnixNano()) }

// Ping implements control.Store. A write that went through lately is as good as one that is tried.
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
	case p.err = <-p.pending: // too late for its caller; a nil channel never delivers
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
	wait := time.NewTimer(probeTime + probeTime/4) // a context that ends says more than this one
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
	err := s.closers[len(s.closers)-1].PingContext(ctx) // that which writes is tried below
	if errors.Is(err, context.DeadlineExceeded) {
		return &control.UnavailableError{Code: codeUnavailable, Detail: "the database does not answer", Err: err}
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

// blocked is the error of a database whose reads are answered and whose writes wait.
func blocked(err error) error {
	return &control.UnavailableError{Code: codeBlocked, Detail: "the database answers, and a write has waited for its turn for " + probeTime.String(), Err: err}
}

// errProbed rolls back what a probe wrote.
var errProbed = errors.New("probed")

// tryWrite does what every write does, but for its commit: it waits for its turn, also at the end of the audit log, and writes.
func (s *Store) tryWrite(ctx context.Context) error {
	err := s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if s.dialect == migrations.Postgres {
			defer s.evicting(ctx)()
			if err := takeTurn(tx, "probe"); err != nil {
				return err
			}
			if err := takeChain(tx); err != nil {
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
