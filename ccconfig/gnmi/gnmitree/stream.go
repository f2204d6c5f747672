package gnmitree

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stream is one Subscribe call.
type stream struct {
	server *Server
	wire   gnmi.GNMI_SubscribeServer
	ctx    context.Context //nolint:containedctx // a stream is a call
	end    context.CancelCauseFunc

	target *target
	list   *gnmi.SubscriptionList
	subs   []*subscription

	wake    chan struct{} // holds a token while a change is marked
	mu      sync.Mutex
	changed changes
}

// run serves the call until its end.
func (st *stream) run() (err error) {
	from := time.Now()
	c := Call{Method: "Subscribe", Peer: PeerOf(st.ctx)}
	defer func() { st.server.ended(c, from, err) }()
	// A client that sends nothing would occupy a stream forever.
	limit := st.server.limits.SendTimeout
	watch := time.AfterFunc(limit, func() { st.end(errorf(codes.DeadlineExceeded, "no subscription list within %s", limit)) })
	first, err := st.wire.Recv()
	watch.Stop()
	switch {
	case errors.Is(err, io.EOF):
		return invalid("the stream ended without a subscription list")
	case err != nil:
		return err
	}
	c.Target = first.GetSubscribe().GetPrefix().GetTarget()
	if err := st.subscribe(c, first); err != nil {
		return err
	}
	switch st.list.GetMode() {
	case gnmi.SubscriptionList_ONCE:
		return st.initial()
	case gnmi.SubscriptionList_POLL:
		return st.poll()
	default:
		return st.stream()
	}
}

// subscribe processes the first message.
func (st *stream) subscribe(c Call, first *gnmi.SubscribeRequest) (err error) {
	list := first.GetSubscribe()
	if list == nil {
		return invalid("the first message is not a subscription list, want one")
	}
	if _, err := extensions(first.GetExtension()); err != nil {
		return err
	}
	if st.target, err = st.server.enter(st.ctx, c, list.GetPrefix()); err != nil {
		return err
	}
	if err := st.target.encoding(list.GetEncoding()); err != nil {
		return err
	}
	if err := st.target.models(list.GetUseModels()); err != nil {
		return err
	}
	n := len(list.GetSubscription())
	if n == 0 || n > st.server.limits.Paths {
		return invalid("the list has %d subscriptions, want 1 to %d", n, st.server.limits.Paths)
	}
	if _, ok := gnmi.SubscriptionList_Mode_name[int32(list.GetMode())]; !ok {
		return invalid("the list has mode %s, want STREAM, ONCE or POLL", list.GetMode())
	}
	st.list = list
	st.subs = make([]*subscription, n)
	for i, in := range list.GetSubscription() {
		if st.subs[i], err = st.target.subscriptionOf(in, list.GetMode()); err != nil {
			return err
		}
	}
	return nil
}

// initial sends the current state, and the sync response.
func (st *stream) initial() error {
	if err := st.read(st.whole(whyInitial)); err != nil {
		return err
	}
	return st.send(&gnmi.SubscribeResponse{Response: &gnmi.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// whole returns readings of all subscriptions.
func (st *stream) whole(why reason) []reading {
	all := make([]reading, len(st.subs))
	for i, s := range st.subs {
		all[i] = reading{s, s.pattern, why, 0}
	}
	return all
}

// poll sends everything at the start and at each request, until the client ends the stream.
func (st *stream) poll() error {
	for {
		if err := st.initial(); err != nil {
			return err
		}
		next, err := st.wire.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case next.GetPoll() == nil:
			return invalid("a message of a polled stream is not a poll, want one")
		}
	}
}

// stream sends everything, and then changes and due samples, until the client ends the stream.
func (st *stream) stream() error {
	if slices.ContainsFunc(st.subs, func(s *subscription) bool { return s.onChange }) {
		stop := st.target.tree.Watch(st.mark) // before the first reading, so that no change is missed
		defer stop()
	}
	if err := st.initial(); err != nil {
		return err
	}
	st.server.streams.work.Go(st.listen)
	now := time.Now()
	for _, s := range st.subs {
		s.start(now)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next := st.due(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
		select {
		case <-st.ctx.Done():
			return coded(context.Cause(st.ctx))
		case <-st.wake:
		case <-timer.C:
		}
		if err := st.read(append(st.pendingChanges(), st.timely(time.Now())...)); err != nil {
			return err
		}
	}
}

// listen detects a client that sends more than allowed. A client that has finished sending may still receive.
func (st *stream) listen() {
	_, err := st.wire.Recv()
	switch {
	case errors.Is(err, io.EOF):
	case err != nil:
		st.end(err)
	default:
		st.end(invalid("a stream takes one message with a subscription list: end it and open another"))
	}
}

// due returns the time when the first subscription is due; zero means never.
func (st *stream) due() (first time.Time) {
	for _, s := range st.subs {
		if d := s.due(); !d.IsZero() && (first.IsZero() || d.Before(first)) {
			first = d
		}
	}
	return first
}

// reading is one read for a subscription.
type reading struct {
	sub    *subscription
	query  Path
	why    reason
	merged uint32 // number of changes that may have been merged
}

// timely returns the due readings. A heartbeat replaces a sample at the same time.
func (st *stream) timely(now time.Time) (due []reading) {
	for _, s := range st.subs {
		beats := !s.beat.IsZero() && !s.beat.After(now)
		samples := !s.sample.IsZero() && !s.sample.After(now)
		if samples {
			s.sample = follows(s.sample, now, s.interval)
		}
		if beats {
			s.beat = follows(s.beat, now, s.heartbeat)
			due = append(due, reading{s, s.pattern, whyHeartbeat, 0})
		}
		if samples && !(beats && !s.onChange) {
			due = append(due, reading{s, s.pattern, whySample, 0})
		}
	}
	return due
}

// mark records a change. The tree calls it, so it must return at once.
func (st *stream) mark(c Change) {
	st.mu.Lock()
	st.changed.add(c)
	st.mu.Unlock()
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// pendingChanges returns readings of the changes since the last call.
func (st *stream) pendingChanges() (all []reading) {
	st.mu.Lock()
	changed := st.changed.take()
	st.mu.Unlock()
	for _, c := range changed {
		for _, s := range st.subs {
			if !s.onChange {
				continue
			}
			if query, ok := s.pattern.within(c.path); ok {
				all = append(all, reading{s, query, whyChange, c.times - 1})
			}
		}
	}
	return all
}

// read reads all readings from the tree at once, and sends the resulting updates.
func (st *stream) read(all []reading) error {
	if len(all) == 0 {
		return nil
	}
	q := Query{Paths: make([]Path, len(all)), Type: TypeAll}
	for i := range all {
		q.Paths[i] = all[i].query
	}
	found, err := st.target.get(st.ctx, q)
	if status.Code(err) == codes.NotFound {
		found, err = make([][]Leaf, len(all)), nil // subscriptions may wait for nodes that do not exist yet
	}
	if err != nil {
		return err
	}
	w := writer{stream: st, now: time.Now()}
	for i, r := range all {
		if st.list.GetMode() != gnmi.SubscriptionList_STREAM {
			r.sub.held = held{} // each answer is independent of earlier ones
		}
		d, err := r.sub.compare(r.query, found[i], r.why, st.list.GetUpdatesOnly(), st.server.limits.StreamLeaves)
		if err != nil {
			return err
		}
		if err := w.write(r, d); err != nil {
			return err
		}
	}
	return nil
}

// send sends a message, and ends the stream if the client does not read for too long.
func (st *stream) send(m *gnmi.SubscribeResponse) error {
	limit := st.server.limits.SendTimeout
	watch := time.AfterFunc(limit, func() {
		st.end(errorf(codes.ResourceExhausted, "the client has read nothing for %s", limit))
	})
	defer watch.Stop()
	return st.wire.Send(m)
}
