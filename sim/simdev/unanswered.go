package simdev

import (
	"sync"
	"time"

	"fairlane/subnet/mad"
)

// answerPatience is the longest time for a subnet manager's answer before the request is returned to its sender as timed out.
const answerPatience = 2 * time.Second

// maxUnanswered is the largest number of stored requests; senders of further requests wait forever, as with ibsim.
const maxUnanswered = 4096

// unanswered stores requests forwarded to a subnet manager. On a real host, the kernel returns an unanswered request as timed
// out. The preload library has no timer, so a sender would wait forever: for example, a standby subnet manager whose master
// was killed before it answered.
type unanswered struct {
	mu   sync.Mutex
	list map[requestOrigin]asked
}

type requestOrigin struct {
	from *client
	tid  uint64
}

type asked struct {
	at time.Time
	b  [datagramSize]byte
}

func (u *unanswered) add(from *client, b []byte, now time.Time) {
	key := requestOrigin{from, (*mad.Packet)(b[envelopeSize:]).TID()}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.list == nil {
		u.list = map[requestOrigin]asked{}
	}
	if _, again := u.list[key]; again || len(u.list) < maxUnanswered {
		u.list[key] = asked{now, [datagramSize]byte(b)}
	}
}

// done removes a request of a client.
func (u *unanswered) done(from *client, tid uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.list, requestOrigin{from, tid})
}

// expired removes and returns the requests forwarded before a time, by sender.
func (u *unanswered) expired(before time.Time) map[requestOrigin]asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out map[requestOrigin]asked
	for key, a := range u.list {
		if a.at.Before(before) {
			if out == nil {
				out = map[requestOrigin]asked{}
			}
			out[key] = a
			delete(u.list, key)
		}
	}
	return out
}

// returnUnanswered returns requests forwarded before a time to their senders as unanswered.
func (s *Server) returnUnanswered(before time.Time) {
	for key, a := range s.asked.expired(before) {
		markUndeliverable(a.b[:])
		s.deliver(key.from, a.b[:])
	}
}

// forward passes a client's datagram to another client, or returns it if there is no such client.
func (s *Server) forward(c *client, v Verdict, b []byte) {
	p := (*mad.Packet)(b[envelopeSize:])
	to := s.forwardTo(v.To, b)
	if to == nil {
		s.stats.unroutable.Add(1)
	}
	switch {
	case p.IsResponse() && to == nil:
		return // the sender has ended
	case p.IsResponse():
		s.asked.done(to, p.TID())
		s.deliver(to, b)
		return
	case to != nil:
		s.asked.add(c, b, time.Now())
		if s.deliver(to, b) {
			return
		}
		s.asked.done(c, p.TID())
	}
	markUndeliverable(b)
	s.deliver(c, b)
}
