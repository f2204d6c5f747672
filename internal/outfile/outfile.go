// Package outfile writes and copies files, completely or not at all.
package outfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
)

// Write writes a file completely or not at all, with the mode of os.Create. It replaces an existing file only once the
// new one is complete.
func Write(path string, write func(io.Writer) error) error { return WriteMode(path, 0o666, write) }

// WriteMode is Write for a file of another mode, before umask.
func WriteMode(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	if at, err := os.Stat(path); err == nil && at.IsDir() {
		return usage.Of(phrase.Of("file.write-directory", "file", path))
	}
	// Not os.CreateTemp, which ignores the umask. The name is unique among writers of the same file.
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:10])
	w, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return phrase.Because(err, phrase.Of("file.write", "file", path, "reason", err))
	}
	err = errors.Join(write(w), w.Close())
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(tmp))
		return phrase.Because(err, phrase.Of("file.write", "file", path, "reason", err))
	}
	return nil
}
