package grpclink

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// Meter counts the requests of connections, and the bytes of their messages in both directions as sent: without headers and encryption. It is safe
// for concurrent use; the zero value is ready.
type Meter struct{ requests, bytes atomic.Uint64 }

// Total returns the counts.
func (m *Meter) Total() (requests, bytes uint64) { return m.requests.Load(), m.bytes.Load() }

// counting counts into a Meter.
type counting struct{ *Meter }

var _ stats.Handler = counting{}

func (counting) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (counting) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (counting) HandleConn(context.Context, stats.ConnStats)                       {}

func (m counting) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s := s.(type) {
	case *stats.Begin:
		m.requests.Add(1)
	case *stats.OutPayload:
		m.bytes.Add(uint64(s.WireLength))
	case *stats.InPayload:
		m.bytes.Add(uint64(s.WireLength))
	}
}
