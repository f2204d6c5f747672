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

// Options are the options of a Server. Only Targets is required.
type Options struct {
	Targets Targets // required
	Limits  Limits
	// Authorize rejects a call by returning an error, preferably a status of codes.PermissionDenied. AllowSet returns such a
	// function. Nil allows all calls of peers that the transport accepts.
	Authorize func(ctx context.Context, c Call) error
	// Observe is called at the end of each call. It must return soon. May be nil.
	Observe func(c Call, took time.Duration, err error)
	// Reflection enables the gRPC server reflection service, for clients without gNMI's message definitions.
	Reflection bool
	Log        *slog.Logger // nil disables logging
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

// NewServer returns a server. It returns an error for invalid options.
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

// Register adds the gNMI service, and server reflection if enabled, to a gRPC server.
func (s *Server) Register(g *grpc.Server) {
	gnmi.RegisterGNMIServer(g, s)
	if s.reflects {
		reflection.Register(g)
	}
}

// ServerOptions returns gRPC server options for the limits: the size of messages, and the detection of peers that have
// disappeared.
func (s *Server) ServerOptions() []grpc.ServerOption { return serverOptions(s.limits) }
