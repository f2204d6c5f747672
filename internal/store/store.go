// Package store keeps fabrics, tenants, plans, rollouts, events and tokens in a database. It is
// the only package that knows gorm; its repositories take and return the types of
// internal/control, and gorm structs never leave.
//
// SQLite runs in WAL mode with foreign keys on and one writer connection: write transactions
// take their turn in this process, so "database is locked" can come only from another process,
// which the busy timeout waits for. Readers have connections of their own and never wait.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/pressly/goose/v3"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"fairlane/internal/control"
	"fairlane/migrations"
)

// Options tune the store; the zero value is the default of each.
type Options struct {
	BusyTimeout time.Duration // how long to wait for another process's lock; 0 is 5 s
	Readers     int           // read connections; 0 is 4
}

// Store is a control.Store over one database.
type Store struct {
	write, read *gorm.DB
	closers     []*sql.DB
}

var _ control.Store = (*Store)(nil)

// OpenSQLite opens or creates the database file at path and brings its schema to the newest
// version. The path may not contain '?', which the driver takes for the start of parameters.
func OpenSQLite(ctx context.Context, path string, o Options) (*Store, error) {
	if path == "" || strings.Contains(path, "?") || strings.HasPrefix(path, ":memory:") {
		return nil, fmt.Errorf("database path %q: want a file path without '?'", path)
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	s := &Store{}
	var err error
	if s.write, err = s.open(path, o, 1, "_txlock", "immediate"); err == nil {
		if err = migrate(ctx, s.closers[0]); err == nil {
			s.read, err = s.open(path, o, o.Readers, "_pragma", "query_only(1)")
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(path string, o Options, conns int, key, value string) (*gorm.DB, error) {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10)+")")
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)") // an acknowledged write survives a power cut
	q.Add("_pragma", "foreign_keys(1)")
	q.Add(key, value)
	db, err := sql.Open(sqlite.DriverName, path+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, db)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return gorm.Open(sqlite.Dialector{Conn: db}, &gorm.Config{
		Logger:                 logger.Discard,
		TranslateError:         true,
		SkipDefaultTransaction: true, // every write already runs inside Tx
	})
}

// migrate applies the migrations that are missing.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := migrations.SQLite()
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Close closes the connections. Running transactions are rolled back.
func (s *Store) Close() error {
	var all []error
	for _, db := range s.closers {
		all = append(all, db.Close())
	}
	return errors.Join(all...)
}

// Tx runs f in one write transaction.
func (s *Store) Tx(ctx context.Context, f func(control.Repos) error) error {
	return s.write.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return f(&repos{db: tx}) })
}

// View runs f in one read-only transaction: all its reads see the same state.
func (s *Store) View(ctx context.Context, f func(control.Repos) error) error {
	return s.read.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return f(&repos{db: tx}) })
}

// Ping reports whether the database answers, for readers and for the writer.
func (s *Store) Ping(ctx context.Context) error {
	for _, db := range s.closers {
		if err := db.PingContext(ctx); err != nil {
			return fmt.Errorf("ping database: %w", err)
		}
	}
	return nil
}

// repos implements control.Repos on one transaction.
type repos struct{ db *gorm.DB }

func (r *repos) in(ctx context.Context) *gorm.DB { return r.db.WithContext(ctx) }

// cut splits a list read with one row too many into the page and the cursor of the next one.
func cut[T any](rows []T, size int, key func(T) string) (page []T, next string) {
	if len(rows) <= size {
		return rows, ""
	}
	return rows[:size], key(rows[size-1])
}

// afterID reads a numeric cursor; what is not one of ours starts at the beginning's far side,
// that is, it is refused.
func afterID(p control.Page) (int64, error) {
	if p.After == "" {
		return 0, nil
	}
	id, err := strconv.ParseInt(p.After, 10, 64)
	if err != nil || id < 0 {
		return 0, control.Invalid("cursor", "cursor is not one that this list gave")
	}
	return id, nil
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }
