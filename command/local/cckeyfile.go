package local

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/site"
	"fairlane/subnet/mad"
)

// keyFile is a CC_Key with its file.
type keyFile struct {
	path string
	key  mad.Key
}

// readKeyFiles reads keys; key 0 means no key.
func readKeyFiles(paths []string) ([]keyFile, error) {
	var out []keyFile
	for _, path := range paths {
		key, err := site.CCKey(path)
		if err != nil {
			return nil, err
		}
		if key == 0 {
			return nil, usage.Of(phrase.Of("cckey.zero", "file", path))
		}
		out = append(out, keyFile{path, key})
	}
	return out, nil
}

// keysOf returns the keys without their files.
func keysOf(files []keyFile) []mad.Key {
	out := make([]mad.Key, len(files))
	for i := range files {
		out[i] = files[i].key
	}
	return out
}

// newKey returns a random key other than 0, for a file that does not exist yet: see create.
func newKey(path string) (keyFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return keyFile{}, usage.Of(phrase.Of("cckey.exists", "file", path))
	}
	var b [8]byte
	for binary.BigEndian.Uint64(b[:]) == 0 {
		if _, err := rand.Read(b[:]); err != nil {
			return keyFile{}, err
		}
	}
	return keyFile{path, mad.Key(binary.BigEndian.Uint64(b[:]))}, nil
}

// create writes the key to a new file that only the current user can read.
func (k keyFile) create() (err error) {
	f, err := os.OpenFile(k.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = fmt.Fprintf(f, "%016x\n", uint64(k.key))
	return err
}

// keep verifies that the file contains the key and that only the current user can read it, and that file and name
// survive a loss of power.
func (k keyFile) keep(context.Context) error {
	st, err := os.Stat(k.path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return &phrase.Error{Text: phrase.Of("file.want-regular", "file", k.path)}
	}
	if mode := st.Mode().Perm(); mode&0o077 != 0 {
		return &phrase.Error{Text: phrase.Of("cckey.mode", "file", k.path, "mode", fmt.Sprintf("%#o", mode))}
	}
	for _, path := range []string{k.path, filepath.Dir(k.path)} {
		if err := syncPath(path); err != nil {
			return err
		}
	}
	again, err := site.CCKey(k.path)
	if err != nil {
		return err
	}
	if again != k.key {
		return &phrase.Error{Text: phrase.Of("cckey.changed", "file", k.path)}
	}
	return nil
}

// syncPath flushes a file or a directory to disk.
func syncPath(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}
