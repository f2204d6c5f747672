package umad

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Device is an open umad file, the interface to the system calls. Read blocks until a message arrives and Close ends it;
// a Read that fails for lack of room (ENOSPC) has filled its buffer. Errors wrap the errno.
type Device interface {
	io.ReadWriteCloser
	// Ioctl makes a request whose argument is read and written in place; nil for none.
	Ioctl(request uint32, arg []byte) error
}

// file is a Device of the kernel.
type file struct {
	*os.File
	raw syscall.RawConn
}

// openFile opens a device file without blocking, so that the runtime waits for messages by
// polling, and Close can end a Read.
func openFile(path string) (Device, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return newFile(f)
}

func newFile(f *os.File) (Device, error) {
	raw, err := f.SyscallConn()
	if err == nil {
		err = f.SetReadDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be waited for: %w: want a character device of ib_umad", f.Name(), err), f.Close())
	}
	return &file{File: f, raw: raw}, nil
}

var _ Device = (*file)(nil)

func (f *file) Ioctl(request uint32, arg []byte) error {
	var no unix.Errno
	err := f.raw.Control(func(fd uintptr) {
		if arg == nil {
			_, _, no = unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), 0)
		} else {
			_, _, no = unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(arg))))
		}
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", os.ErrClosed, err)
	case no != 0:
		return os.NewSyscallError("ioctl", no)
	}
	return nil
}
