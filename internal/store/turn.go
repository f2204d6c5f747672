package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"gorm.io/gorm"

	"fairlane/internal/control"
)

// Turns of write transactions on PostgreSQL. A transaction takes advisory locks, always in this order, and the server lets
// them go after the commit is visible, or when the connection ends in any way:
//
//  1. turnLock: shared, or alone when its scope is the whole service;
//  2. the lock of its scope, when that is narrower;
//  3. chainLock, as its last act before the commit, to append its events and audit entries: their numbers are in the order
//     of commits, and the chain has no fork.
//
// In READ COMMITTED, the isolation of write transactions, each statement sees all that was committed before it began, so
// what a use case reads within its scope holds until it commits.

// Keys of advisory locks. They are per database, so they need to differ only from those of other programs in our database.
const (
	turnLock    int64 = 0x666169726c616e01 // "fairlan" and 1
	migrateLock int64 = 0x666169726c616e02 // held while migrations are applied
	chainLock   int64 = 0x666169726c616e04 // 3 is of the queue
	scopeLocks  int64 = 0x66616973 << 32   // and 32 bits of a scope's hash
)

// Bounds of what a manager that was stopped in a transaction, or whose host is gone, can do to the others.
const (
	idleInTx   = 3 * time.Second // the server ends a transaction that says nothing for so long
	evictAfter = time.Second     // who waits so long for its turn looks who is in the way,
	evictEvery = 500 * time.Millisecond
	stoppedFor = "3500 milliseconds" // and has the server end who does not take or send anything for so long
)

// evict ends connections that hold a lock of ours and neither send nor take anything. The server does so by itself between
// statements (idle_in_transaction_session_timeout) but not in the middle of sending or taking one. It is allowed of one's own role.
const evict = `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a
	WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
		AND a.xact_start IS NOT NULL AND a.wait_event_type = 'Client'
		AND clock_timestamp() - greatest(a.state_change, a.query_start) > interval '` + stoppedFor + `'
		AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
			AND (l.classid::bigint = ? OR l.classid::bigint = ? AND l.objid::bigint IN (?, ?)))`

// scopeLock is the key of a narrower scope. Two scopes with one key wait for each other, and that is all.
func scopeLock(s control.WriteScope) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // never fails
	return scopeLocks | int64(h.Sum32())
}

// takeTurn waits until no write transaction is under way that the scope forbids.
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

// takeChain waits until no other transaction appends events and audit entries.
func takeChain(tx *gorm.DB) error {
	if err := tx.Exec("SELECT pg_advisory_xact_lock(?)", chainLock).Error; err != nil {
		return fmt.Errorf("wait for the turn to append to the audit log: %w", err)
	}
	return nil
}

// evicting has who stands still in the way ended, for as long as a transaction waits for a lock, until stop.
func (s *Store) evicting(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	t := time.AfterFunc(evictAfter, func() {
		for ctx.Err() == nil {
			// Who waits sees by its lock timeout that it did not help.
			_ = s.read.WithContext(ctx).Exec(evict, scopeLocks>>32, turnLock>>32, turnLock&0xffffffff, chainLock&0xffffffff).Error
			select {
			case <-ctx.Done():
			case <-time.After(evictEvery):
			}
		}
	})
	return func() { t.Stop(); cancel() }
}

// turns lets one write transaction of a scope at a time take a connection of this process, so that those that wait for one
// fabric leave connections to the others. The zero value is ready.
type turns struct {
	mu    sync.Mutex
	lines map[control.WriteScope]*line
}

type line struct {
	turn chan struct{} // holds one while somebody has the turn
	in   int           // who has it and who waits
}

// take waits for the turn of a scope until the context ends.
func (t *turns) take(ctx context.Context, s control.WriteScope) (leave func(), err error) {
	t.mu.Lock()
	l := t.lines[s]
	if l == nil {
		if t.lines == nil {
			t.lines = map[control.WriteScope]*line{}
		}
		l = &line{turn: make(chan struct{}, 1)}
		t.lines[s] = l
	}
	l.in++
	t.mu.Unlock()
	out := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if l.in--; l.in == 0 {
			delete(t.lines, s)
		}
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; out() }, nil
	case <-ctx.Done():
		out()
		return nil, ctx.Err()
	}
}
