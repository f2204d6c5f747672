package opensm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/subnet/opensm/osmfile"
)

func TestFileIsReplacedAtomicallyAndThePreviousIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.conf"), filepath.Join(dir, "partitions.conf")
	if err := os.WriteFile(real, []byte("old\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	before, err := Disk{}.Read(link)
	if err != nil || before != (osmfile.Text{Path: link, Present: true, Data: "old\n"}) {
		t.Fatalf("%+v, %v", before, err)
	}
	next := before
	next.Data = "new\n"
	if err := (Disk{}).Replace(before, next); err != nil {
		t.Fatal(err)
	}
	if got, err := (Disk{}).Read(link); err != nil || got != next {
		t.Errorf("%+v, %v", got, err)
	}
	info, err := os.Lstat(real)
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is missing: %v, %v", info, err)
	}
	if kept, err := os.ReadFile(real + backupSuffix); err != nil || string(kept) != "old\n" {
		t.Errorf("kept %q, %v", kept, err)
	}
	if err := (Disk{}).Replace(before, next); !errors.Is(err, ErrChanged) {
		t.Errorf("a file that changed after the read: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Errorf("files left over: %v, %v", entries, err)
	}
}

func TestMissingFileIsCreatedAndRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x")
	none, err := Disk{}.Read(path)
	if err != nil || none.Present {
		t.Fatalf("%+v, %v", none, err)
	}
	made := osmfile.Text{Path: path, Present: true, Data: "a"}
	if err := (Disk{}).Replace(none, made); err != nil {
		t.Fatal(err)
	}
	if err := (Disk{}).Replace(none, made); !errors.Is(err, ErrChanged) {
		t.Errorf("the file exists already: %v", err)
	}
	if err := (Disk{}).Replace(made, none); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file still exists: %v", err)
	}
}

func TestReadRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := (Disk{}).Read(dir); err == nil || !strings.Contains(err.Error(), "want a file") {
		t.Errorf("a folder: %v", err)
	}
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, osmfile.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := (Disk{}).Read(big); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("a large file: %v", err)
	}
	lost := filepath.Join(dir, "no", "x")
	if err := (Disk{}).Replace(osmfile.Text{Path: lost}, osmfile.Text{Path: lost, Present: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func TestLockIsExclusive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "partitions.conf")
	link := path + ".link"
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	unlock, err := Disk{}.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Disk{}).Lock(over, link); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "written by another") {
		t.Errorf("a second one by another name: %v", err)
	}
	unlock()
	if unlock, err = (Disk{}).Lock(over, link); err != nil {
		t.Fatalf("after it was let go: %v", err)
	}
	unlock()
	if unlock, err = (Disk{}).Lock(t.Context(), filepath.Join(t.TempDir(), "no", "folder")); err != nil {
		t.Fatalf("in a read-only folder: %v", err)
	}
	unlock()
}
