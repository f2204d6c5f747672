package gnmitree

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"fairlane/internal/servertls"
)

// Credentials returns a gRPC server's credentials for a TLS configuration from servertls.Source. They log a rejected client
// with the reason, the validity of its certificate and the server's time, because the client receives few details. At most one
// rejection per second is logged, with the number of suppressed ones.
func Credentials(c *tls.Config, log *slog.Logger) credentials.TransportCredentials {
	return &explained{credentials.NewTLS(c), &refusals{log: log}}
}

type explained struct {
	credentials.TransportCredentials
	refusals *refusals
}

var _ credentials.TransportCredentials = (*explained)(nil)

func (e *explained) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := e.TransportCredentials.ServerHandshake(c)
	if err != nil {
		e.refusals.note(c.RemoteAddr().String(), err, time.Now())
	}
	return conn, info, err
}

func (e *explained) Clone() credentials.TransportCredentials {
	return &explained{e.TransportCredentials.Clone(), e.refusals}
}

// refusals logs rejections at a limited rate.
type refusals struct {
	log *slog.Logger

	mu      sync.Mutex
	last    time.Time
	skipped int
}

func (r *refusals) note(peer string, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.last.IsZero() && now.Sub(r.last) < time.Second {
		r.skipped++
		return
	}
	text, attrs := servertls.Refusal(err, now)
	attrs = append(attrs, slog.String("peer", peer), slog.Int("more_refused", r.skipped))
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "a client was refused: "+text, attrs...)
	r.last, r.skipped = now, 0
}
