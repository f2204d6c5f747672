// Package storetest changes and damages SQLite files of stores directly, for tests.
package storetest

import (
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
)

// SpoilPage overwrites the start of the first page of a table.
func SpoilPage(t testing.TB, path, table string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var root, size int64
	err = db.QueryRowContext(t.Context(), "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE type = 'table' AND name = ?", table).Scan(&root, &size)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt([]byte(strings.Repeat("\xff", 64)), (root-1)*size)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Execute runs a statement on a SQLite file and leaves no log of it behind.
func Execute(t testing.TB, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
