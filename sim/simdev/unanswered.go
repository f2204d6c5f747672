package simdev

import (
	"sync"
	"time"

	"fairlane/subnet/mad"
)

// answerPatience is how long a subnet manager may take for an answer before its asker is told that none comes.
const answerPatience = 2 * time.Second

// maxUnanswered bounds the requests that are kept; askers of more wait for ever, as with ibsim.
const maxUnanswered = 4096

// unanswered are requests that were passed on to a subnet manager. On a real host the kernel gives a request back as
// timed out; the preload library has no clock, so that an asker waits for ever, as a standby would for a master that was
// killed before it answered.
type unanswered struct {
	mu   sync.Mutex
	list map[askedBy]asked
}

type askedBy struct {
	from *client
	tid  uint64
}

type asked struct {
	at time.Time
	b  [datagramSize]byte
}

func (u *unanswered) add(from *client, b []byte, now time.Time) {
	key := askedBy{from, (*mad.Packet)(b[envelopeSize:]).TID()}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.list == nil {
		u.list = map[askedBy]asked{}
	}
	if _, again := u.list[key]; again || len(u.list) < maxUnanswered {
		u.list[key] = asked{now, [datagramSize]byte(b)}
	}
}

// done forgets a request of a client.
func (u *unanswered) done(from *client, tid uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.list, askedBy{from, tid})
}

// expired takes out what was asked before a time, by who asked.
func (u *unanswered) expired(before time.Time) map[askedBy]asked {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out map[askedBy]asked
	for key, a := range u.list {
		if a.at.Before(before) {
			if out == nil {
				out = map[askedBy]asked{}
			}
			out[key] = a
			delete(u.list, key)
		}
	}
	return out
}

// giveBack tells askers of requests that were passed on before a time that no answer comes.
func (s *Server) giveBack(before time.Time) {
	for key, a := range s.asked.expired(before) {
		markUndeliverable(a.b[:])
		s.deliver(key.from, a.b[:])
	}
}

// forward passes a datagram of a client on to another one, or back to it when nobody takes it.
func (s *Server) forward(c *client, v Verdict, b []byte) {
	p := (*mad.Packet)(b[envelopeSize:])
	to := s.forwardTo(v.To, b)
	if to == nil {
		s.stats.unroutable.Add(1)
	}
	switch {
	case p.IsResponse() && to == nil:
		return // its asker is gone
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
