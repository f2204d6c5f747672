package gnmitree

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
)

// Version is the version of the gNMI service.
const Version = "0.10.0"

// Options of a Server. The zero value of each but Targets is sensible.
type Options struct {
	Targets Targets // required
	Limits  Limits
	// Authorize refuses calls with its error, best a status of codes.PermissionDenied. AllowSet makes one. Nil: all calls
	// of peers that the transport let in are allowed.
	Authorize func(ctx context.Context, c Call) error
	// Observe hears of each call that has ended. It must return soon. Nil: nobody.
	Observe func(c Call, took time.Duration, err error)
	// Reflection offers the gRPC server reflection service, for clients that do not know gNMI's messages.
	Reflection bool
	Log        *slog.Logger // nil: nothing is logged
}

// Server answers gNMI. It is safe for concurrent use.
type Server struct {
	gnmi.UnimplementedGNMIServer

	targets   Targets
	limits    Limits
	authorize func(context.Context, Call) error
	observe   func(Call, time.Duration, error)
	reflects  bool
	log       *slog.Logger
	masters   masters
	streams   streams
}

// NewServer makes a server. It fails on options that make none.
func NewServer(o Options) (*Server, error) {
	if o.Targets == nil {
		return nil, errors.New("a gNMI server needs targets")
	}
	limits, err := o.Limits.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{
		targets: o.Targets, limits: limits, authorize: o.Authorize, observe: o.Observe, reflects: o.Reflection,
		log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
	}
	s.streams.open = map[*stream]struct{}{}
	return s, nil
}

// Register adds the gNMI service, and server reflection if it is offered, to a gRPC server.
func (s *Server) Register(g *grpc.Server) {
	gnmi.RegisterGNMIServer(g, s)
	if s.reflects {
		reflection.Register(g)
	}
}

// ServerOptions are options of a gRPC server that keep the limits: the size of messages, and how a connection whose peer
// has vanished is noticed.
func (s *Server) ServerOptions() []grpc.ServerOption { return serverOptions(s.limits) }
