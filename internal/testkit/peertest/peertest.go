// Package peertest skips or fails tests whose peers are missing: unmodified third-party programs, or other features
// that a machine may lack. A test is skipped, or fails if the environment variable FAIRLANE_REQUIRE_INTEROP is set, as
// `make test` does.
package peertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Missing ends a test that lacks what.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("FAIRLANE_REQUIRE_INTEROP") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// Root returns the repository's root, which contains the test's working directory. Paths of source files are of no use:
// builds with -trimpath omit them.
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

// Program returns the path of a program, or ends the test as Missing does. It also searches the directories of system
// administration, which PATH may lack.
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

// Superuser ends a test that needs root: as a failure where the environment variable CI is true, otherwise it skips the test,
// since a developer's `make test` need not run as root.
func Superuser(t testing.TB) {
	t.Helper()
	switch {
	case os.Geteuid() == 0:
	case os.Getenv("CI") == "true":
		t.Fatal("user is not root, and CI runs every test")
	default:
		t.Skip("user is not root")
	}
}
