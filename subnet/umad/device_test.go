package umad

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// filePair returns a file that the runtime polls like the device's file, and its other end.
func filePair(t *testing.T) (Device, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	kernel := os.NewFile(uintptr(fds[1]), "kernel")
	t.Cleanup(func() { _ = kernel.Close() })
	d, err := newFile(os.NewFile(uintptr(fds[0]), "umad"))
	if err != nil {
		t.Fatal(err)
	}
	return d, kernel
}

// Over a file descriptor, messages keep their boundaries, a read waits by polling, and Close ends the read.
func TestAFileDescriptorIsPolledAndClosed(t *testing.T) {
	t.Parallel()
	d, kernel := filePair(t)
	o, err := madlink.Options{Timeout: time.Hour}.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{dev: d, host: binary.NativeEndian}
	c := &Client{dev: d, host: binary.NativeEndian, maxTable: DefaultMaxTable, link: madlink.New(o, headerSize, w)}
	w.closed = c.link.ClosedErr
	c.reader.Go(c.read)
	var wg sync.WaitGroup
	wg.Go(func() {
		b := make([]byte, messageSize+1)
		for range 2 {
			n, err := kernel.Read(b)
			if err != nil || n != messageSize {
				t.Errorf("%d bytes were written, error %v: want %d", n, err, messageSize)
				return
			}
			(*mad.Packet)(b[headerSize:messageSize]).Respond(mad.StatusOK)
			if _, err := kernel.Write(b[:n]); err != nil {
				t.Error(err)
			}
		}
	})
	for range 2 {
		req := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 3)
		if resp, err := c.Exchange(t.Context(), mad.Target{LID: 2}, &req); err != nil || resp.Modifier() != 3 {
			t.Errorf("got %s, error %v", &resp, err)
		}
	}
	wg.Wait()
	if err := c.Close(); err != nil { // waits for the reader, which waits for a message
		t.Error(err)
	}
	if _, err := kernel.Read(make([]byte, 1)); err == nil || errors.Is(err, unix.EAGAIN) {
		t.Errorf("the other end reads with error %v: want the end of the file", err)
	}
}

func TestIoctlReachesTheKernel(t *testing.T) {
	t.Parallel()
	d, _ := filePair(t)
	if err := d.Ioctl(ioctlRegister2, make([]byte, registration2Size)); !errors.Is(err, syscall.ENOTTY) {
		t.Errorf("registering at a socket: error %v: want ENOTTY", err)
	}
	if _, err := register(d, binary.NativeEndian, false); !errors.Is(err, syscall.ENOTTY) {
		t.Errorf("registering at a socket: error %v: want ENOTTY of the older form", err)
	}
	// FIONREAD writes its argument: the kernel returns its value in place.
	arg := []byte{0xff, 0xff, 0xff, 0xff}
	if err := d.Ioctl(unix.TIOCINQ, arg); err != nil || arg[0] != 0 || arg[3] != 0 {
		t.Errorf("bytes to read %x, error %v: want none", arg, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Ioctl(ioctlEnablePKey, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: error %v", err)
	}
}
