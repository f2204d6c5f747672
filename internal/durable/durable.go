// Package durable replaces files so that a crash of the host at any time leaves the earlier or the new contents.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// remains begins the names of files that are being written. No other program's files begin so.
const remains = ".fairlane-new-"

// WriteFile replaces a file by one with a mode, whatever the umask. Readers see the earlier file or the whole new one.
func WriteFile(path string, contents []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, remains+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(contents)
	if err = errors.Join(err, f.Chmod(mode)); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(dir)
}

// SyncDir makes the entries of a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// RemoveRemains removes what killed writers left in a directory, from an age on: younger files may be written now. A missing
// directory has none.
func RemoveRemains(dir string, age time.Duration) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), remains) || time.Since(info.ModTime()) < age {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
