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
	"gorm.io/gorm"

	"fairlane/migrations"
)

// OpenSQLite opens or creates the database file at path and brings its schema to the newest
// version. The path may not contain '?', which the driver takes for the start of parameters.
//
// WAL mode with foreign keys on and one writer connection: write transactions take their turn
// in this process, so "database is locked" can come only from another process, which the busy
// timeout waits for. Readers have connections of their own and never wait.
func OpenSQLite(ctx context.Context, path string, o Options) (*Store, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	// A new database is one that only its owner may read: it holds hashes of passwords and what tenants may not know of
	// each other. SQLite gives the files beside it the same mode. Where it cannot be made, opening it says why.
	_ = reserve(path)
	s := &Store{dialect: migrations.SQLite}
	var err error
	if s.write, err = s.openSQLite(path, o.BusyTimeout, 1, "_txlock", "immediate"); err == nil {
		if err = s.begin(ctx, path, s.closers[0]); err == nil {
			err = migrate(ctx, s.closers[0], s.dialect)
		}
		if err == nil {
			s.read, err = s.openSQLite(path, o.BusyTimeout, readers, "_pragma", "query_only(1)")
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, s.opening(err)), s.Close())
	}
	return s, nil
}

// checkPath refuses what is not the plain path of a file.
func checkPath(path string) error {
	if path == "" || strings.Contains(path, "?") || strings.HasPrefix(path, ":memory:") {
		return fmt.Errorf("database path %q: want a file path without '?'", path)
	}
	return nil
}

func (s *Store) openSQLite(path string, busy time.Duration, conns int, key, value string) (*gorm.DB, error) {
	db, err := sql.Open(sqlite.DriverName, sqliteDSN(path, busy, key, value))
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, db)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if err := unlocked(busy, db.Ping); err != nil {
		return nil, err
	}
	return gorm.Open(sqlite.Dialector{Conn: db}, config())
}

// unlocked connects, again while another process locks the file, for as long as it may: SQLite's own timeout does not hold while processes that
// start together turn a new file to WAL.
func unlocked(busy time.Duration, connect func() error) error {
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(busy); ; time.Sleep(pause) {
		err := connect()
		if err == nil || !isBusy(err) || time.Now().After(end) {
			return err
		}
	}
}

// sqliteDSN is the driver's name of a file with our settings and one more.
func sqliteDSN(path string, busy time.Duration, key, value string) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)") // an acknowledged write survives a power cut
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "cache_size(-32768)") // KiB, at most: a rollout of ten thousand devices stays in it
	q.Add(key, value)
	return path + "?" + q.Encode()
}
