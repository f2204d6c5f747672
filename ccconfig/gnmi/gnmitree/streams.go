package gnmitree

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// streams are the open subscriptions of a server, which the server ends when it closes.
type streams struct {
	mu      sync.Mutex
	open    map[*stream]struct{}
	closing bool
	work    sync.WaitGroup // goroutines of streams
}

// errClosing is the error of streams when the server closes.
var errClosing = status.Error(codes.Unavailable, "the target is shutting down")

// add registers a stream; s.work.Done must be called when its work has ended.
func (s *streams) add(st *stream, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return errClosing
	case len(s.open) >= limit:
		return errorf(codes.ResourceExhausted, "%d subscriptions are open, want at most %d", len(s.open), limit)
	}
	s.open[st] = struct{}{}
	s.work.Add(1)
	return nil
}

func (s *streams) remove(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, st)
}

// Streams returns the number of open subscriptions.
func (s *Server) Streams() int {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return len(s.streams.open)
}

// Close ends all subscriptions with Unavailable, rejects new ones, and waits for their goroutines. Other requests are still
// answered. The gRPC server must continue to run meanwhile, or be stopped; otherwise Close blocks.
func (s *Server) Close() {
	s.streams.mu.Lock()
	s.streams.closing = true
	for st := range s.streams.open {
		st.end(errClosing)
	}
	s.streams.mu.Unlock()
	s.streams.work.Wait()
}

// graceful is the longest time for current requests when a server ends.
const graceful = 5 * time.Second

// Serve answers on l with its own gRPC server until ctx ends, and then returns nil. Subscriptions then end, and other requests
// may take up to 5 s.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ...grpc.ServerOption) error {
	g := grpc.NewServer(append(s.ServerOptions(), o...)...)
	s.Register(g)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		late := time.AfterFunc(graceful, g.Stop)
		defer late.Stop()
		s.Close()
		g.GracefulStop()
	})
	err := g.Serve(&bounded{Listener: l, most: int64(s.limits.Connections), log: s.log})
	if stop() { // serving failed before the end of ctx
		g.Stop()
		s.Close()
		return fmt.Errorf("serve gNMI on %s: %w", l.Addr(), err)
	}
	<-stopped
	if errors.Is(err, grpc.ErrServerStopped) {
		err = nil
	}
	return err
}

func (s *Server) Subscribe(g gnmi.GNMI_SubscribeServer) error {
	ctx, cancel := context.WithCancelCause(g.Context())
	defer cancel(nil)
	st := &stream{server: s, wire: g, ctx: ctx, end: cancel, wake: make(chan struct{}, 1)}
	if err := s.streams.add(st, s.limits.Streams); err != nil {
		return err
	}
	defer s.streams.remove(st)
	// Sending may block as long as the client does not read. Only the return of this method ends it, so another goroutine does
	// the work.
	done := make(chan error, 1)
	go func() {
		defer s.streams.work.Done()
		done <- st.run()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return coded(context.Cause(ctx))
	}
}
