package ibsim_test

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"fairlane/subnet/ibsim"
	"fairlane/subnet/mad"
)

// connect connects the slot's socket to the client: reads and writes then need no address, and only the client
// allocates.
func connect(c *net.UnixConn, to *net.UnixAddr) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) {
		inner = syscall.Connect(int(fd), &syscall.SockaddrUnix{Name: strings.TrimRight(to.Name, "\x00") + "\x00"})
	})
	return errors.Join(err, inner)
}

// serveWithoutAllocating is serve with an echo that does not allocate after the first datagram.
func serveWithoutAllocating(t testing.TB) *server {
	t.Helper()
	s := serve(t, echoAll)
	s.set(func() { s.withoutAllocating = true })
	return s
}

func (s *server) echoWithoutAllocating(buf []byte) {
	for {
		n, err := s.slot.Read(buf)
		if err != nil {
			return
		}
		p := (*mad.Packet)(buf[32:])
		p.Respond(mad.StatusOK)
		if _, err := s.slot.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestExchangeDoesNotAllocate(t *testing.T) {
	c := dial(t, serveWithoutAllocating(t), ibsim.Options{})
	req := counter(1)
	ctx := t.Context()
	n := testing.AllocsPerRun(500, func() {
		if _, err := c.Exchange(ctx, mad.Target{LID: 9}, &req); err != nil {
			t.Fatal(err)
		}
	})
	if n >= 1 {
		t.Errorf("%v allocations an exchange: want none", n)
	}
}

func BenchmarkExchange(b *testing.B) {
	c := dial(b, serveWithoutAllocating(b), ibsim.Options{})
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for n := uint32(0); pb.Next(); n++ {
			if err := get(b, c, n); err != nil {
				b.Error(err)
			}
		}
	})
}
