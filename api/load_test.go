package api

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestExcessConcurrentRequestsAreRefused(t *testing.T) {
	t.Parallel()
	var s Server
	reads, writes := shares{what: "r", all: 1}.bounds(callerKey{}), shares{what: "w", all: 1}.bounds(callerKey{})
	leave, err := s.place(t.Context(), reads)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.place(gone, reads); classify(err).code != "busy" || classify(err).after == 0 {
		t.Errorf("second request: %v", err)
	}
	if _, err := s.place(t.Context(), writes); err != nil {
		t.Errorf("writes have places of their own: %v", err)
	}
	next := make(chan error)
	go func() {
		_, err := s.place(t.Context(), reads)
		next <- err
	}()
	leave()
	if err := <-next; err != nil {
		t.Errorf("after the first has left: %v", err)
	}
}

// TestConcurrencyBoundsHoldForEveryGroup makes requests of all kinds of callers arrive, wait, give up and leave in any order. No
// bound is ever exceeded, a request waits only while one of its bounds is full, and at the end all counts are zero.
func TestConcurrencyBoundsHoldForEveryGroup(t *testing.T) {
	t.Parallel()
	kind := shares{what: "x", all: 8, callers: 7, tenants: 4, tenant: 2, own: 2, strangers: 2, source: 1}
	askers := []callerKey{
		{known: true, wide: true, name: "o1"}, {known: true, wide: true, name: "o2"}, {known: true, name: "a", tenant: "t1"},
		{known: true, name: "b", tenant: "t1"}, {known: true, name: "c", tenant: "t2"}, {known: true, name: "d", tenant: "t3"}, {name: "1"}, {name: "2"}, {name: "3"},
	}
	rapid.Check(t, func(t *rapid.T) {
		var l tally
		type asking struct {
			bounds []bound
			cancel context.CancelFunc
			answer chan func()
		}
		var under []asking
		var wg sync.WaitGroup
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if len(under) == 0 || rapid.Bool().Draw(t, "comes") {
				ctx, cancel := context.WithCancel(context.Background())
				a := asking{rapid.SampledFrom(askers).Draw(t, "asker").shares(kind), cancel, make(chan func(), 1)}
				under = append(under, a)
				wg.Go(func() {
					leave, full := l.wait(ctx, a.bounds...)
					if full != nil {
						leave = nil
					}
					a.answer <- leave
				})
			} else {
				i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
				a := under[i]
				under = append(under[:i:i], under[i+1:]...)
				a.cancel()
				if leave := <-a.answer; leave != nil {
					leave()
				}
			}
			l.mu.Lock()
			for _, a := range askers {
				for _, b := range a.shares(kind) {
					if l.count[b.name] > b.most {
						t.Errorf("%d of %v", l.count[b.name], b)
					}
				}
			}
			for _, w := range l.waiting {
				if l.room(1, w.bounds) == nil {
					t.Errorf("%v wait though there is room", w.bounds)
				}
			}
			l.mu.Unlock()
		}
		for _, a := range under {
			a.cancel()
			if leave := <-a.answer; leave != nil {
				leave()
			}
		}
		wg.Wait()
		if len(l.count) != 0 || len(l.waiting) != 0 {
			t.Errorf("at the end there are %v and %d wait", l.count, len(l.waiting))
		}
	})
}

func (a callerKey) shares(s shares) []bound { return s.bounds(a) }
