package gnmitree

import (
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// bounded is a listener that disconnects clients above a limit. Each connection uses a file descriptor even before its client
// is authenticated, and an agent without free descriptors cannot read its devices.
type bounded struct {
	net.Listener
	most int64
	log  *slog.Logger

	open   atomic.Int64
	warned time.Time // used in Accept, which one goroutine calls
}

var _ net.Listener = (*bounded)(nil)

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			return &counted{Conn: c, closed: sync.OnceFunc(func() { b.open.Add(-1) })}, nil
		}
		b.open.Add(-1)
		if now := time.Now(); b.warned.IsZero() || now.Sub(b.warned) >= time.Second {
			b.warned = now
			b.log.Warn("closed a connection: too many connections are open", "peer", c.RemoteAddr().String(), "most", b.most)
		}
		_ = c.Close() // nothing has been sent
	}
}

// counted is a connection that counts against the limit until it is closed.
type counted struct {
	net.Conn
	closed func()
}

var _ net.Conn = (*counted)(nil)

func (c *counted) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
