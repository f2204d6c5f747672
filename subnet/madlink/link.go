package madlink

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// Wire carries the datagrams of a Link: an envelope followed by a MAD.
type Wire interface {
	// Address writes the envelope of a request, which is zero on entry: the first bytes of the datagram, header of New.
	// The MAD after it is complete and must not change.
	Address(datagram []byte, to mad.Target) error
	// Send writes a datagram. It returns nil also for a datagram that is lost. patience is how long the try waits for the
	// response.
	Send(datagram []byte, patience time.Duration) error
}

// Fate is the result of a request, as the wire reports it.
type Fate uint8

// Fates.
const (
	Answered      Fate = iota // the response arrived
	Undeliverable             // the fabric returned the request: a retry is useless
	Expired                   // no response within the patience of the try
)

// Answer is a response that may be longer than one datagram: subnet administration answers a table query with several
// datagrams, which some wires reassemble (IBTA vol. 1, 13.6).
type Answer struct {
	Packet mad.Packet // the first 256 bytes; zero beyond Length
	Length int        // of the whole message in bytes, from the first byte of the header
	Rest   []byte     // the data after the packet, without headers
}

// request is the place of one request in flight. Its owner is the Exchange that took it from Link.free; the fields
// under mu are shared with the reader.
type request struct {
	index   uint32
	turn    uint32 // of this place; makes the transaction IDs of its users differ
	out     []byte
	timer   *time.Timer
	arrived chan struct{} // one token when fate and answer are valid

	mu     sync.Mutex
	tid    uint32 // 0: no response expected
	class  mad.Class
	fate   Fate
	failed bool // the wire broke
	answer Answer
}

type counters struct {
	sent, received, retries, timeouts, undeliverable, late, unsolicited, malformed atomic.Uint64
}

// Link manages the requests in flight over a wire. It is safe for concurrent use.
type Link struct {
	opts   Options
	wire   Wire
	header int // length of the envelope in bytes
	stats  counters
	trips  roundTrips

	turns  turns
	free   chan *request // unused requests; its capacity bounds the requests in flight
	table  []request     // indexed by the low bits of the transaction ID
	closed chan struct{} // closed when the link ends
	close  sync.Once
	broken atomic.Pointer[error] // why the wire broke
}

// New returns a link over a wire whose envelopes have header bytes. Options come from WithDefaults.
func New(o Options, header int, w Wire) *Link {
	l := &Link{
		opts: o, wire: w, header: header,
		turns:  turns{most: o.PerTarget},
		free:   make(chan *request, o.InFlight),
		table:  make([]request, o.InFlight),
		closed: make(chan struct{}),
	}
	for i := range l.table {
		r := &l.table[i]
		r.index = uint32(i)
		r.out = make([]byte, header+mad.Size)
		r.arrived = make(chan struct{}, 1)
		r.timer = time.NewTimer(0)
		r.timer.Stop()
		l.free <- r
	}
	return l
}

// Stats returns the counters.
func (l *Link) Stats() Stats {
	return Stats{
		Sent:          l.stats.sent.Load(),
		Received:      l.stats.received.Load(),
		Retries:       l.stats.retries.Load(),
		Timeouts:      l.stats.timeouts.Load(),
		Undeliverable: l.stats.undeliverable.Load(),
		Late:          l.stats.late.Load(),
		Unsolicited:   l.stats.unsolicited.Load(),
		Malformed:     l.stats.malformed.Load(),
	}
}

// Close ends every Exchange with ErrClosed. Further calls do nothing.
func (l *Link) Close() { l.close.Do(func() { close(l.closed) }) }

// Fail ends every Exchange with ErrClosed and the reason why the wire broke. The reader calls it at most once; after
// Close it does nothing.
func (l *Link) Fail(why error) {
	select {
	case <-l.closed:
		return
	default:
	}
	l.broken.Store(&why)
	for i := range l.table {
		r := &l.table[i]
		r.mu.Lock()
		if r.tid != 0 {
			r.failed = true
			r.answered(Undeliverable)
		}
		r.mu.Unlock()
	}
}

// ClosedErr returns the error of Exchange on a closed link: ErrClosed, with the reason if the wire broke.
func (l *Link) ClosedErr() error {
	if err := l.broken.Load(); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, *err)
	}
	return ErrClosed
}

// Malformed counts a datagram that is not an envelope with a MAD.
func (l *Link) Malformed() {
	l.stats.received.Add(1)
	l.stats.malformed.Add(1)
}

// Deliver passes a datagram to its request, which it finds by the low half of the transaction ID and the class. It
// drops a datagram without a request. It copies p and keeps rest. length is the length of the whole message in bytes;
// p is zero beyond it.
func (l *Link) Deliver(f Fate, p *mad.Packet, length int, rest []byte) {
	l.stats.received.Add(1)
	if f == Answered && !p.IsResponse() {
		l.stats.unsolicited.Add(1)
		return
	}
	tid := binary.BigEndian.Uint32(p[offTIDLow:])
	index := tid & (1<<indexBits - 1)
	if int(index) >= len(l.table) {
		l.stats.late.Add(1)
		return
	}
	r := &l.table[index]
	r.mu.Lock()
	defer r.mu.Unlock()
	if tid == 0 || r.tid != tid || r.class != p.Class() { // 0 means that no response is expected
		l.stats.late.Add(1)
		return
	}
	r.answer.Packet, r.answer.Length, r.answer.Rest = *p, length, rest
	r.answered(f)
}

// offTIDLow is the offset of the requester's half of the transaction ID.
const offTIDLow = 12

// The low indexBits of a transaction ID are the place, the other bits the turn. MaxInFlight places fit.
const indexBits = 10

// nextTID returns the transaction ID of a new user of the place. It is never 0, which libraries treat as "assign one",
// and repeats only after 4 million turns.
func (r *request) nextTID() uint32 {
	r.turn++
	if r.turn<<indexBits == 0 {
		r.turn = 1
	}
	return r.turn<<indexBits | r.index
}

func (r *request) expect(tid uint32, class mad.Class) {
	r.mu.Lock()
	r.tid, r.class, r.failed = tid, class, false
	r.mu.Unlock()
}

// forget makes later responses count as late, and removes the token of one that arrived meanwhile.
func (r *request) forget() {
	r.expect(0, 0)
	select {
	case <-r.arrived:
	default:
	}
}

// answered gives the owner its token. The caller holds mu and has checked that a response is expected, so that there is
// room for the token.
func (r *request) answered(f Fate) {
	r.fate, r.tid = f, 0
	r.arrived <- struct{}{}
}

// Exchange implements mad.Transport: it returns the first 256 bytes of the response.
func (l *Link) Exchange(ctx context.Context, to mad.Target, req *mad.Packet) (mad.Packet, error) {
	r, err := l.do(ctx, to, req, 0)
	if err != nil {
		return mad.Packet{}, err
	}
	defer l.leave(r)
	return r.answer.Packet, nil // no other goroutine writes it: no response is expected any more
}

// ExchangeWhole is Exchange for a response that may be longer than a datagram. Every try waits eight times the timeout,
// because a repeated request restarts the transfer of the response.
func (l *Link) ExchangeWhole(ctx context.Context, to mad.Target, req *mad.Packet) (Answer, error) {
	r, err := l.do(ctx, to, req, maxBackoffShift)
	if err != nil {
		return Answer{}, err
	}
	defer l.leave(r)
	a := r.answer
	r.answer.Rest = nil
	return a, nil
}

// leave frees the place of an answered exchange.
func (l *Link) leave(r *request) { l.free <- r }

// do sends a request until it is answered; first is the number of its first try, which sets the patience. The caller
// frees the place with the answer.
func (l *Link) do(ctx context.Context, to mad.Target, req *mad.Packet, first int) (*request, error) {
	if err := check(to, req); err != nil {
		return nil, err
	}
	if l.broken.Load() != nil {
		return nil, l.ClosedErr() // without taking a turn
	}
	if l.opts.PerTarget > 0 {
		t, err := l.turns.take(ctx, l, to)
		if err != nil {
			return nil, err
		}
		defer l.turns.give(t)
	}
	r, err := l.place(ctx)
	if err != nil {
		return nil, err
	}
	tid := r.nextTID()
	if err = l.prepare(r, to, req, tid); err == nil {
		r.expect(tid, req.Class())
		err = l.attempt(ctx, r, tid, req.Class(), first)
		r.forget()
	}
	if err != nil {
		r.answer.Rest = nil // from an answer that came too late
		l.leave(r)
		return nil, err
	}
	return r, nil
}

// place waits for a place in flight.
func (l *Link) place(ctx context.Context) (*request, error) {
	select {
	case r := <-l.free: // the usual case, much cheaper than the other
		return r, nil
	default:
	}
	select {
	case r := <-l.free:
		return r, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.closed:
		return nil, l.ClosedErr()
	}
}

// check rejects a request whose class does not fit its target.
func check(to mad.Target, req *mad.Packet) error {
	class := req.Class()
	switch {
	case to.LID == 0 && class != mad.ClassSubnDR:
		return fmt.Errorf("%s on a directed route: want class %s, or a LID", class, mad.ClassSubnDR)
	case to.LID != 0 && class == mad.ClassSubnDR:
		return fmt.Errorf("%s to LID %d: want class %s, or a path", class, to.LID, mad.ClassSubnLID)
	case to.LID == ident.PermissiveLID:
		return fmt.Errorf("request to LID %d: want 1 to %d", to.LID, ident.PermissiveLID-1)
	}
	return nil
}

// prepare writes the datagram: request, transaction ID, directed route and envelope.
func (l *Link) prepare(r *request, to mad.Target, req *mad.Packet, tid uint32) error {
	p := (*mad.Packet)(r.out[l.header:])
	*p = *req
	p.SetTID(uint64(tid))
	if to.LID == 0 {
		if err := p.SetRoute(to.Path); err != nil {
			return err
		}
	}
	clear(r.out[:l.header])
	return l.wire.Address(r.out, to)
}

// attempt sends the prepared request until it has a result.
func (l *Link) attempt(ctx context.Context, r *request, tid uint32, class mad.Class, first int) error {
	defer r.timer.Stop()
	trip, soon := l.trips.of(class, l.opts.Timeout)
	early, began := 0, time.Now()
	if soon > 0 && l.opts.Retries > 0 {
		early = earlyAttempts
	}
	for n := range early + l.opts.Retries + 1 {
		if l.broken.Load() != nil {
			return l.ClosedErr() // the wire may have broken while no response was expected
		}
		patience := l.opts.Patience(first + n - early)
		if n < early {
			patience = soon << n
		}
		if n > 0 {
			l.stats.retries.Add(1)
		}
		l.stats.sent.Add(1)
		if err := l.wire.Send(r.out, patience); err != nil {
			return err
		}
		r.timer.Reset(patience + l.opts.Grace)
		select {
		case <-r.arrived:
			if fate, failed := r.outcome(); failed {
				return l.ClosedErr()
			} else if fate == Undeliverable {
				l.stats.undeliverable.Add(1)
				return errUndeliverable
			} else if fate == Answered {
				trip.note(time.Since(began))
				return nil
			}
			r.expect(tid, class) // the wire ended the try
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.closed:
			return l.ClosedErr()
		case <-r.timer.C:
		}
	}
	l.stats.timeouts.Add(1)
	return fmt.Errorf("%w in %d tries", mad.ErrTimeout, early+l.opts.Retries+1)
}

var errUndeliverable = fmt.Errorf("%w: not delivered by the fabric", mad.ErrTimeout)

// outcome returns the result behind the token.
func (r *request) outcome() (f Fate, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fate, r.failed
}
