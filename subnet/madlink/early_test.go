package madlink_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

// after answers each request after a round-trip time.
func after(rtt time.Duration) func(*fakeWire, *mad.Packet, time.Duration) error {
	return func(w *fakeWire, p *mad.Packet, _ time.Duration) error {
		q := *p
		time.AfterFunc(rtt, func() { w.answer(&q) })
		return nil
	}
}

func TestKnownRoundTripsAllowEarlyRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Timeout: time.Second, Retries: 1}, after(time.Millisecond))
		for range 16 {
			if err := ask(t.Context(), w, 9); err != nil {
				t.Fatal(err)
			}
		}
		w.send, w.wait = silent, nil
		start := time.Now()
		if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) {
			t.Fatal(err)
		}
		want := []time.Duration{5 * time.Millisecond, 10 * time.Millisecond, time.Second, 2 * time.Second}
		if len(w.wait) != 4 || [4]time.Duration(w.wait) != [4]time.Duration(want) {
			t.Errorf("patience %v, want %v", w.wait, want)
		}
		if took := time.Since(start); took != 3015*time.Millisecond {
			t.Errorf("gave up after %s: want no less than without early tries", took)
		}
	})
}

// Response times of subnet management do not predict those of other agents: slow agents get no early retries once
// their response times are known.
func TestSlowAgentsGetNoEarlyRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Timeout: time.Second, Retries: 1}, after(time.Millisecond))
		for range 20 {
			req := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
			if _, err := w.link.Exchange(t.Context(), mad.Target{LID: 9}, &req); err != nil {
				t.Fatal(err)
			}
		}
		w.send = after(300 * time.Millisecond)
		for n := range 40 {
			if err := ask(t.Context(), w, 9); err != nil {
				t.Fatal(err)
			}
			if n == 20 {
				w.wait = nil
			}
		}
		for _, patience := range w.wait {
			if patience != time.Second {
				t.Errorf("patience %s with agents that answer in 300 ms", patience)
			}
		}
	})
}

func TestNegativeRetriesSendsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Retries: -1}, after(time.Millisecond))
		for range 20 {
			if err := ask(t.Context(), w, 9); err != nil {
				t.Fatal(err)
			}
		}
		w.send, w.wait = silent, nil
		if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) || len(w.wait) != 1 {
			t.Errorf("%v after %d tries, want one", err, len(w.wait))
		}
	})
}

// 280 devices are queried, 64 at a time, and one in a hundred requests and answers is lost. All exchanges complete, in at
// most three times the time without losses.
func TestOneLossInAHundredCostsLittle(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, loss float64) (took time.Duration, sent uint64) {
		synctest.Test(t, func(t *testing.T) {
			rng, answer := rand.New(rand.NewPCG(1, 2)), after(time.Millisecond)
			var mu sync.Mutex
			w := newLink(t, madlink.Options{InFlight: 256}, func(w *fakeWire, p *mad.Packet, d time.Duration) error {
				mu.Lock()
				lost := rng.Float64() < 1-(1-loss)*(1-loss) // the request, or its answer
				mu.Unlock()
				if lost {
					return nil
				}
				return answer(w, p, d)
			})
			for range 280 { // identity query, which precedes all writes
				req := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
				if _, err := w.link.Exchange(t.Context(), mad.Target{LID: 9}, &req); err != nil {
					t.Error(err)
				}
			}
			before := w.link.Stats().Sent
			start := time.Now()
			devices := make(chan ident.LID, 280)
			for lid := range ident.LID(280) {
				devices <- lid + 1
			}
			close(devices)
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for lid := range devices {
						for range 10 {
							if err := ask(t.Context(), w, lid); err != nil {
								t.Errorf("loss %v: %v", loss, err)
							}
						}
					}
				})
			}
			wg.Wait()
			took, sent = time.Since(start), w.link.Stats().Sent-before
		})
		return took, sent
	}
	without, _ := run(t, 0)
	with, sent := run(t, 0.01)
	t.Logf("%s without losses, %s with; %d requests", without, with, sent)
	if with > 3*without || sent > 2800*104/100 || sent == 2800 {
		t.Errorf("%s without losses, %s and %d requests with: want at most three times, and some of 2800 repeated", without, with, sent)
	}
}

// An answer of subnet administration grows with the fabric, and a repetition would interrupt it.
func TestSubnetAdministrationGetsNoEarlyRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Timeout: time.Second}, after(time.Millisecond))
		for n := range 20 {
			req := mad.NewSA(mad.MethodGetTable, mad.AttrNodeRecord, 0)
			if n == 19 {
				w.send, w.wait = after(900*time.Millisecond), nil
			}
			if _, err := w.link.ExchangeWhole(t.Context(), mad.Target{LID: 1}, &req); err != nil || n == 19 && len(w.wait) != 1 {
				t.Errorf("query %d: %d tries, error %v: want one", n, len(w.wait), err)
			}
		}
	})
}
