package gnmitree

import (
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// subscription is one subscription of a stream, with the client's state of it.
type subscription struct {
	pattern   Path
	onChange  bool // send announced leaves when they change
	sampled   bool // send other leaves, or all without onChange, at intervals
	suppress  bool // do not send unchanged samples
	interval  time.Duration
	heartbeat time.Duration // 0 means none

	sample, beat time.Time // next due times; zero means never
	held         held      // the client's state
	round        uint64    // number of the last reading
}

// reason is the reason for a reading.
type reason int8

const (
	whyInitial   reason = iota // start of the subscription, or a poll
	whyChange                  // a notice of the tree
	whySample                  // a sample interval has passed
	whyHeartbeat               // a heartbeat interval has passed
)

// subscriptionOf converts one subscription of a list.
func (t *target) subscriptionOf(in *gnmi.Subscription, list gnmi.SubscriptionList_Mode) (*subscription, error) {
	pattern, err := t.path(in.GetPath())
	if err != nil {
		return nil, err
	}
	s := &subscription{pattern: pattern}
	if list != gnmi.SubscriptionList_STREAM {
		return s, nil
	}
	least := t.info.SampleInterval
	if least == 0 {
		least = t.limits.SampleInterval
	}
	if s.interval, err = interval("sample_interval", in.GetSampleInterval(), least); err != nil {
		return nil, invalid("subscription to %s: %v", pattern, err)
	}
	if s.interval == 0 {
		s.interval = least
	}
	if s.heartbeat, err = interval("heartbeat_interval", in.GetHeartbeatInterval(), t.limits.SampleInterval); err != nil {
		return nil, invalid("subscription to %s: %v", pattern, err)
	}
	switch in.GetMode() {
	case gnmi.SubscriptionMode_TARGET_DEFINED:
		s.onChange, s.sampled, s.suppress = true, true, in.GetSuppressRedundant()
	case gnmi.SubscriptionMode_ON_CHANGE:
		s.onChange = true
	case gnmi.SubscriptionMode_SAMPLE:
		s.sampled, s.suppress = true, in.GetSuppressRedundant()
	default:
		return nil, invalid("subscription to %s has mode %s, want TARGET_DEFINED, ON_CHANGE or SAMPLE", pattern, in.GetMode())
	}
	return s, nil
}

// interval converts nanoseconds; 0 means no interval.
func interval(name string, ns uint64, least time.Duration) (time.Duration, error) {
	const most = 365 * 24 * time.Hour
	if ns == 0 {
		return 0, nil
	}
	if ns < uint64(least) || ns > uint64(most) {
		return 0, errorf(codes.InvalidArgument, "%s is %d ns, want %d (%s) to %d (%s), or 0", name, ns, least, least, most, most)
	}
	return time.Duration(ns), nil // at most a year
}

// start starts the intervals.
func (s *subscription) start(now time.Time) {
	if s.sampled {
		s.sample = now.Add(s.interval)
	}
	if s.heartbeat > 0 && (s.onChange || s.suppress) {
		s.beat = now.Add(s.heartbeat)
	}
}

// due returns the next due time; zero means never.
func (s *subscription) due() time.Time {
	if s.sample.IsZero() || !s.beat.IsZero() && s.beat.Before(s.sample) {
		return s.beat
	}
	return s.sample
}

// follows returns the first time after now in the sequence of at. Missed times are skipped.
func follows(at, now time.Time, every time.Duration) time.Time {
	missed := max(0, now.Sub(at)) / every
	return at.Add((missed + 1) * every)
}

// concerns reports whether a reading for a reason includes a leaf.
func (s *subscription) concerns(why reason, sampled bool) bool {
	both := s.onChange && s.sampled
	switch why {
	case whyChange:
		return s.onChange && !(both && sampled)
	case whySample:
		return s.sampled && (!both || sampled)
	case whyHeartbeat:
		return !both || !sampled || s.suppress
	default:
		return true
	}
}

// difference is the result of a reading.
type difference struct {
	leaves  []Leaf
	deleted []Path
}

// compare compares the leaves of a reading of query, which is at or below the pattern, with the client's state, and returns
// those to send. quiet means that the client does not want the initial state, only changes. It returns an error for a leaf
// without notices where they are required, and for more than limit leaves.
func (s *subscription) compare(query Path, leaves []Leaf, why reason, quiet bool, limit int) (difference, error) {
	var d difference
	s.round++
	for i := range leaves {
		l := &leaves[i]
		if !s.pattern.Covers(l.Path) || !query.Covers(l.Path) || !s.concerns(why, l.Sampled) {
			continue
		}
		if l.Sampled && s.onChange && !s.sampled {
			return d, invalid("subscription to %s is on change, but %s changes without notice: want SAMPLE or TARGET_DEFINED", s.pattern, l.Path)
		}
		was, known := s.held.leaf(l.Path)
		send := !known || !was.value.Equal(l.Value)
		switch why {
		case whyInitial:
			send = !quiet
		case whySample:
			send = send || !s.suppress
		case whyHeartbeat:
			send = true
		}
		if s.held.leaves > limit {
			return d, errorf(codes.ResourceExhausted, "subscription to %s has more than %d leaves: subscribe to less", s.pattern, limit)
		}
		was.path, was.value, was.sampled, was.round = l.Path, l.Value, l.Sampled, s.round
		if send {
			d.leaves = append(d.leaves, *l)
		}
	}
	d.deleted = s.held.prune(query, func(l *heldLeaf) bool { return l.round == s.round || !s.concerns(why, l.sampled) })
	return d, nil
}
