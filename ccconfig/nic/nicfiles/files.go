// Package nicfiles reads and writes the parameters of a RoCE NIC where a Linux host has them: files of the vendor's driver
// (sysfs), files of the kernel's mlx5 driver (debugfs), configfs, DCB netlink, and the non-volatile configuration by way of
// mstconfig. A set is a transaction over any number of parameters and ports: all is checked and read before anything is
// written, what was written is read back, and when one thing fails all of them get their earlier values.
//
// Everything that touches the host is behind the interfaces Files, Maker, Runner and Socket.
package nicfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Files is the host's file system as far as parameters need it. Names are relative to its root, with slashes.
type Files interface {
	// Read returns the contents of a small file; one above MaxFile bytes is an error.
	Read(name string) ([]byte, error)
	// Write gives an existing file new contents. It never makes a file.
	Write(name string, contents []byte) error
	// List returns the names in a directory, sorted.
	List(name string) ([]string, error)
}

// MaxFile bounds a file, in bytes: a page, as files of sysfs have.
const MaxFile = 4096

// maxList bounds a directory.
const maxList = 65536

// Root is the files below a directory of the host: "/" of a real one, or one made for a test. Symbolic links that lead out
// of it are not followed.
type Root struct{ root *os.Root }

// Open opens a directory as root. The caller closes it.
func Open(dir string) (*Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open root of parameter files: %w", err)
	}
	return &Root{r}, nil
}

// Close closes the root.
func (r *Root) Close() error { return r.root.Close() }

var _ Files = (*Root)(nil)

func (r *Root) Read(name string) ([]byte, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%s: found more than %d bytes, want at most that", name, MaxFile)
	}
	return b, nil
}

// Write implements Files. The contents go out in one write, since a file of sysfs takes each write as a value.
func (r *Root) Write(name string, contents []byte) error {
	f, err := r.root.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(contents)
	return errors.Join(err, f.Close())
}

func (r *Root) List(name string) ([]string, error) {
	f, err := r.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	names, err := f.Readdirnames(maxList + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxList {
		return nil, fmt.Errorf("%s: found more than %d names, want at most that", name, maxList)
	}
	slices.Sort(names)
	return names, nil
}

var _ Maker = (*Root)(nil)

func (r *Root) Make(name string) error {
	err := r.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Errors of parameters. Each is wrapped with the parameter and the file.
var (
	// ErrAbsent is that of a parameter which the device, its driver or its firmware does not have, such as any of a
	// virtual function. Trying again does not help.
	ErrAbsent = errors.New("not offered by the device")
	// ErrUnreadable is that of a parameter which is there and cannot be read. It has no value, least of all zero.
	ErrUnreadable = errors.New("cannot be read")
	// ErrRefused is that of a write which the driver or the firmware refused.
	ErrRefused = errors.New("refused by the device")
	// ErrNotKept is that of a write which was accepted, and yet something else was read back.
	ErrNotKept = errors.New("accepted and not kept")
	// ErrSkipped is that of a write that was not tried, since one before it failed.
	ErrSkipped = errors.New("not written")
	// ErrNotRestored is that of a set after which a device is neither as it was nor as wanted.
	ErrNotRestored = errors.New("not restored")
)

// fileError gives an error of a file its kind: ErrAbsent where there is none, otherwise the kind given.
func fileError(name string, kind, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		kind = ErrAbsent
	}
	return fmt.Errorf("%s: %w: %w", name, kind, err)
}
