// Package filetest creates files for tests.
package filetest

import (
	"os"
	"path/filepath"
	"testing"
)

// Write writes a file to a new directory, which is removed after the test, and returns its path.
func Write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
