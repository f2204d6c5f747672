package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// shares are the limits of one kind of concurrent work: in total, and for each group of callers, so that no group takes
// the places of the others. 0 sets no bound for a group: the next wider group's bound applies.
type shares struct {
	what string

	all     int
	callers int // of all signed-in callers: the rest is reserved for sign-in
	tenants int // of all callers with rights on single tenants only: the rest is reserved for operators and sign-in
	tenant  int // of all callers with rights on one tenant
	own     int // of one caller; the service accounts of a tenant count as one

	strangers int // of all callers who are not signed in
	source    int // of these, from one address
}

// Bounds of concurrent work. Beyond them a request waits up to patience for its place and is then refused, so that a
// flood cannot fill the memory.
var (
	// admitting is authentication and authorisation, which precede the reading of the body.
	admitting = shares{what: "requests to be admitted", all: 256}
	// sending is a body in transfer, or one whose request waits for its place.
	sending = shares{what: "bodies", tenants: 512, tenant: 96, own: 64, strangers: 32, source: 8}
	// sent is the number of bytes of bodies in memory.
	sent = shares{what: "bytes of bodies", all: 512 << 20, callers: 480 << 20, tenants: 256 << 20, tenant: 64 << 20, own: 64 << 20, source: 4 << 20}
	// reading and writing are ordinary requests. Writes take turns at the database; reads do not wait for them.
	reading = shares{what: "requests", all: 256, tenants: 128, tenant: 64, own: 64, strangers: 64, source: 32}
	writing = shares{what: "changes", all: 128, callers: 112, tenants: 64, tenant: 32, own: 32, strangers: 16, source: 8}
	// lengthy are requests that access devices or compile.
	lengthy = shares{what: "slow requests", all: 16, tenants: 8, tenant: 4, own: 4}
	// querying are queries of series: each may read millions of samples.
	querying = shares{what: "queries", all: 12, tenants: 6, tenant: 4, own: 4}
	// paging are the pages and files of the portal and of the documentation, sent to any caller from memory. Their places are
	// separate: page loads do not displace requests of the API, nor the reverse.
	paging = shares{what: "pages", strangers: 256, source: 64}
	// streaming are event streams, which the client or the service ends.
	streaming = shares{what: "event streams", all: 256, tenants: 128, tenant: 32, own: 16}
)

// patience is how long a request waits for its place.
const patience = 2 * time.Second

// load counts concurrent work: places of requests, and bodies.
type load struct{ places, bodies tally }

// callerKey identifies the caller of a request, on whom the limits depend.
type callerKey struct {
	known  bool
	wide   bool   // has a role on a whole fabric or on everything
	name   string // name of the caller or, when unknown, its address
	tenant string // tenant of its rights, "lab/red"; "" for wide callers
}

// bounds returns the bounds that apply to a caller, the narrowest first.
func (s shares) bounds(a callerKey) []bound {
	list := make([]bound, 0, 5)
	add := func(most int, format string, args ...any) {
		if most > 0 {
			list = append(list, bound{s.what + fmt.Sprintf(format, args...), most})
		}
	}
	switch {
	case !a.known:
		add(s.source, " from %s", a.name)
		add(s.strangers, " from all who are not signed in")
	default:
		add(s.own, " of %s", a.name)
		if !a.wide {
			add(s.tenant, " of tenant %s", a.tenant)
			add(s.tenants, " of tenants")
		}
		add(s.callers, " of all who are signed in")
	}
	add(s.all, "")
	return list
}

// holder returns the name that a caller's places are counted under. The service accounts of a tenant count as one,
// because its administrator can create many of them.
func holder(p control.Principal) string {
	if _, home, ok := strings.Cut(p.Name, "@"); ok && p.Kind == control.PrincipalService && home != "*" {
		return "programs of " + home
	}
	return string(p.Kind) + " " + p.Name
}

// bound is the maximum number for a name.
type bound struct {
	name string
	most int
}

// busy returns the refusal of a request that exceeds a bound.
func (b *bound) busy() error {
	return &problemError{code: "busy", said: phrase.Of("problem.busy", "operation", b.name, "max", b.most), after: 1}
}

// tally counts by name. The zero value is ready.
type tally struct {
	mu      sync.Mutex
	count   map[string]int
	waiting []*waiter // in the order of arrival
}

// waiter waits for room under all of its bounds.
type waiter struct {
	bounds []bound
	in     chan struct{} // closed when it has been counted
}

// enter adds one to the count of a name, unless its bound is reached; leave removes it.
func (t *tally) enter(name string, most int) (leave func(), ok bool) {
	leave, full := t.enterAll(1, bound{name, most})
	return leave, full == nil
}

// enterAll adds n to the count of each name; n is above 0. When one of the bounds has no room, it counts nothing and
// returns that bound.
func (t *tally) enterAll(n int, bounds ...bound) (leave func(), full *bound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if full := t.room(n, bounds); full != nil {
		return nil, full
	}
	t.add(n, bounds)
	return func() { t.leave(n, bounds) }, nil
}

// wait is enterAll for one, but waits for room until the context ends. Callers that wait for the same bounds are served
// in order.
func (t *tally) wait(ctx context.Context, bounds ...bound) (leave func(), full *bound) {
	t.mu.Lock()
	if full = t.room(1, bounds); full == nil {
		t.add(1, bounds)
		t.mu.Unlock()
		return func() { t.leave(1, bounds) }, nil
	}
	w := &waiter{bounds, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	select {
	case <-w.in:
		return func() { t.leave(1, bounds) }, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, w)
	if i < 0 { // counted at the last moment
		return func() { t.leave(1, bounds) }, nil
	}
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return nil, full
}

// room returns the first bound that has no room for n more; nil when all have.
func (t *tally) room(n int, bounds []bound) *bound {
	for i, b := range bounds {
		if t.count[b.name]+n > b.most {
			return &bounds[i]
		}
	}
	return nil
}

func (t *tally) add(n int, bounds []bound) {
	if t.count == nil {
		t.count = map[string]int{}
	}
	for _, b := range bounds {
		t.count[b.name] += n
	}
}

// leave subtracts n from each name and gives the room to waiting callers.
func (t *tally) leave(n int, bounds []bound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range bounds {
		if t.count[b.name] -= n; t.count[b.name] == 0 {
			delete(t.count, b.name)
		}
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(w *waiter) bool {
		if t.room(1, w.bounds) != nil {
			return false
		}
		t.add(1, w.bounds)
		close(w.in)
		return true
	})
}
