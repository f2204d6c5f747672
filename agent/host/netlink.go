package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fairlane/ccconfig/nic/dcbnl"
)

// Netlink is route netlink in the host's network namespace: the socket of the DCB back end (nicfiles.Socket). Each
// exchange has its own socket, so a late message of one never reaches another.
type Netlink struct {
	// Timeout bounds an exchange whose context has no earlier end.
	Timeout time.Duration
	open    func() (datagrams, error) // replaces the kernel's socket
}

// NewNetlink returns route netlink with a time limit for each exchange.
func NewNetlink(timeout time.Duration) *Netlink { return &Netlink{timeout, openRoute} }

// datagrams is a socket to the kernel.
type datagrams interface {
	Send(b []byte) error
	// Receive returns one datagram of the kernel.
	Receive(b []byte) (n int, err error)
	SetDeadline(t time.Time) error
	Close() error
}

const (
	headerBytes = 16
	maxReplies  = 64 // datagrams read for one request
	maxTries    = 3  // for a request that changes nothing
)

// Exchange implements nicfiles.Socket. A query whose answer was lost for lack of memory is repeated. For a change
// this is an error, because the change may have been made; the caller then reads the state.
func (n *Netlink) Exchange(ctx context.Context, request []byte) ([]byte, error) {
	if len(request) < headerBytes || len(request) > dcbnl.MaxMessage {
		return nil, fmt.Errorf("netlink: found a request of %d bytes, want %d..%d", len(request), headerBytes, dcbnl.MaxMessage)
	}
	question := binary.NativeEndian.Uint16(request[4:]) == dcbnl.TypeGet
	for try := 1; ; try++ {
		out, err := n.exchange(ctx, request)
		if errors.Is(err, unix.ENOBUFS) && question && try < maxTries {
			continue
		}
		return out, err
	}
}

func (n *Netlink) exchange(ctx context.Context, request []byte) (out []byte, err error) {
	sequence := binary.NativeEndian.Uint32(request[8:])
	last, err := line{"netlink", n.Timeout, n.open}.talk(ctx, request, make([]byte, dcbnl.MaxMessage), maxReplies, func(b []byte) (bool, error) {
		if len(out)+len(b) > dcbnl.MaxMessage {
			return false, fmt.Errorf("netlink: found answers of more than %d bytes, the maximum", dcbnl.MaxMessage)
		}
		out = append(out, b...)
		return ended(b, sequence), nil
	})
	switch {
	case err != nil:
		return nil, err
	case !last:
		return nil, fmt.Errorf("netlink: %d answers came without an acknowledgement, want one", maxReplies)
	}
	return out, nil
}

// line is a netlink protocol, with a socket for each exchange.
type line struct {
	name    string // in errors
	timeout time.Duration
	open    func() (datagrams, error)
}

// talk sends a request and passes the answer to hear, datagram by datagram in one buffer, until hear reports the last one
// or fails. last is false when none of most datagrams was it.
func (l line) talk(ctx context.Context, request, buffer []byte, most int, hear func([]byte) (last bool, err error)) (last bool, err error) {
	s, err := l.open()
	if err != nil {
		return false, fmt.Errorf("%s: open socket: %w", l.name, err)
	}
	defer func() { _ = s.Close() }() // nothing is left to send
	end := time.Now().Add(l.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	if err := s.SetDeadline(end); err != nil {
		return false, fmt.Errorf("%s: %w", l.name, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) }) // wakes the reader; the socket is closed soon
	defer stop()
	if err := s.Send(request); err != nil {
		return false, fmt.Errorf("%s: send: %w", l.name, err)
	}
	for range most {
		n, err := s.Receive(buffer)
		switch {
		case ctx.Err() != nil:
			return false, fmt.Errorf("%s: %w", l.name, ctx.Err())
		case errors.Is(err, os.ErrDeadlineExceeded):
			return false, fmt.Errorf("%s: no answer of the kernel within %s: %w", l.name, l.timeout, err)
		case err != nil:
			return false, fmt.Errorf("%s: receive: %w", l.name, err)
		}
		if last, err := hear(buffer[:n]); last || err != nil {
			return last, err
		}
	}
	return false, nil
}

// ended reports whether a datagram holds the kernel's acknowledgement or refusal of a request.
func ended(b []byte, sequence uint32) bool {
	for len(b) >= headerBytes {
		size := int(binary.NativeEndian.Uint32(b))
		if size < headerBytes || size > len(b) {
			return true // the decoder reports the fault
		}
		if binary.NativeEndian.Uint16(b[4:]) == dcbnl.TypeError && binary.NativeEndian.Uint32(b[8:]) == sequence {
			return true
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return false
}

// socket is a netlink socket that the runtime polls, so that deadlines and Close end a wait.
type socket struct {
	file *os.File
	raw  syscall.RawConn
}

func openRoute() (datagrams, error) { return openSocket(unix.NETLINK_ROUTE, 0) }

// openSocket opens a socket of a protocol that receives the given groups, one bit each.
func openSocket(protocol int, groups uint32) (*socket, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	f := os.NewFile(uintptr(fd), "netlink")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &socket{f, raw}, nil
}

var _ datagrams = (*socket)(nil)

func (s *socket) Send(b []byte) error {
	var sent error
	err := s.raw.Write(func(fd uintptr) bool {
		for {
			sent = unix.Sendto(int(fd), b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
			if !errors.Is(sent, unix.EINTR) {
				return !errors.Is(sent, unix.EAGAIN)
			}
		}
	})
	return errors.Join(err, sent)
}

// Receive implements datagrams. It skips messages that are not from the kernel.
func (s *socket) Receive(b []byte) (int, error) {
	var n, flags int
	var from unix.Sockaddr
	for {
		var got error
		err := s.raw.Read(func(fd uintptr) bool {
			for {
				n, _, flags, from, got = unix.Recvmsg(int(fd), b, nil, 0)
				if !errors.Is(got, unix.EINTR) {
					return !errors.Is(got, unix.EAGAIN)
				}
			}
		})
		if err != nil || got != nil {
			return 0, errors.Join(err, got)
		}
		if sender, ok := from.(*unix.SockaddrNetlink); !ok || sender.Pid != 0 {
			continue
		}
		if flags&unix.MSG_TRUNC != 0 {
			return 0, fmt.Errorf("found a message of more than %d bytes, the maximum", len(b))
		}
		return n, nil
	}
}

func (s *socket) SetDeadline(t time.Time) error { return s.file.SetDeadline(t) }

func (s *socket) Close() error { return s.file.Close() }
