package p4rt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
)

func (e ElectionID) message() *p4v1.Uint128 { return &p4v1.Uint128{High: e.High, Low: e.Low} }

// standing is the client's role as the device last reported it.
type standing uint8

const (
	unknown standing = iota // not reported yet, or reset by resetRole
	primary
	backup // another client is the primary
	vacant // no client is the primary
)

// stream is an open StreamChannel, which carries elections.
type stream struct {
	cancel context.CancelFunc
	client p4v1.P4Runtime_StreamChannelClient
	sends  sync.Mutex // gRPC allows one Send at a time

	mu      sync.Mutex
	state   standing
	highest ElectionID    // highest election id on the device
	err     error         // reason for the end of the stream
	changed chan struct{} // closed at the next change of the fields above
}

// maxElections is the largest number of rounds of one election, because an opponent may raise its id too.
const maxElections = 4

// becomePrimary returns when the device has reported that we are the primary. Earlier reports may be outdated, so it returns a
// conflict only if another primary exists in every round.
func (s *session) becomePrimary(ctx context.Context) error {
	rctx, cancel := s.d.links.Request(ctx)
	defer cancel()
	var highest ElectionID
	for range maxElections {
		st, err := s.arbitrate(rctx)
		if err != nil {
			return s.arbitrationError(ctx, err)
		}
		var state standing
		if state, highest = st.standing(); state == primary {
			return nil
		}
		if !highest.less(s.election) && (state == vacant || s.d.o.TakeOver) {
			s.election = highest.next()
		}
		st.resetRole()
	}
	return fmt.Errorf("arbitration of %s: %w: another client is the primary, with election id %s against our %s: stop it, or give this manager a higher election id",
		s.dev, driver.ErrConflict, highest, s.election)
}

func (s *session) arbitrationError(ctx context.Context, err error) error {
	if status.Code(err) == codes.InvalidArgument && ctx.Err() == nil {
		return fmt.Errorf("arbitration of %s: %w: %s (our election id is %s: each manager needs its own)", s.dev, driver.ErrConflict, status.Convert(err).Message(), s.election)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = status.FromContextError(err).Err()
	}
	return s.classify(ctx, "arbitration", err)
}

// arbitrate ensures that there is a stream on which the device has reported our role. A stream that breaks now may have been
// broken since its last use, so one new stream is tried.
func (s *session) arbitrate(ctx context.Context) (*stream, error) {
	if s.stream != nil && s.stream.broken() == nil {
		if err := s.ask(ctx); err == nil || ctx.Err() != nil {
			return s.stream, err
		}
	}
	if err := s.openStream(ctx); err != nil {
		return nil, err
	}
	return s.stream, s.ask(ctx)
}

// ask waits for our role, and requests it when it is unknown.
func (s *session) ask(ctx context.Context) error {
	st := s.stream
	if state, _ := st.standing(); state == unknown {
		if err := st.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{
			DeviceId: s.target.DeviceID, ElectionId: s.election.message(),
		}}}); err != nil {
			_ = st.await(ctx, func() bool { return false }) // gRPC reports the reason to the receiver
			return cmp.Or(st.broken(), err)
		}
	}
	return st.await(ctx, func() bool { return st.state != unknown })
}

// openStream opens a stream that outlives the operation: until it breaks, the device's address changes or the driver is closed.
func (s *session) openStream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	client, err := s.client.StreamChannel(ctx)
	if err != nil {
		cancel()
		return err
	}
	st := &stream{cancel: cancel, client: client, changed: make(chan struct{})}
	s.stream = st
	s.d.streams.Go(func() {
		defer cancel()
		st.receive()
	})
	return nil
}

// receive processes the device's messages until the stream ends.
func (st *stream) receive() {
	for {
		m, err := st.client.Recv()
		if err != nil {
			st.update(func() { st.err, st.state = err, unknown })
			return
		}
		if u, ok := m.GetUpdate().(*p4v1.StreamMessageResponse_Arbitration); ok {
			st.update(func() { st.state, st.highest = standingOf(u.Arbitration) })
		}
	}
}

func standingOf(a *p4v1.MasterArbitrationUpdate) (standing, ElectionID) {
	id := ElectionID{High: a.GetElectionId().GetHigh(), Low: a.GetElectionId().GetLow()}
	switch codes.Code(uint32(a.GetStatus().GetCode())) {
	case codes.OK:
		return primary, id
	case codes.NotFound:
		return vacant, id
	}
	return backup, id
}

func (st *stream) send(m *p4v1.StreamMessageRequest) error {
	st.sends.Lock()
	defer st.sends.Unlock()
	return st.client.Send(m)
}

func (st *stream) update(f func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	f()
	close(st.changed)
	st.changed = make(chan struct{})
}

func (st *stream) standing() (standing, ElectionID) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.state, st.highest
}

func (st *stream) broken() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.err
}

// resetRole resets the role to unknown, so that the next arbitrate requests it again.
func (st *stream) resetRole() { st.update(func() { st.state = unknown }) }

// await returns when done returns true, which is called under the lock, or with an error if the stream has ended.
func (st *stream) await(ctx context.Context, done func() bool) error {
	for {
		st.mu.Lock()
		over, err, changed := done(), st.err, st.changed
		st.mu.Unlock()
		if over || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
