package gnmitree

import (
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// subscription is one of a stream's list, and what of it the client has.
type subscription struct {
	pattern   Path
	onChange  bool // leaves that are announced are sent when they change
	sampled   bool // leaves that are not, or all without onChange, are sent at intervals
	suppress  bool // samples that have not changed are not sent
	interval  time.Duration
	heartbeat time.Duration // 0: none

	sample, beat time.Time // when the next ones are due; zero: never
	held         held      // what the client has
	round        uint64    // of the last reading
}

// reason is why leaves are read.
type reason int8

const (
	whyInitial   reason = iota // the subscription begins, or is polled
	whyChange                  // the tree has announced it
	whySample                  // an interval has passed
	whyHeartbeat               // a heartbeat's has
)

// subscriptionOf reads one of a list.
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

// interval reads nanoseconds; 0 is no interval.
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

// start begins the intervals.
func (s *subscription) start(now time.Time) {
	if s.sampled {
		s.sample = now.Add(s.interval)
	}
	if s.heartbeat > 0 && (s.onChange || s.suppress) {
		s.beat = now.Add(s.heartbeat)
	}
}

// due is when something is due next; never is zero.
func (s *subscription) due() time.Time {
	if s.sample.IsZero() || !s.beat.IsZero() && s.beat.Before(s.sample) {
		return s.beat
	}
	return s.sample
}

// follows is the first moment after now on the beat that at is on. What was missed is not made up for.
func follows(at, now time.Time, every time.Duration) time.Time {
	missed := max(0, now.Sub(at)) / every
	return at.Add((missed + 1) * every)
}

// concerns tells whether a reading for a reason is about a leaf.
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

// difference is what a reading has found.
type difference struct {
	leaves  []Leaf
	deleted []Path
}

// compare takes the leaves of a reading of query, which is at or below the pattern, and returns those to send. quiet: the
// client does not want what is there, only what changes. It fails on a leaf that is not announced where it should be, and
// when there are more than limit leaves.
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
