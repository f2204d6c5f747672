// Package filetest creates files for tests.
package filetest

import (
	"os"
	"path/filepath"
	"testing"
)

// ShortDir returns a new directory, which is removed after the test, for sockets: their paths are limited to 107 bytes, and the
// directories of tests have their long names.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a leftover harms no test
	return dir
}

// Write writes a file to a new directory, which is removed after the test, and returns its path.
func Write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
