// Package peertest says what becomes of a test whose peers are not there: programs of others that it runs unmodified, or
// something else that a machine may lack. It is skipped, or fails where the environment variable FAIRLANE_REQUIRE_INTEROP
// is set, as `make test` sets it.
package peertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Missing ends a test, for what it lacks.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("FAIRLANE_REQUIRE_INTEROP") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Root returns the folder of the repository, which holds the folder that the test runs in. Paths of source files would not do:
// builds with -trimpath leave them out.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no folder above the test holds go.mod")
		}
	}
}

// Program returns the path of a program, or ends the test as Missing does. It also looks where administrators' programs
// live, which is not in every PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"", "/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	Missing(t, "program "+name+" is not installed: test/install-peers.sh does that on Debian")
	return ""
}
