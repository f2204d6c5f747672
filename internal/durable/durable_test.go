package durable

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// only fails the test unless a directory has one file, with a text and a mode.
func only(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	st, statErr := os.Stat(path)
	entries, dirErr := os.ReadDir(filepath.Dir(path))
	if err != nil || statErr != nil || dirErr != nil || string(got) != text || st.Mode().Perm() != mode || len(entries) != 1 {
		t.Errorf("%q, %v, %v, %v, want %q with mode %v, and nothing else", got, err, st, entries, text, mode)
	}
}

func TestAFileIsReplacedWithItsMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		text string
		mode os.FileMode
	}{{"one", 0o600}, {"two", 0o777}} { // which a umask would narrow
		if err := WriteFile(path, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		only(t, path, c.text, c.mode)
	}
	full := filepath.Join(t.TempDir(), "directory")
	if err := os.MkdirAll(filepath.Join(full, "file"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(full, nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if left, err := os.ReadDir(filepath.Dir(full)); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

func TestRemainsOfKilledWritersAreRemovedOnceTheyAreOld(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{remains + "old": time.Hour, remains + "new": 0, "x": time.Hour} {
		path, at := filepath.Join(dir, name), time.Now().Add(-age)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		age  time.Duration
		want int
	}{{time.Minute, 2}, {0, 1}} {
		if err := RemoveRemains(dir, c.age); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != c.want {
			t.Errorf("from an age of %s: %v, %v, want %d", c.age, left, err, c.want)
		}
	}
	if err := RemoveRemains(filepath.Join(dir, "none"), 0); err != nil {
		t.Error(err)
	}
}
