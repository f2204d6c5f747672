package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/glebarez/go-sqlite"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// checkedAtStart is the size up to which a SQLite file is checked before it is used; that takes less than half a second.
// A larger one is checked in the background.
const checkedAtStart = 64 << 20 // bytes

// guard is the background work of a store on SQLite. The zero value does nothing.
type guard struct {
	found chan struct{} // closed when damage was found
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// end stops the work and waits for it.
func (g *guard) end() {
	if g.stop != nil {
		g.stop()
	}
	g.work.Wait()
}

// damage makes the store reject all further writes: a write based on a damaged page causes more damage.
func (s *Store) damage(err error) *control.UnavailableError {
	d := &control.UnavailableError{Code: codeDamaged, Said: phrase.Of("problem.database-damaged"), Err: err}
	if s.damaged.CompareAndSwap(nil, d) && s.guard.found != nil {
		close(s.guard.found)
	}
	return d
}

// begin searches a SQLite file for damaged pages, by PRAGMA quick_check: a small file before it returns, a larger one in
// the background. Once it finds damage, the writer's connection rejects writes.
func (s *Store) begin(ctx context.Context, path string, writer *sql.DB) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.guard.found, s.guard.stop = make(chan struct{}), stop
	s.guard.work.Go(func() { s.guard.refuse(background, writer) })
	if info.Size() <= checkedAtStart {
		return quickCheck(ctx, writer)
	}
	s.guard.work.Go(func() {
		if err := CheckPages(background, path); IsDamage(err) {
			_ = s.damage(err) // the next write returns it
		}
	})
	return nil
}

// refuse makes the writer's connection reject writes once damage is found: the queue writes on the same connection
// without Store.Tx. It waits for a running transaction there.
func (g *guard) refuse(ctx context.Context, writer *sql.DB) {
	select {
	case <-g.found:
		_, _ = writer.ExecContext(ctx, "PRAGMA query_only = 1") // fails only when the store is closed
	case <-ctx.Done():
	}
}

// CheckPages searches the file of a SQLite database for damaged pages; IsDamage recognises its error. It reads the whole
// file and changes nothing. For PostgreSQL, which checks its pages itself, it returns nil.
func CheckPages(ctx context.Context, database string) error {
	if IsPostgres(database) {
		return nil
	}
	db, _, err := openToRead(database)
	if err != nil {
		return err
	}
	return errors.Join(quickCheck(ctx, db), db.Close())
}

// errDamaged is the first fault that quick_check found.
type errDamaged struct{ what string }

var _ error = (*errDamaged)(nil)

func (e *errDamaged) Error() string { return "quick_check: " + e.what }

// quickCheck fails with an error that IsDamage recognises when the file has a damaged page.
func quickCheck(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("quick_check: %w", err)
	}
	if found != "ok" {
		return &errDamaged{strings.ReplaceAll(found, "\n", " ")}
	}
	return nil
}

// IsDamage reports whether an error says that a SQLite file is damaged.
func IsDamage(err error) bool {
	var lite *sqlite.Error
	var own *errDamaged
	return errors.As(err, &own) || errors.As(err, &lite) && classifySQLite(lite.Code()) == codeDamaged
}
