// Package nicfiles reads and writes the parameters of a RoCE NIC on a Linux host: files of the vendor's driver (sysfs), files
// of the kernel's mlx5 driver (debugfs), configfs, DCB netlink, and the non-volatile configuration through mstconfig. A set is
// a transaction over any number of parameters and ports: everything is checked and read before the first write, all written
// values are verified by read-back, and after a failure all parameters get their earlier values.
//
// All access to the host goes through the interfaces Files, Maker, Runner and Socket.
package nicfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Files is the part of the host's file system that contains parameters. Names are relative to its root, with slashes.
type Files interface {
	// Read returns the contents of a small file; one above MaxFile bytes is an error.
	Read(name string) ([]byte, error)
	// Write replaces the contents of an existing file. It never creates a file.
	Write(name string, contents []byte) error
	// List returns the names in a directory, sorted.
	List(name string) ([]string, error)
}

// MaxFile is the largest file, in bytes: one page, as for files of sysfs.
const MaxFile = 4096

// maxList is the largest number of names in a directory.
const maxList = 65536

// Root gives access to the files below a directory: "/" on a real host, or a test directory. It does not follow symbolic links
// that lead out of it.
type Root struct{ root *os.Root }

// Open opens a directory as root. The caller must close it.
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
	defer func() { _ = f.Close() }() // read-only
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxFile {
		return nil, fmt.Errorf("%s: found more than %d bytes, the maximum", name, MaxFile)
	}
	return b, nil
}

// Write implements Files. It uses a single write call, because a file of sysfs interprets each write as a value.
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
	defer func() { _ = f.Close() }() // read-only
	names, err := f.Readdirnames(maxList + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxList {
		return nil, fmt.Errorf("%s: found more than %d names, the maximum", name, maxList)
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
	// ErrAbsent reports a parameter that the device, its driver or its firmware does not have, such as any parameter of a
	// virtual function. Retrying does not help.
	ErrAbsent = errors.New("not offered by the device")
	// ErrUnreadable reports a parameter that exists but cannot be read. It has no value, in particular not zero.
	ErrUnreadable = errors.New("cannot be read")
	// ErrRefused reports a write that the driver or the firmware rejected.
	ErrRefused = errors.New("refused by the device")
	// ErrNotKept reports a write that was accepted, but a different value was read back.
	ErrNotKept = errors.New("accepted and not kept")
	// ErrSkipped reports a write that was not attempted, because an earlier one failed.
	ErrSkipped = errors.New("not written")
	// ErrNotRestored reports a set after which a device has neither its earlier nor the desired state.
	ErrNotRestored = errors.New("not restored")
)

// fileError adds a kind to the error of a file: ErrAbsent if the file does not exist, otherwise the given kind.
func fileError(name string, kind, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		kind = ErrAbsent
	}
	return fmt.Errorf("%s: %w: %w", name, kind, err)
}
