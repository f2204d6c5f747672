package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CheckPath rejects a path that no SQLite file can have: its directory is missing, or it is a directory itself. It does
// not check permissions, since the service may run as another user.
func CheckPath(path string) error {
	if IsPostgres(path) {
		return nil
	}
	dir := filepath.Dir(path)
	at, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: directory %s does not exist: create it for the user that runs the service, or give another path", path, dir)
	case errors.Is(err, syscall.ENOTDIR), err == nil && !at.IsDir():
		return fmt.Errorf("%s: %s is not a directory: want the path of a file in a directory", path, dir)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: want the path of a SQLite file, existing or new", path)
	}
	return nil
}

// sqliteHeader starts every SQLite file that was ever written to (sqlite.org/fileformat2.html, 1.3).
const sqliteHeader = "SQLite format 3\x00"

// CheckHeader rejects an existing file that is no SQLite database. An empty file is accepted. A file that cannot be
// opened is accepted too, since the service may run as another user.
func CheckHeader(path string) error {
	if IsPostgres(path) {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	head := make([]byte, len(sqliteHeader))
	if n, _ := io.ReadFull(f, head); n == 0 || string(head[:n]) == sqliteHeader { // an unreadable file is accepted, too
		return nil
	}
	return fmt.Errorf("%s is no SQLite database: correct the path, or restore a backup with `fairlane db restore`", path)
}
