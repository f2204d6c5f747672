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

// streams are the open subscriptions of a server, which end with it.
type streams struct {
	mu      sync.Mutex
	open    map[*stream]struct{}
	closing bool
	work    sync.WaitGroup // goroutines of streams
}

// errClosing is what streams end with when the server does.
var errClosing = status.Error(codes.Unavailable, "the target is shutting down")

// add counts a stream, whose work ends with s.work.Done.
func (s *streams) add(st *stream, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return errClosing
	case len(s.open) >= limit:
		return errorf(codes.ResourceExhausted, "%d subscriptions are open, which is as many as there may be", len(s.open))
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

// Streams is the number of open subscriptions.
func (s *Server) Streams() int {
	s.streams.mu.Lock()
	defer s.streams.mu.Unlock()
	return len(s.streams.open)
}

// Close ends all subscriptions, with Unavailable, and refuses new ones. Other requests are answered as before. It returns
// once no goroutine of a subscription runs, which needs the gRPC server to go on running or to be stopped.
func (s *Server) Close() {
	s.streams.mu.Lock()
	s.streams.closing = true
	for st := range s.streams.open {
		st.end(errClosing)
	}
	s.streams.mu.Unlock()
	s.streams.work.Wait()
}

// graceful is how long requests that are being worked on may take when a server ends.
const graceful = 5 * time.Second

// Serve answers on l with a gRPC server of its own until ctx ends, which is no error: subscriptions end then, and other
// requests are finished if that takes less than 5 s.
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
	if stop() { // ctx has not ended: serving failed
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
	// Sending may block for as long as the client does not read. Only the return of this method ends that, so the work is
	// done elsewhere.
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
