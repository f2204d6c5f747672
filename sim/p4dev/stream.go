package p4dev

import (
	"cmp"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// client is one open stream of a device.
type client struct {
	election *p4v1.Uint128 // nil means that it can never be the primary
	out      chan *p4v1.StreamMessageResponse
	over     chan error // one error ends the stream
}

// outQueue is the largest number of messages waiting for a client.
const outQueue = 64

// maxClients is the largest number of streams of one device.
const maxClients = 64

// send queues a message. If the client reads too slowly, send ends its stream.
func (c *client) send(m *p4v1.StreamMessageResponse) bool {
	select {
	case c.out <- m:
		return true
	default:
		c.end(status.Error(codes.ResourceExhausted, "the client reads too slowly"))
		return false
	}
}

// end breaks the stream with an error; only the first error is used.
func (c *client) end(err error) {
	select {
	case c.over <- err:
	default:
	}
}

func (s *Server) StreamChannel(stream p4v1.P4Runtime_StreamChannelServer) error {
	c := &client{out: make(chan *p4v1.StreamMessageResponse, outQueue), over: make(chan error, 1)}
	in := make(chan *p4v1.StreamMessageRequest)
	go func() { // ends with the stream, when this method returns
		for {
			m, err := stream.Recv()
			if err != nil {
				c.end(nil)
				return
			}
			select {
			case in <- m:
			case <-stream.Context().Done():
				return
			}
		}
	}()
	var d *Device
	defer func() {
		if d != nil {
			d.leave(c)
		}
	}()
	for {
		select {
		case m := <-in:
			joined, err := s.message(d, c, m)
			if err != nil {
				return err
			}
			d = joined
		case m := <-c.out:
			if err := stream.Send(m); err != nil {
				return err
			}
		case err := <-c.over:
			return err
		case <-stream.Context().Done():
			return nil
		}
	}
}

// message handles a client's message, and returns the device to which the stream belongs afterwards.
func (s *Server) message(d *Device, c *client, m *p4v1.StreamMessageRequest) (*Device, error) {
	a := m.GetArbitration()
	if a == nil {
		if d == nil {
			return nil, status.Error(codes.FailedPrecondition, "arbitrate first")
		}
		if m.GetDigestAck() == nil {
			c.send(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Error{Error: &p4v1.StreamError{
				CanonicalCode: int32(codes.Unimplemented), Message: "want arbitration or a digest acknowledgement",
			}}})
		}
		return d, nil
	}
	if d != nil && d.id != a.GetDeviceId() {
		return nil, status.Errorf(codes.FailedPrecondition, "the stream belongs to device %d", d.id)
	}
	if a.GetRole().GetName() != "" || a.GetRole().GetConfig() != nil {
		return nil, status.Error(codes.InvalidArgument, "want the default role")
	}
	dev, err := s.device(a.GetDeviceId())
	if err != nil {
		return nil, err
	}
	return dev, dev.arbitrate(c, a)
}

// arbitrate follows the rules of the P4Runtime specification for MasterArbitrationUpdate: the primary has the highest election
// id received so far, and all clients are notified of a change.
func (d *Device) arbitrate(c *client, a *p4v1.MasterArbitrationUpdate) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.faults.arrive(false); err != nil {
		return err
	}
	id := a.GetElectionId()
	if id.GetHigh() == 0 && id.GetLow() == 0 {
		id = nil
	}
	for _, other := range d.clients {
		if other != c && id != nil && compareIDs(other.election, id) == 0 {
			return status.Errorf(codes.InvalidArgument, "election id %d/%d is in use by another client", id.GetHigh(), id.GetLow())
		}
	}
	if !slices.Contains(d.clients, c) {
		if len(d.clients) == maxClients {
			return status.Errorf(codes.ResourceExhausted, "%d clients", maxClients)
		}
		d.clients = append(d.clients, c)
	}
	was := d.primary
	c.election = id
	if id != nil && compareIDs(id, d.highest) >= 0 {
		d.primary, d.highest = c, proto.CloneOf(id)
	} else if was == c {
		d.primary = nil
	}
	if d.primary != was || d.primary == c {
		d.notify()
		return nil
	}
	c.send(d.advice(c))
	return nil
}

// leave removes a client whose stream has ended.
func (d *Device) leave(c *client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients = slices.DeleteFunc(d.clients, func(o *client) bool { return o == c })
	if d.primary == c {
		d.primary = nil
		d.notify()
	}
}

func (d *Device) notify() {
	for _, c := range d.clients {
		c.send(d.advice(c))
	}
}

// advice returns the message that informs a client about the primary.
func (d *Device) advice(c *client) *p4v1.StreamMessageResponse {
	s := &rpcstatus.Status{}
	switch {
	case d.primary == nil:
		s.Code, s.Message = int32(codes.NotFound), "there is no primary"
	case d.primary != c:
		s.Code, s.Message = int32(codes.AlreadyExists), "another client is the primary"
	}
	a := &p4v1.MasterArbitrationUpdate{DeviceId: d.id, Status: s}
	if d.highest != nil {
		a.ElectionId = proto.CloneOf(d.highest)
	}
	return &p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Arbitration{Arbitration: a}}
}

func compareIDs(a, b *p4v1.Uint128) int {
	return cmp.Or(cmp.Compare(a.GetHigh(), b.GetHigh()), cmp.Compare(a.GetLow(), b.GetLow()))
}
