package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeyIsStoredCompletelyOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "cc.key")
	k, err := newKey(path)
	if err != nil || k.key == 0 {
		t.Fatalf("a new key: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file exists before create")
	}
	if err := k.keep(t.Context()); err == nil {
		t.Error("keep accepts a missing file")
	}
	if err := k.create(); err != nil {
		t.Fatal(err)
	}
	if err := k.keep(t.Context()); err != nil {
		t.Error(err)
	}
	read, err := readKeyFiles([]string{path})
	if err != nil || len(read) != 1 || read[0].key != k.key {
		t.Errorf("read %d keys, want the created one: %v", len(read), err)
	}
	if err := k.create(); err == nil {
		t.Error("create overwrote an existing file")
	}
	if _, err := newKey(path); err == nil || !strings.Contains(err.Error(), "want a file that does not exist yet") {
		t.Errorf("newKey with an existing file: %v", err)
	}
	if other, err := newKey(filepath.Join(dir, "other")); err != nil || other.key == k.key {
		t.Errorf("newKey for another file: want a different key, error %v", err)
	}
	for what, spoil := range map[string]func() error{
		"others may read it":   func() error { return os.Chmod(path, 0o640) },
		"a different CC_Key":   func() error { return os.WriteFile(path, []byte("1234\n"), 0o600) },
		"want a regular file":  func() error { return os.Mkdir(path, 0o700) },
		"hexadecimal digits":   func() error { return os.WriteFile(path, []byte(fmt.Sprintf("%x0", uint64(k.key)|1<<63)), 0o600) },
		"is empty: want":       func() error { return os.WriteFile(path, nil, 0o600) },
		"no such file or dire": func() error { return nil },
	} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(what, "no such") {
			if err := os.WriteFile(path, []byte(fmt.Sprintf("%x\n", uint64(k.key))), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if what == "want a regular file" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		err := k.keep(t.Context())
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want %q, got %v", what, err)
		} else if strings.Contains(err.Error(), fmt.Sprintf("%x", uint64(k.key))) {
			t.Errorf("the error reveals the key: %v", err)
		}
	}
}

func TestInvalidKeysAreRejected(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "zero")
	if err := os.WriteFile(path, []byte("0x0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readKeyFiles([]string{path}); err == nil || !strings.Contains(err.Error(), "CC_Key 0 means no key") {
		t.Errorf("key 0: %v", err)
	}
}
