package opensm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fairlane/internal/durable"
	"fairlane/subnet/opensm/osmfile"
)

// ErrChanged is wrapped when a file has changed since it was read.
var ErrChanged = errors.New("changed by another program meanwhile")

// Files gives access to OpenSM's files. A missing file reads as "".
type Files interface {
	// Read returns a file of at most osmfile.MaxSize bytes.
	Read(path string) (osmfile.Text, error)
	// Replace atomically replaces the text before by next, and keeps a copy of before next to the file. It fails with
	// ErrChanged when the file's text is not before. When next is not present, it removes the file.
	Replace(before, next osmfile.Text) error
	// Lock excludes all others that lock the path until unlock is called, including other processes and other managers.
	// It waits for them until ctx ends.
	Lock(ctx context.Context, path string) (unlock func(), err error)
}

// Suffixes of files in the directory of a file: a copy from before the last write, and an empty lock file. The lock file stays:
// removing it would let two writers in.
const (
	backupSuffix = ".fairlane-previous"
	lockSuffix   = ".fairlane-lock"
)

// Disk accesses the files of this host. A path may be a symbolic link; its target is replaced. Owner and mode stay.
type Disk struct{}

var _ Files = (*Disk)(nil)

func (Disk) Read(path string) (osmfile.Text, error) {
	t := osmfile.Text{Path: path}
	f, err := os.Open(path) // the operator names OpenSM's files
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return t, err
	}
	if !info.Mode().IsRegular() {
		return t, fmt.Errorf("%s is a %s: want a file", path, info.Mode().Type())
	}
	data, err := io.ReadAll(io.LimitReader(f, osmfile.MaxSize+1))
	if err != nil {
		return t, err
	}
	if len(data) > osmfile.MaxSize {
		return t, fmt.Errorf("%s has more than %d bytes", path, osmfile.MaxSize)
	}
	t.Present, t.Data = true, string(data)
	return t, nil
}

// Replace writes a temporary file, syncs it, checks the old file against before, and renames over it. A copy of the old
// file is kept.
func (d Disk) Replace(before, next osmfile.Text) error {
	path := before.Path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	now, err := d.Read(path)
	if err != nil {
		return err
	}
	if now.Present != before.Present || now.Data != before.Data {
		return fmt.Errorf("%s: %w", before.Path, ErrChanged)
	}
	if before.Present {
		if err := place(path+backupSuffix, path, before.Data); err != nil {
			return fmt.Errorf("keep the previous %s: %w", before.Path, err)
		}
	}
	if next.Present {
		return place(path, path, next.Data)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.SyncDir(filepath.Dir(path))
}

// lockPoll is the interval of attempts to lock.
const lockPoll = 50 * time.Millisecond

// Lock uses flock(2) on a file in the directory of path; the system releases it when the process ends. In a directory where no file
// can be created, none can be replaced either, and nothing is locked.
func (Disk) Lock(ctx context.Context, path string) (unlock func(), err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.OpenFile(path+lockSuffix, os.O_RDONLY|os.O_CREATE|syscall.O_NOFOLLOW, newMode) // in a directory that the operator names
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EROFS):
		return func() {}, nil
	case err != nil:
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil // which releases the lock
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		case !pause(ctx, lockPoll):
			return nil, errors.Join(fmt.Errorf("%s is being written by another: %w", path, context.Cause(ctx)), f.Close())
		}
	}
}

// newMode is the mode of a new file: OpenSM may run as another user.
const newMode = 0o644

// place writes a file atomically, with the owner and mode of the file like.
func place(path, like, data string) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(data)
	if err == nil {
		err = own(f, like)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}

// own sets the file's mode and owner to those of another.
func own(f *os.File, like string) error {
	info, err := os.Stat(like)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Chmod(newMode)
	}
	if err != nil {
		return err
	}
	if err := f.Chmod(info.Mode().Perm()); err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	return f.Chown(int(st.Uid), int(st.Gid))
}
