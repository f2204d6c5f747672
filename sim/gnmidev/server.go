package gnmidev

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

// Options are common to the devices of a server. The zero value is valid.
type Options struct {
	// Clock returns the devices' time. With a fabric in scaled time, use the fabric's clock, so that rates are correct. Nil
	// selects time.Now.
	Clock func() time.Time
	Log   *slog.Logger // logs rejected clients; nil disables logging
	// Authorize is as in gnmitree.Options.
	Authorize func(ctx context.Context, c gnmitree.Call) error
}

// Server answers gNMI for many simulated devices. It is safe for concurrent use.
type Server struct {
	o     Options
	gnmi  *gnmitree.Server
	clock func() time.Time

	mu       sync.RWMutex
	trees    map[string]opener
	hosts    []*Host
	shared   map[nicparam.Caps]*layout
	rules    map[string]rule // model of switches' configurations
	only     string          // name of the only device, which clients may omit; empty with several devices
	dialects map[Dialect]bool
	agents   bool
}

// opener is a device in the server's list. It may create its tree on the first request.
type opener interface {
	open() (gnmitree.Tree, error)
}

// NewServer returns a server without devices.
func NewServer(o Options) (*Server, error) {
	s := &Server{o: o, clock: o.Clock, trees: map[string]opener{}, shared: map[nicparam.Caps]*layout{}, rules: newRules(), dialects: map[Dialect]bool{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	var err error
	s.gnmi, err = gnmitree.NewServer(gnmitree.Options{Targets: s, Reflection: true, Log: o.Log, Authorize: o.Authorize})
	if err != nil {
		return nil, fmt.Errorf("simulated gNMI devices: %w", err)
	}
	return s, nil
}

// Target implements gnmitree.Targets. A server with one device also accepts an empty name for it.
func (s *Server) Target(name string) (gnmitree.Tree, error) {
	s.mu.RLock()
	if name == "" {
		name = s.only
	}
	d := s.trees[name]
	if d == nil && s.only != "" {
		d = s.trees[s.only+databaseMark+name] // a database of the only switch, as in prefix.target of a real switch
	}
	n := len(s.trees)
	s.mu.RUnlock()
	if d == nil {
		return nil, gnmitree.Errorf(codes.NotFound, "no target %q among the %d targets of this server", name, n)
	}
	return d.open()
}

var _ gnmitree.Targets = (*Server)(nil)

func (s *Server) Models() []gnmitree.Model {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []gnmitree.Model
	if s.agents {
		out = append(out, nicyang.Model())
	}
	for _, d := range []Dialect{SONiC, OpenConfig} {
		if s.dialects[d] {
			out = append(out, modelsOf(d)...)
		}
	}
	return out
}

// add adds devices by name, all or none. Callers hold the lock.
func (s *Server) add(devices map[string]opener, name string) error {
	if name == "" {
		return errors.New("a device needs a name")
	}
	for n := range devices {
		if s.trees[n] != nil {
			return fmt.Errorf("device %q exists", n)
		}
	}
	s.only = ""
	if len(s.trees) == 0 {
		s.only = name
	}
	for n, d := range devices {
		s.trees[n] = d
	}
	return nil
}

// Serve answers on l until ctx ends, and then returns nil. Open streams end with an error.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ...grpc.ServerOption) error {
	if err := s.gnmi.Serve(ctx, l, o...); err != nil {
		return fmt.Errorf("serve simulated gNMI devices on %s: %w", l.Addr(), err)
	}
	return nil
}

// Close stops the agents and all subscriptions, and waits for them.
func (s *Server) Close() {
	s.gnmi.Close()
	s.mu.RLock()
	hosts := s.hosts
	s.mu.RUnlock()
	for _, h := range hosts {
		h.close()
	}
}
