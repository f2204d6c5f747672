// Package store stores the service's data in a database: fabrics, tenants, policies, plans, rollouts, devices, accounts,
// tasks, events and the audit log. It is the only package that uses gorm; its repositories take and return the types of
// service/control, and gorm structs stay inside.
//
// Both engines behave the same: write transactions that could conflict take turns, readers never wait, and a reader sees one
// state. SQLite (sqlite.go) has one writer connection in WAL mode. On PostgreSQL each write transaction first takes
// advisory locks of its control.WriteScope (writelocks.go). Turns were chosen over SERIALIZABLE with retries because
//   - what a use case reads and relies on stays true until it commits, on both engines;
//   - events are numbered in the order of commits, so that a cursor never skips one;
//   - a use case runs once, and need not tolerate being run again.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"fairlane/migrations"
	"fairlane/service/audit"
	"fairlane/service/control"
)

// Options configure the store; the zero value is the default.
type Options struct {
	// BusyTimeout is how long a write waits for its turn; 0 means 5 s on SQLite, where only another process can block it,
	// and 30 s on PostgreSQL, where all managers take turns.
	BusyTimeout time.Duration
}

// Connections of a store. SQLite has one for writes.
const (
	readers = 4
	writers = 8 // migrating needs two
)

// Store is a control.Store over one database.
type Store struct {
	dialect     migrations.Dialect
	write, read *gorm.DB
	closers     []*sql.DB // the writer's is first
	jobs        Inserter  // see UseJobs
	parts       keptParts
	turns       *turns // on PostgreSQL
	probe       probe
	damaged     atomic.Pointer[control.UnavailableError] // set once; from then on Tx returns it
	guard       guard
}

var _ control.Store = (*Store)(nil)

// IsPostgres reports whether a database name denotes PostgreSQL, "postgres://..." or "postgresql://..."; every other name
// is the path of a SQLite file.
func IsPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// Open opens the database of a name, with the engine that IsPostgres determines.
func Open(ctx context.Context, database string, o Options) (*Store, error) {
	if IsPostgres(database) {
		return OpenPostgres(ctx, database, o)
	}
	return OpenSQLite(ctx, database, o)
}

// Writer returns the connections of write transactions. On SQLite it is a single one, which all other writers to the file
// in this process must use too.
func (s *Store) Writer() *sql.DB { return s.closers[0] }

// config returns gorm's configuration for both engines.
func config() *gorm.Config {
	return &gorm.Config{
		Logger:                 logger.Discard,
		TranslateError:         true,
		SkipDefaultTransaction: true, // every write already runs inside Tx
		QueryFields:            true, // a column that a newer release adds does not affect this one
	}
}

// Close closes the connections. Running transactions are rolled back.
func (s *Store) Close() error {
	s.guard.end()
	s.probe.end()
	var all []error
	for _, db := range s.closers {
		all = append(all, db.Close())
	}
	return errors.Join(all...)
}

// Tx runs f in one write transaction. A database failure that f did not cause is a *control.UnavailableError with the
// code "storage-full", "storage-read-only", "storage-damaged" or "storage-unavailable".
func (s *Store) Tx(ctx context.Context, f func(control.Repos) error) error {
	if d := s.damaged.Load(); d != nil {
		return d
	}
	r := &repos{jobs: s.jobs, kept: &s.parts}
	if s.dialect == migrations.SQLite {
		return s.ended(ctx, r, s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error { r.db = tx; return f(r) }))
	}
	scope := control.ScopeOf(ctx)
	turn, err := s.turns.take(ctx, scope)
	if err != nil {
		return err
	}
	defer turn.end()
	r.turn, r.late = turn, scope != control.ScopeService
	return s.ended(ctx, r, s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		stop := s.evicting(ctx)
		defer func() { stop() }()
		if err := takeTurn(tx, scope); err != nil {
			return err
		}
		stop()
		r.db = tx
		if err := f(r); err != nil {
			return err
		}
		stop = s.evicting(ctx)
		return r.appendLate(ctx)
	}))
}

// ended records the outcome of a write transaction.
func (s *Store) ended(ctx context.Context, r *repos, err error) error {
	if err == nil {
		s.probe.committed()
	}
	r.ended(err)
	return s.fault(cut(ctx, err), true)
}

// View runs f in one read-only transaction: all its reads see the same state.
func (s *Store) View(ctx context.Context, f func(control.Repos) error) error {
	r := &repos{kept: &s.parts}
	err := s.view(ctx, func(tx *gorm.DB) error { r.db = tx; return f(r) })
	r.ended(err)
	return s.fault(cut(ctx, err), false)
}

// view runs f in a transaction that sees one state. It returns the errors of f and of the database unchanged.
func (s *Store) view(ctx context.Context, f func(tx *gorm.DB) error) error {
	var o []*sql.TxOptions
	if s.dialect == migrations.Postgres {
		o = append(o, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	}
	return s.read.WithContext(ctx).Transaction(f, o...)
}

// repos implements control.Repos on one transaction.
type repos struct {
	db    *gorm.DB
	jobs  Inserter // nil drops jobs
	kept  *keptParts
	fresh map[partsKey]parts // read in this transaction, cached when it is committed
	gone  bool               // tenants were deleted in this transaction
	turn  *turn              // of a write on PostgreSQL
	// late defers events and audit entries to the end of the transaction, so that other transactions can append
	// meanwhile.
	late   bool
	events []eventRow
	audits []audit.Entry
}

// appendLate appends the deferred events and audit entries as the last step of a transaction: from here to the commit all
// others wait.
func (r *repos) appendLate(ctx context.Context) error {
	if len(r.events) == 0 && len(r.audits) == 0 {
		return nil
	}
	if err := r.turn.takeChain(ctx, r.db); err != nil {
		return err
	}
	r.late = false
	if err := insertAll(r.in(ctx), r.events); err != nil {
		return fmt.Errorf("insert %d events: %w", len(r.events), err)
	}
	for _, e := range r.audits {
		if _, err := r.AppendAudit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// ended updates the cache of parts after a commit.
func (r *repos) ended(err error) {
	if err != nil {
		return
	}
	if r.gone {
		r.kept.forget()
	} else if len(r.fresh) > 0 {
		r.kept.keep(r.fresh)
	}
}

func (r *repos) in(ctx context.Context) *gorm.DB { return r.db.WithContext(ctx) }

// changed returns the error of an update: the database's own, with the attempted action, or none when no row was updated.
func changed(res *gorm.DB, none error, format string, args ...any) error {
	switch {
	case res.Error != nil:
		return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), res.Error)
	case res.RowsAffected == 0:
		return none
	}
	return nil
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// optionalMicros is micros, with NULL for the zero time.
func optionalMicros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(micros(t))
}

// optionalTime is fromMicros, with the zero time for NULL.
func optionalTime(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return fromMicros(*us)
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// text makes external text, such as a device's own name, valid for a text column: PostgreSQL accepts neither the byte 0
// nor invalid UTF-8.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
