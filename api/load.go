package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/internal/control"
)

// shares bounds how many of one kind there may be at once: of all, and of each part of those who ask, so that no part
// takes what the others need. 0 bounds by the next wider part only.
type shares struct {
	what string

	all     int
	callers int // of all who are signed in: the rest is kept for sign-in
	tenants int // of all who act on single tenants only: the rest is kept for operators and sign-in
	tenant  int // of all who act on one tenant
	own     int // of one caller; the programs of a tenant are one

	strangers int // of all who are not signed in
	source    int // of those, from one address
}

// Bounds of what is under way at once. Beyond them requests wait a little and are then turned away, so that a flood cannot
// fill the memory.
var (
	// admitting is finding out who asks and what they may, before anything is read from them.
	admitting = shares{what: "requests to be admitted", all: 256}
	// sending is a body on its way to us, and until its request has its place.
	sending = shares{what: "bodies", tenants: 512, tenant: 96, own: 64, strangers: 32, source: 8}
	// sent is the bytes of bodies in memory.
	sent = shares{what: "bytes of bodies", all: 512 << 20, callers: 480 << 20, tenants: 256 << 20, tenant: 64 << 20, own: 64 << 20, source: 4 << 20}
	// reading and writing are ordinary requests. Those that write take turns at the database, and reads do not wait behind them.
	reading = shares{what: "requests", all: 256, tenants: 128, tenant: 64, own: 64, strangers: 64, source: 32}
	writing = shares{what: "changes", all: 128, callers: 112, tenants: 64, tenant: 32, own: 32, strangers: 16, source: 8}
	// lengthy are those that talk to devices or compile.
	lengthy = shares{what: "slow requests", all: 16, tenants: 8, tenant: 4, own: 4}
	// streaming goes on until the client or the service ends it.
	streaming = shares{what: "event streams", all: 256, tenants: 128, tenant: 32, own: 16}
)

// patience is how long a request waits for its place.
const patience = 2 * time.Second

// load counts what is under way: places, and what is sent to us.
type load struct{ places, bodies tally }

// asker is who a request is of, for the bounds that it is under.
type asker struct {
	known  bool
	wide   bool   // acts on everything
	name   string // of the caller or, when unknown, its address
	tenant string // that it acts on, "lab/red"; "" for wide callers
}

// bounds are those that one more of a kind is under, the narrowest first.
func (s shares) bounds(a asker) []bound {
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

// holder names whoever has places of its own. The programs of a tenant are one: its administrator makes as many as
// it likes.
func holder(p control.Principal) string {
	if _, home, ok := strings.Cut(p.Name, "@"); ok && p.Kind == control.PrincipalService && !p.Wide() {
		return "programs of " + home
	}
	return string(p.Kind) + " " + p.Name
}

// bound is how many of a name there may be.
type bound struct {
	name string
	most int
}

// busy turns a request away that is over a bound, and may come back in a second.
func (b *bound) busy() error {
	return &problemError{code: "busy", detail: fmt.Sprintf("%s: %d are under way, the most there may be at once; come back in a second", b.name, b.most), after: 1}
}

// tally counts by name. The zero value is ready.
type tally struct {
	mu      sync.Mutex
	count   map[string]int
	waiting []*waiter // the one that came first is the first
}

// waiter waits for room under all of its bounds.
type waiter struct {
	bounds []bound
	in     chan struct{} // closed when it is counted
}

// enter counts one more of a name, unless there are as many as may be; leave takes it back.
func (t *tally) enter(name string, most int) (leave func(), ok bool) {
	leave, full := t.enterAll(1, bound{name, most})
	return leave, full == nil
}

// enterAll counts n more of each name, or none when one of them, which is returned, would have too many.
func (t *tally) enterAll(n int, bounds ...bound) (leave func(), full *bound) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if full := t.room(n, bounds); full != nil {
		return nil, full
	}
	t.add(n, bounds)
	return func() { t.leave(n, bounds) }, nil
}

// wait is enterAll, but waits for room until the context ends. Of those that wait for the same, the first goes first.
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

// leave takes n of each name back and lets in who waited for them.
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
