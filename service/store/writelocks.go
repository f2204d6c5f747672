package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"golang.org/x/sync/semaphore"
	"gorm.io/gorm"

	"fairlane/internal/keylock"
	"fairlane/service/control"
)

// Turns of write transactions on PostgreSQL. A transaction takes advisory locks, always in this order. The server releases
// them after the commit is visible, or when the connection ends:
//
//  1. turnLock: shared, or alone when its scope is the whole service;
//  2. the lock of its scope, when that is narrower;
//  3. chainLock, as its last act before the commit, to append its events and audit entries: their numbers are in the order
//     of commits, and the chain has no fork.
//
// In READ COMMITTED, the isolation of write transactions, each statement sees all that was committed before it began, so
// what a use case reads within its scope holds until it commits.

// Keys of advisory locks. They are per database, so they need to differ only from those of other programs in this
// database.
const (
	turnLock    int64 = 0x666169726c616e01 // "fairlan" and 1
	migrateLock int64 = 0x666169726c616e02 // held during migrations
	chainLock   int64 = 0x666169726c616e04 // 3 belongs to the queue
	scopeLocks  int64 = 0x66616973 << 32   // plus 32 bits of a scope's hash
)

// Bounds of how long a manager that was suspended in a transaction, or whose host failed, can block the others.
const (
	idleInTx   = 3 * time.Second        // the server ends a transaction after this idle time
	idleInRead = time.Minute            // the same for a read transaction, which holds no lock that others wait for
	evictAfter = time.Second            // a transaction that waits this long for its turn looks for suspended managers,
	evictEvery = 500 * time.Millisecond // repeatedly,
	stoppedFor = "3500 milliseconds"    // and makes the server end connections without traffic for this long
)

// evict ends connections that hold one of our locks and neither send nor receive anything. The server does so itself
// between statements (idle_in_transaction_session_timeout), but not during one. A role may end its own connections.
const evict = `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
		AND a.xact_start IS NOT NULL AND a.wait_event_type = 'Client'
		AND clock_timestamp() - greatest(a.state_change, a.query_start) > interval '` + stoppedFor + `'
		AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND (l.classid::bigint = ? OR l.classid::bigint = ? AND l.objid::bigint IN (?, ?)))`

// scopeLock returns the lock key of a narrower scope. Two scopes with equal keys merely wait for each other.
func scopeLock(s control.WriteScope) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return scopeLocks | int64(h.Sum32())
}

// takeTurn waits for the end of all write transactions that may not run concurrently with the scope.
func takeTurn(tx *gorm.DB, scope control.WriteScope) error {
	q, args := "SELECT pg_advisory_xact_lock(?)", []any{turnLock}
	if scope != control.ScopeService {
		q, args = "SELECT pg_advisory_xact_lock_shared(?), pg_advisory_xact_lock(?)", []any{turnLock, scopeLock(scope)}
	}
	if err := tx.Exec(q, args...).Error; err != nil {
		return fmt.Errorf("wait for the turn to write: %w", err)
	}
	return nil
}

// evicting ends connections of suspended managers while a transaction waits for a lock, until stop is called.
func (s *Store) evicting(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(evictAfter, func() {
		for ctx.Err() == nil {
			// An error shows as the lock timeout of the waiting transaction.
			_ = s.read.WithContext(ctx).Exec(evict, scopeLocks>>32, turnLock>>32, turnLock&0xffffffff, chainLock&0xffffffff).Error
			select {
			case <-ctx.Done():
			case <-time.After(evictEvery):
			}
		}
	})
	return func() { t.Stop(); cancel() }
}

// turns orders the write transactions of this process as the locks do, before they take a connection or wait for a lock.
// So those that wait for one fabric leave connections to the others. And none waits in the database for a lock held in
// this process: when the process is suspended and the server ends its first transaction, the next one would get the lock
// and hold it just as long.
type turns struct {
	scopes keylock.Locks[control.WriteScope]
	whole  *semaphore.Weighted // scopesAtOnce for the whole service, 1 for each narrower scope
	chain  *semaphore.Weighted // of 1: appends events and audit entries
}

// scopesAtOnce exceeds the number of scopes.
const scopesAtOnce = 1 << 30

func newTurns() *turns {
	return &turns{whole: semaphore.NewWeighted(scopesAtOnce), chain: semaphore.NewWeighted(1)}
}

// turn is what a transaction holds until it ends.
type turn struct {
	of      *turns
	leave   func()
	chained bool
}

// end releases everything.
func (t *turn) end() {
	if t.chained {
		t.of.chain.Release(1)
	}
	t.leave()
}

// takeChain waits until no other transaction, of this process and then of any, appends events and audit entries.
func (t *turn) takeChain(ctx context.Context, tx *gorm.DB) error {
	err := t.of.chain.Acquire(ctx, 1)
	if t.chained = err == nil; t.chained {
		err = tx.Exec("SELECT pg_advisory_xact_lock(?)", chainLock).Error
	}
	if err != nil {
		return fmt.Errorf("wait for the turn to append to the audit log: %w", err)
	}
	return nil
}

// take waits for the turn of a scope until the context ends.
func (t *turns) take(ctx context.Context, s control.WriteScope) (*turn, error) {
	leave, err := t.scopes.Lock(ctx, s)
	if err != nil {
		return nil, err
	}
	part := int64(1)
	if s == control.ScopeService {
		part = scopesAtOnce
	}
	if err := t.whole.Acquire(ctx, part); err != nil {
		leave()
		return nil, err
	}
	return &turn{of: t, leave: func() { t.whole.Release(part); leave() }}, nil
}
