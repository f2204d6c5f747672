package simdev

import (
	"errors"
	"sync"
	"syscall"
	"time"
)

// syscallConn is the part of a socket that batched I/O needs.
type syscallConn interface {
	SyscallConn() (syscall.RawConn, error)
}

// batchSize is the largest number of datagrams of one read.
const batchSize = 32

// sendTimeout is the longest time that the sender waits for a client with a full receive queue. After that it drops the
// datagram.
const sendTimeout = time.Second

// batch is the reader of one slot's socket. It reads all waiting datagrams, up to batchSize, at once, and reuses its buffers,
// so the steady state does not allocate.
type batch struct {
	conn rawConn
	raw  syscall.RawConn
	n    int // number of datagrams in the buffers
	size [batchSize]int
	err  error
	fill func(fd uintptr) bool

	// One byte more than a datagram, to detect a datagram that is too long.
	buf [batchSize][datagramSize + 1]byte
}

func newBatch(conn rawConn) (*batch, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &batch{conn: conn, raw: raw}
	b.fill = b.readAll
	return b, nil
}

// read waits for at least one datagram.
func (b *batch) read() error {
	b.n, b.err = 0, nil
	if err := b.raw.Read(b.fill); err != nil {
		return err
	}
	if b.n == 0 {
		return b.err
	}
	return nil
}

func (b *batch) readAll(fd uintptr) bool {
	for b.n < batchSize {
		n, err := syscall.Read(int(fd), b.buf[b.n][:])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return b.n > 0
		case err != nil:
			b.err = err
			return true
		}
		b.size[b.n] = n
		b.n++
	}
	return true
}

// sender writes datagrams to one client. It is safe for concurrent use.
type sender struct {
	conn rawConn
	raw  syscall.RawConn

	mu          sync.Mutex
	p           []byte
	err         error
	attempt     func(fd uintptr)
	writeOrWait func(fd uintptr) bool
}

func newSender(conn rawConn, raw syscall.RawConn) *sender {
	s := &sender{conn: conn, raw: raw}
	s.attempt = s.write
	s.writeOrWait = func(fd uintptr) bool {
		s.write(fd)
		return !errors.Is(s.err, syscall.EAGAIN)
	}
	return s
}

func (s *sender) write(fd uintptr) {
	for {
		if _, s.err = syscall.Write(int(fd), s.p); !errors.Is(s.err, syscall.EINTR) {
			return
		}
	}
}

// send writes one datagram. It waits while the client's queue is full, at most sendTimeout; for a client that has ended it
// returns ECONNREFUSED.
func (s *sender) send(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.p = p
	defer func() { s.p = nil }()
	if err := s.raw.Control(s.attempt); err != nil {
		return err
	}
	if !errors.Is(s.err, syscall.EAGAIN) {
		return s.err
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	if err := s.raw.Write(s.writeOrWait); err != nil {
		return err
	}
	return s.err
}
