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

// OpenSQLite opens or creates the database file at path and migrates its schema to the newest version. The path must not
// contain '?', which starts parameters for the driver.
//
// It uses WAL mode with foreign keys and one writer connection. Write transactions take turns in this process, so
// "database is locked" can come only from another process, and the busy timeout waits for that. Readers have their own
// connections and never wait.
func OpenSQLite(ctx context.Context, path string, o Options) (*Store, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	// Only its owner may read a new database: it holds password hashes, and facts that tenants must not learn about each
	// other. SQLite gives its journal files the same mode. If the file cannot be created, opening it reports the
	// reason.
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

// checkPath rejects anything but the plain path of a file.
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

// unlocked connects, and retries within busy while another process locks the file: SQLite's own timeout does not apply
// while processes that start together switch a new file to WAL.
func unlocked(busy time.Duration, connect func() error) error {
	const pause = 20 * time.Millisecond
	for end := time.Now().Add(busy); ; time.Sleep(pause) {
		err := connect()
		if err == nil || !isBusy(err) || time.Now().After(end) {
			return err
		}
	}
}

// sqliteDSN returns the driver's name of a file with our settings and one more.
func sqliteDSN(path string, busy time.Duration, key, value string) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)") // an acknowledged write survives a power cut
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "cache_size(-32768)") // KiB, upper limit: a rollout of ten thousand devices fits
	q.Add(key, value)
	return path + "?" + q.Encode()
}
