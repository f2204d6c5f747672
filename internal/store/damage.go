package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/glebarez/go-sqlite"

	"fairlane/internal/control"
	"fairlane/migrations"
)

// checkedAtStart is the size up to which a SQLite file is checked before anything is done with it; it takes under half a
// second. A larger one is checked while the service begins its work.
const checkedAtStart = 64 << 20 // bytes

// damagedText says what to do about a database that is damaged.
const damagedText = "the database is damaged: nothing is written to it any more; stop the service and restore a backup with \"fairlane db restore\""

// damage makes the store refuse all writes from now on: what is built on a damaged page damages more.
func (s *Store) damage(err error) *control.UnavailableError {
	d := &control.UnavailableError{Code: codeDamaged, Detail: damagedText, Err: err}
	if s.damaged.CompareAndSwap(nil, d) && s.dialect == migrations.SQLite && len(s.closers) > 0 {
		// The queue writes without Store.Tx, on the same connection. It is told once that is free.
		go func(db *sql.DB) { _, _ = db.ExecContext(context.Background(), "PRAGMA query_only = 1") }(s.closers[0])
	}
	return d
}

// checkFile looks for damaged pages, by PRAGMA quick_check, in a SQLite file that exists: at once when it is small, else
// beside the work, until Close.
func (s *Store) checkFile(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() <= checkedAtStart {
		return quickCheck(ctx, s.closers[0])
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	s.stopCheck = func() { cancel(); <-done }
	go func() {
		defer close(done)
		db, _, err := openToRead(path)
		if err == nil {
			err = errors.Join(quickCheck(ctx, db), db.Close())
		}
		if isDamage(err) {
			_ = s.damage(err) // kept; whoever writes next gets it
		}
	}()
	return nil
}

// errDamaged is what quick_check found.
type errDamaged struct{ what string }

// Error prints the first fault.
func (e *errDamaged) Error() string { return "quick_check: " + e.what }

// quickCheck returns an error that isDamage knows when a file has a damaged page.
func quickCheck(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("quick_check: %w", err)
	}
	if found != "ok" {
		return &errDamaged{found}
	}
	return nil
}

// isDamage reports whether an error says that a SQLite file is damaged.
func isDamage(err error) bool {
	var lite *sqlite.Error
	var own *errDamaged
	return errors.As(err, &own) || errors.As(err, &lite) && classifySQLite(lite.Code()) == codeDamaged
}
