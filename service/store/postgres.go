package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"fairlane/migrations"
)

// Time limits of a connection; writelocks.go has those of idle transactions.
const (
	connectTimeout = 5 * time.Second
	maxIdle        = 5 * time.Minute
)

// OpenPostgres opens the database at a URL such as "postgres://fairlane@db.example:5432/fairlane" and migrates its schema
// to the newest version; managers that start concurrently migrate one after the other. Errors do not contain the URL's
// password.
func OpenPostgres(ctx context.Context, dsn string, o Options) (*Store, error) {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 30 * time.Second
	}
	c, err := postgresConfig(dsn, o.BusyTimeout)
	if err != nil {
		return nil, err
	}
	s := &Store{turns: newTurns(), dialect: migrations.Postgres}
	if s.write, err = s.openPostgres(c, writers); err == nil {
		if err = migrate(ctx, s.closers[0], s.dialect); err == nil {
			s.read, err = s.openPostgres(forReaders(c), readers)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", Redact(dsn), s.opening(err)), s.Close())
	}
	return s, nil
}

// postgresConfig parses the URL and adds the limits that it does not set.
func postgresConfig(dsn string, busy time.Duration) (*pgx.ConnConfig, error) {
	if !IsPostgres(dsn) {
		return nil, errors.New("database: want a URL such as postgres://USER@HOST:PORT/NAME")
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database %s: want a URL such as postgres://USER@HOST:PORT/NAME?sslmode=verify-full", Redact(dsn))
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	for name, value := range map[string]string{
		"application_name": "fairlane",
		"lock_timeout":     strconv.FormatInt(busy.Milliseconds(), 10),
		idleLimit:          strconv.FormatInt(idleInTx.Milliseconds(), 10),
	} {
		if _, set := c.RuntimeParams[name]; !set {
			c.RuntimeParams[name] = value
		}
	}
	return c, nil
}

// idleLimit is the setting that ends idle transactions.
const idleLimit = "idle_in_transaction_session_timeout"

// forReaders gives read transactions their own idle limit. They block no other transaction, so a manager that was
// suspended briefly, or runs on a busy machine, can continue them.
func forReaders(c *pgx.ConnConfig) *pgx.ConnConfig {
	c = c.Copy()
	if c.RuntimeParams[idleLimit] == strconv.FormatInt(idleInTx.Milliseconds(), 10) { // otherwise the URL sets it
		c.RuntimeParams[idleLimit] = strconv.FormatInt(idleInRead.Milliseconds(), 10)
	}
	return c
}

// Redact returns a database's name without its password, for messages and logs.
func Redact(database string) string {
	if !IsPostgres(database) {
		return database
	}
	u, err := url.Parse(database)
	if err != nil {
		return "postgres://..." // an unparsable URL may hold a password anywhere
	}
	q := u.Query()
	if q.Has("password") || q.Has("sslpassword") {
		q.Del("password")
		q.Del("sslpassword")
		u.RawQuery = q.Encode()
	}
	return u.Redacted()
}

func (s *Store) openPostgres(c *pgx.ConnConfig, conns int) (*gorm.DB, error) {
	db := stdlib.OpenDB(*c)
	s.closers = append(s.closers, db)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxIdleTime(maxIdle)
	return gorm.Open(postgres.New(postgres.Config{Conn: db}), config())
}

// lockMigrations makes managers that start concurrently migrate one after the other. The returned function releases the
// lock.
func lockMigrations(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateLock); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for another manager's migration: %w", err), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrateLock)
		return errors.Join(err, conn.Close())
	}, nil
}
