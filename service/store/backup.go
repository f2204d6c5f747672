package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Partial is the suffix of a backup that is being written.
const Partial = ".partial"

// Backup writes a consistent copy of a database into a new file while the service keeps running. On SQLite the copy is a
// database file; on PostgreSQL it is an archive of pg_dump, which must be installed, in its custom format. The copy is
// inspected before it gets its name, so a file of that name is complete. Only its owner may read it, since it holds
// everything in the database.
func Backup(ctx context.Context, database, file string) (in Inspection, err error) {
	if err := reserve(file); err != nil {
		return in, fmt.Errorf("back up: %w", err)
	}
	partial := file + Partial
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up %s: %w", Redact(database), err), remove(partial), remove(file))
		}
	}()
	if err := remove(partial); err != nil { // of an attempt that was killed
		return in, err
	}
	if err := reserve(partial); err != nil {
		return in, err
	}
	if IsPostgres(database) {
		in, err = dumpPostgres(ctx, database, partial)
	} else {
		in, err = copySQLite(ctx, database, partial)
	}
	if err != nil {
		return in, err
	}
	if err := errors.Join(syncFile(partial), os.Rename(partial, file)); err != nil {
		return in, err
	}
	return in, syncFile(filepath.Dir(file))
}

// reserve creates an empty file that only its owner may read.
func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// remove removes a file, if it exists.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncFile flushes a file, or the names in a directory, to the disk.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// copySQLite copies the view of one read transaction (SQLite, VACUUM INTO), and inspects the copy.
func copySQLite(ctx context.Context, database, file string) (in Inspection, err error) {
	db, d, err := openToRead(database)
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "PRAGMA query_only(0)"); err != nil {
		return in, err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", file); err != nil {
		return in, fmt.Errorf("copy: %w", err)
	}
	if in, err = Inspect(ctx, file); err != nil {
		return in, err
	}
	in.Dialect = d
	return in, in.sound("the copy, and so the database,")
}

// sound returns an error that lists the faults, if any.
func (i Inspection) sound(what string) error {
	if len(i.Faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s is damaged: %s", what, strings.Join(i.Faults, "; "))
}

// dumpPostgres inspects the database and runs pg_dump.
func dumpPostgres(ctx context.Context, database, file string) (Inspection, error) {
	in, err := Inspect(ctx, database)
	if err == nil {
		err = in.sound("the database")
	}
	if err == nil {
		err = runTool(ctx, database, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+file)
	}
	return in, err
}

// runTool runs one of PostgreSQL's programs on a database. It passes the password in the environment: every user of the
// machine can read command lines.
func runTool(ctx context.Context, database, name string, args ...string) error {
	path, err := findTool(name)
	if err != nil {
		return err
	}
	target, password, err := splitPassword(database)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, append(args, "--no-password", "--dbname="+target)...)
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	var words bytes.Buffer
	cmd.Stderr = &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(words.String()))
	}
	return nil
}

// findTool searches the PATH and Debian's directories of each release, newest first.
func findTool(name string) (string, error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	slices.Sort(folders)
	slices.Reverse(folders)
	for _, dir := range folders {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s was not found: install PostgreSQL's client programs (Debian: postgresql-client) of the server's release or a newer one", name)
	}
	return path, nil
}

// splitPassword removes the password from a URL and returns both.
func splitPassword(database string) (target, password string, err error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", "", fmt.Errorf("database %s: want a URL such as postgres://USER@HOST:PORT/NAME", Redact(database))
	}
	if p, ok := u.User.Password(); ok {
		password = p
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		password = q.Get("password")
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String(), password, nil
}

// withDatabase returns the URL with another database of the same server.
func withDatabase(database, name string) (string, error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", fmt.Errorf("database %s: want a URL such as postgres://USER@HOST:PORT/NAME", Redact(database))
	}
	q := u.Query()
	q.Del("dbname")
	u.RawQuery = q.Encode()
	u.Path = "/" + name
	return u.String(), nil
}
