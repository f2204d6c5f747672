package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"fairlane/internal/outfile"
	"fairlane/migrations"
)

// NotEmptyError describes the database that a restore would replace.
type NotEmptyError struct {
	Database string // without its password
	Holds    string // "2 fabrics, 14 tenants"
}

// Error says what to do.
func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("database %s holds %s: restoring takes its place; say --force to go on", e.Database, e.Holds)
}

// InUseError means that another process uses the database.
type InUseError struct {
	Database string
	Detail   string
}

// Error says what to do.
func (e *InUseError) Error() string {
	return fmt.Sprintf("database %s is in use (%s): stop every fairlane serve that works on it first", e.Database, e.Detail)
}

// Restored is the result of a restore.
type Restored struct {
	Backup Inspection `json:"backup"`
	// Kept is the new location of the replaced database: a file in the same directory, or a database on the same server; empty when
	// there was none.
	Kept string `json:"kept,omitempty"`
	// Paused is the number of rollouts that were running when the backup was made; they must be resumed.
	Paused int `json:"paused_rollouts"`
}

// Restore replaces a database by a backup. It inspects the backup first and rejects a damaged one, one with a broken
// audit chain, and one of a newer release; it also rejects a database in use. A database that is not empty requires
// force, and is kept under another name, which ends with now. The database is unchanged until the last step, which only
// changes names.
func Restore(ctx context.Context, file, database string, force bool, now time.Time) (Restored, error) {
	var out Restored
	var err error
	if IsPostgres(database) {
		out, err = restorePostgres(ctx, file, database, force, now)
	} else {
		out, err = restoreSQLite(ctx, file, database, force, now)
	}
	if err != nil {
		return out, fmt.Errorf("restore from %s: %w", file, err)
	}
	return out, nil
}

// stamp formats a time, to the millisecond, as part of a name.
func stamp(now time.Time) string {
	return strings.ReplaceAll(now.UTC().Format("20060102t150405.000"), ".", "")
}

// BeforeSuffix is the end of the name of a replaced database, with the time of the restore.
func BeforeSuffix(now time.Time) string { return ".before-" + stamp(now) }

// The first bytes of both forms of a backup.
const (
	magicSQLite   = "SQLite format 3\x00"
	magicPostgres = "PGDMP"
)

// checkForm rejects a file that is not a backup of the engine.
func checkForm(file string, d migrations.Dialect) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	head := make([]byte, len(magicSQLite))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	var form string
	switch head = head[:n]; {
	case bytes.HasPrefix(head, []byte(magicSQLite)):
		form = "SQLite"
	case bytes.HasPrefix(head, []byte(magicPostgres)):
		form = "PostgreSQL"
	default:
		return errors.New("the file is not a backup: want one that fairlane db backup wrote")
	}
	if (form == "SQLite") != (d == migrations.SQLite) {
		return fmt.Errorf("the backup is one of %s: want a database of that engine to restore it into", form)
	}
	return nil
}

func restoreSQLite(ctx context.Context, file, database string, force bool, now time.Time) (out Restored, err error) {
	if err := errors.Join(checkPath(database), checkForm(file, migrations.SQLite)); err != nil {
		return out, err
	}
	partial := database + ".restoring"
	if err := removeWhole(partial); err != nil { // of a restore that was killed
		return out, err
	}
	if err := outfile.Copy(file, partial); err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, removeWhole(partial))
	}()
	if out.Backup, err = Inspect(ctx, partial); err != nil {
		return out, err
	}
	if err := out.Backup.sound("the backup"); err != nil {
		return out, err
	}
	if out.Paused, err = settle(ctx, partial, file, now); err != nil {
		return out, err
	}
	if err := claim(ctx, partial); err != nil { // merges the write-ahead log: only the file itself is moved
		return out, err
	}
	occupied, err := checkTarget(ctx, database, force)
	if err != nil {
		return out, err
	}
	if occupied {
		if err := claim(ctx, database); err != nil {
			return out, err
		}
		out.Kept = database + BeforeSuffix(now)
		if err := os.Link(database, out.Kept); err != nil {
			return out, fmt.Errorf("keep the present database: %w", err)
		}
	} else if err := removeWhole(database); err != nil { // a log without its database would be applied to the restored one
		return out, err
	}
	if err := os.Rename(partial, database); err != nil {
		return out, err
	}
	return out, syncFile(filepath.Dir(database))
}

// removeWhole removes a SQLite file with its logs, where they exist.
func removeWhole(database string) error {
	return errors.Join(remove(database), remove(database+"-wal"), remove(database+"-shm"), remove(database+"-journal"))
}

// checkTarget reports whether the database exists, and rejects one that is not empty without force.
func checkTarget(ctx context.Context, database string, force bool) (occupied bool, err error) {
	in, err := Inspect(ctx, database)
	switch {
	case errors.Is(err, errAbsent):
		return false, nil
	case err != nil && !force: // an unreadable database is replaced only with force
		return true, err
	case err == nil && !in.Empty() && !force:
		return true, &NotEmptyError{Database: Redact(database), Holds: in.String()}
	}
	return true, nil
}

// claim makes sure that no process has the SQLite file open, and merges its write-ahead log, so that the file alone is
// the whole database. A file that is not a database any more has nothing to merge.
func claim(ctx context.Context, database string) (err error) {
	db, err := openRaw(database, migrations.SQLite)
	if err != nil {
		return err
	}
	for _, statement := range []string{"PRAGMA busy_timeout(0)", "PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "COMMIT"} {
		if _, err = db.ExecContext(ctx, statement); err != nil {
			break
		}
	}
	if cerr := db.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "locked"):
		return &InUseError{Database: database, Detail: "another process has it open"}
	case err != nil && strings.Contains(err.Error(), "not a database"):
		return nil
	case err != nil:
		return fmt.Errorf("claim database %s: %w", database, err)
	}
	switch info, err := os.Stat(database + "-wal"); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Size() > 0:
		return &InUseError{Database: database, Detail: "its write-ahead log is not folded in"}
	}
	return errors.Join(remove(database+"-wal"), remove(database+"-shm"))
}

// restorePostgres restores into a new database of the server, inspects it, and changes names.
func restorePostgres(ctx context.Context, file, database string, force bool, now time.Time) (out Restored, err error) {
	if err := checkForm(file, migrations.Postgres); err != nil {
		return out, err
	}
	c, err := postgresConfig(database, time.Minute)
	if err != nil {
		return out, err
	}
	admin, err := openAdmin(ctx, database, c.Database)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	occupied, err := checkPostgresTarget(ctx, admin, database, c.Database, force)
	if err != nil {
		return out, err
	}
	base := c.Database[:min(len(c.Database), 30)] // PostgreSQL truncates names after 63 bytes
	scratch := base + "_restoring_" + stamp(now)
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+quoted(scratch)+" TEMPLATE template0 ENCODING 'UTF8'"); err != nil {
		return out, fmt.Errorf("make a database to restore into, which needs the right CREATEDB: %w", err)
	}
	defer func() {
		if err != nil {
			_, derr := admin.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+quoted(scratch)+" WITH (FORCE)")
			err = errors.Join(err, derr)
		}
	}()
	target, err := withDatabase(database, scratch)
	if err != nil {
		return out, err
	}
	if err := runTool(ctx, target, "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", file); err != nil {
		return out, err
	}
	if out.Backup, err = Inspect(ctx, target); err == nil {
		err = out.Backup.sound("the backup")
	}
	if err == nil {
		out.Paused, err = settle(ctx, target, file, now)
	}
	if err != nil {
		return out, err
	}
	if occupied {
		out.Kept = base + "_before_" + stamp(now)
	}
	return out, swap(ctx, admin, c.Database, scratch, out.Kept)
}

// openAdmin connects to another database of the server than the one to be replaced.
func openAdmin(ctx context.Context, database, name string) (*sql.DB, error) {
	var all error
	for _, other := range []string{"postgres", "template1"} {
		if other == name {
			continue
		}
		u, err := withDatabase(database, other)
		if err != nil {
			return nil, err
		}
		db, err := openRaw(u, migrations.Postgres)
		if err == nil {
			if err = db.PingContext(ctx); err == nil {
				db.SetMaxOpenConns(1)
				return db, nil
			}
			err = errors.Join(err, db.Close())
		}
		all = errors.Join(all, err)
	}
	return nil, fmt.Errorf("connect to database postgres or template1 of the server: %w", all)
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// checkPostgresTarget is checkTarget, and also rejects a database with open connections.
func checkPostgresTarget(ctx context.Context, admin *sql.DB, database, name string, force bool) (occupied bool, err error) {
	var n int
	if err := admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_database WHERE datname = $1", name).Scan(&n); err != nil || n == 0 {
		return false, err
	}
	if err := awaitUsers(ctx, admin, database, name); err != nil {
		return true, err
	}
	return checkTarget(ctx, database, force)
}

// leaveGrace is how long closed connections may still be listed, until their server process has ended. PostgreSQL itself
// waits as long before it renames a database.
const leaveGrace = 5 * time.Second

// awaitUsers waits until a database has no connections. A connection that remains after leaveGrace is in use.
func awaitUsers(ctx context.Context, admin *sql.DB, database, name string) error {
	grace := time.NewTimer(leaveGrace)
	defer grace.Stop()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		users, err := lines(ctx, admin, `SELECT COALESCE(NULLIF(application_name, ''), 'unnamed') || COALESCE(' from ' || client_addr::text, '')
			FROM pg_stat_activity WHERE datname = $1 LIMIT 1`, name)
		if err != nil || len(users) == 0 {
			return err
		}
		select {
		case <-poll.C:
		case <-grace.C:
			return &InUseError{Database: Redact(database), Detail: users[0] + " is connected"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// swap gives the restored database its name, in one transaction.
func swap(ctx context.Context, admin *sql.DB, name, scratch, kept string) error {
	tx, err := admin.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	statements := []string{"ALTER DATABASE " + quoted(scratch) + " RENAME TO " + quoted(name)}
	if kept != "" {
		statements = append([]string{"ALTER DATABASE " + quoted(name) + " RENAME TO " + quoted(kept)}, statements...)
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", statement, err), tx.Rollback())
		}
	}
	return tx.Commit()
}
