package p4dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// Server answers P4Runtime for many devices. It is safe for concurrent use.
type Server struct {
	p4v1.UnimplementedP4RuntimeServer

	mu      sync.RWMutex
	devices map[uint64]*Device
}

// NewServer returns a server without devices.
func NewServer() *Server { return &Server{devices: map[uint64]*Device{}} }

// Add adds a device to the server. It returns an error for an id that is in use and for options out of range.
func (s *Server) Add(id uint64, o Options) (*Device, error) {
	d, err := newDevice(id, o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices[id] != nil {
		return nil, fmt.Errorf("device %d exists", id)
	}
	s.devices[id] = d
	return d, nil
}

// Register adds the P4Runtime service and server reflection to a gRPC server.
func (s *Server) Register(g *grpc.Server) {
	p4v1.RegisterP4RuntimeServer(g, s)
	reflection.Register(g)
}

// Serve answers on l until ctx ends, and then returns nil. Open streams break.
func (s *Server) Serve(ctx context.Context, l net.Listener, o ...grpc.ServerOption) error {
	g := grpc.NewServer(o...)
	s.Register(g)
	stop := context.AfterFunc(ctx, g.Stop)
	defer stop()
	if err := g.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) && ctx.Err() == nil {
		return fmt.Errorf("serve P4Runtime on %s: %w", l.Addr(), err)
	}
	return nil
}

func (s *Server) device(id uint64) (*Device, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if d := s.devices[id]; d != nil {
		return d, nil
	}
	return nil, status.Errorf(codes.NotFound, "no device %d", id)
}

// ask executes a request on a device under its lock, with its faults.
func ask[T any](s *Server, id uint64, write bool, do func(d *Device) (T, error)) (T, error) {
	var none T
	d, err := s.device(id)
	if err != nil {
		return none, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if write {
		d.writes++
	}
	if err := d.faults.arrive(write); err != nil {
		return none, err
	}
	out, err := do(d)
	if lost := d.faults.reply(write); lost != nil {
		return none, lost
	}
	return out, err
}

var _ p4v1.P4RuntimeServer = (*Server)(nil)

func (s *Server) Capabilities(context.Context, *p4v1.CapabilitiesRequest) (*p4v1.CapabilitiesResponse, error) {
	return &p4v1.CapabilitiesResponse{P4RuntimeApiVersion: "1.4.1"}, nil
}

func (s *Server) Write(_ context.Context, r *p4v1.WriteRequest) (*p4v1.WriteResponse, error) {
	return ask(s, r.GetDeviceId(), true, func(d *Device) (*p4v1.WriteResponse, error) { return d.write(r) })
}

// readChunk is the number of entities in one response of a Read.
const readChunk = 64

func (s *Server) Read(r *p4v1.ReadRequest, out p4v1.P4Runtime_ReadServer) error {
	all, err := ask(s, r.GetDeviceId(), false, func(d *Device) ([]*p4v1.Entity, error) { return d.read(r) })
	for err == nil && len(all) > 0 {
		n := min(readChunk, len(all))
		err = out.Send(&p4v1.ReadResponse{Entities: all[:n]})
		all = all[n:]
	}
	return err
}

func (s *Server) GetForwardingPipelineConfig(_ context.Context, r *p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	return ask(s, r.GetDeviceId(), false, func(d *Device) (*p4v1.GetForwardingPipelineConfigResponse, error) {
		if err := d.hasPipeline(); err != nil {
			return nil, err
		}
		c := &p4v1.ForwardingPipelineConfig{Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: d.cookie}}
		switch r.GetResponseType() {
		case p4v1.GetForwardingPipelineConfigRequest_ALL, p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
			c.P4Info = d.program
		}
		return &p4v1.GetForwardingPipelineConfigResponse{Config: c}, nil
	})
}

func (s *Server) SetForwardingPipelineConfig(_ context.Context, r *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	return ask(s, r.GetDeviceId(), false, func(d *Device) (*p4v1.SetForwardingPipelineConfigResponse, error) {
		return &p4v1.SetForwardingPipelineConfigResponse{}, d.setPipeline(r)
	})
}
