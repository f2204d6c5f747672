package madlink_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/madlink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const header = 8

// fakeWire passes every datagram to a function of the test.
type fakeWire struct {
	link *madlink.Link
	send func(w *fakeWire, p *mad.Packet, patience time.Duration) error

	mu   sync.Mutex
	seen []mad.Packet
	wait []time.Duration
}

func (w *fakeWire) Address(d []byte, to mad.Target) error {
	if len(d) != header+mad.Size || !bytes.Equal(d[:header], make([]byte, header)) {
		return errors.New("the envelope is not zero")
	}
	if to.LID == 666 {
		return errors.New("no such place")
	}
	d[0] = 1
	return nil
}

func (w *fakeWire) Send(d []byte, patience time.Duration) error {
	p := mad.Packet(d[header:])
	w.mu.Lock()
	w.seen, w.wait = append(w.seen, p), append(w.wait, patience)
	w.mu.Unlock()
	return w.send(w, &p, patience)
}

func (w *fakeWire) answer(p *mad.Packet) {
	a := *p
	a.Respond(mad.StatusOK)
	a.SetTID(a.TID() | 0x1234<<32) // the kernel uses the upper half
	w.link.Deliver(madlink.Answered, &a, mad.Size, nil)
}

func answerAll(w *fakeWire, p *mad.Packet, _ time.Duration) error {
	w.answer(p)
	return nil
}

func silent(*fakeWire, *mad.Packet, time.Duration) error { return nil }

func newLink(t testing.TB, o madlink.Options, send func(*fakeWire, *mad.Packet, time.Duration) error) *fakeWire {
	t.Helper()
	o, err := o.WithDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeWire{send: send}
	w.link = madlink.New(o, header, w)
	return w
}

func ask(ctx context.Context, w *fakeWire, lid ident.LID) error {
	req := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 1)
	_, err := w.link.Exchange(ctx, mad.Target{LID: lid}, &req)
	return err
}

func TestOptionsOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]madlink.Options{
		"1025 requests in flight: want 1 to 1024": {InFlight: 1025},
		"-1 requests in flight: want":             {InFlight: -1},
		"-1 requests in flight to one target":     {PerTarget: -1},
		"timeout -1s: want more than 0":           {Timeout: -time.Second},
	} {
		if _, err := o.WithDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v: want %q", o, err, want)
		}
	}
	o, err := madlink.Options{Retries: -1}.WithDefaults()
	if err != nil || o.InFlight != 64 || o.Timeout != 500*time.Millisecond || o.Retries != 0 {
		t.Errorf("defaults %+v, error %v", o, err)
	}
	if o, _ := (madlink.Options{}).WithDefaults(); o.Retries != 2 {
		t.Errorf("%d retries by default, want 2", o.Retries)
	}
}

func TestPatienceDoublesUpToEightTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Timeout: time.Second, Retries: 5}, silent)
		start := time.Now()
		if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "in 6 tries") {
			t.Errorf("error %v: want mad.ErrTimeout after 6 tries", err)
		}
		if took := time.Since(start); took != (1+2+4+8+8+8)*time.Second {
			t.Errorf("gave up after %s", took)
		}
		for i, want := range []time.Duration{1, 2, 4, 8, 8, 8} {
			if w.wait[i] != want*time.Second || w.seen[i].TID() != w.seen[0].TID() {
				t.Errorf("try %d: patience %s, transaction %x: want %d s and %x", i, w.wait[i], w.seen[i].TID(), want, w.seen[0].TID())
			}
		}
		if st := w.link.Stats(); st.Sent != 6 || st.Retries != 5 || st.Timeouts != 1 {
			t.Errorf("statistics %+v", st)
		}
	})
}

// When the wire reports an expired try, the next one starts at once, without the grace.
func TestAnExpiredTryIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		w := newLink(t, madlink.Options{Timeout: time.Second, Grace: time.Hour}, func(w *fakeWire, p *mad.Packet, _ time.Duration) error {
			if tries++; tries == 3 {
				w.answer(p)
				return nil
			}
			w.link.Deliver(madlink.Expired, p, 24, nil)
			return nil
		})
		start := time.Now()
		if err := ask(t.Context(), w, 9); err != nil || tries != 3 || time.Since(start) != 0 {
			t.Errorf("%d tries in %s, error %v: want 3 at once", tries, time.Since(start), err)
		}
		tries = 3 // every try expires
		if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) || tries != 6 {
			t.Errorf("%d tries, error %v: want mad.ErrTimeout after 3", tries-3, err)
		}
		w.send = silent // without a report
		start = time.Now()
		if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) || time.Since(start) != 7*time.Second+3*time.Hour {
			t.Errorf("a silent wire: error %v after %s: want every grace", err, time.Since(start))
		}
	})
}

func TestUndeliverableIsFinal(t *testing.T) {
	t.Parallel()
	w := newLink(t, madlink.Options{}, func(w *fakeWire, p *mad.Packet, _ time.Duration) error {
		w.link.Deliver(madlink.Undeliverable, p, mad.Size, nil)
		return nil
	})
	if err := ask(t.Context(), w, 9); !errors.Is(err, mad.ErrTimeout) || !strings.Contains(err.Error(), "not delivered") {
		t.Errorf("error %v", err)
	}
	if st := w.link.Stats(); st.Sent != 1 || st.Undeliverable != 1 || st.Timeouts != 0 {
		t.Errorf("statistics %+v", st)
	}
}

func TestExchangeWholeReturnsTheFullResponse(t *testing.T) {
	t.Parallel()
	rest := []byte{1, 2, 3}
	w := newLink(t, madlink.Options{InFlight: 1}, func(w *fakeWire, p *mad.Packet, _ time.Duration) error {
		a := *p
		a.Respond(mad.StatusOK)
		w.link.Deliver(madlink.Answered, &a, mad.Size+len(rest), rest)
		return nil
	})
	req := mad.NewSA(mad.MethodGetTable, mad.AttrNodeRecord, 0)
	a, err := w.link.ExchangeWhole(t.Context(), mad.Target{LID: 1}, &req)
	if err != nil || a.Length != 259 || !bytes.Equal(a.Rest, rest) || a.Packet.Method() != mad.MethodGetTableResp {
		t.Errorf("answer of %d bytes, rest %v, error %v", a.Length, a.Rest, err)
	}
	rest = nil
	if w.wait[0] != 8*madlink.DefaultTimeout {
		t.Errorf("patience %s for a long answer: want %s", w.wait[0], 8*madlink.DefaultTimeout)
	}
	if a, err = w.link.ExchangeWhole(t.Context(), mad.Target{LID: 1}, &req); err != nil || a.Rest != nil || a.Length != 256 {
		t.Errorf("the next answer in the same place: %d bytes, rest %v, error %v", a.Length, a.Rest, err)
	}
}

func TestRequestsToATargetAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		held := map[ident.LID][]*mad.Packet{}
		var mu sync.Mutex
		w := newLink(t, madlink.Options{PerTarget: 2, Timeout: time.Hour}, func(_ *fakeWire, p *mad.Packet, _ time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			held[ident.LID(p.Modifier())] = append(held[ident.LID(p.Modifier())], p)
			return nil
		})
		exchange := func(to mad.Target, req mad.Packet) {
			if _, err := w.link.Exchange(t.Context(), to, &req); err != nil {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() { exchange(mad.Target{LID: 1}, mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 1)) })
			wg.Go(func() {
				exchange(mad.Target{Path: []ident.PortNum{1, 2}}, mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 2))
			})
			wg.Go(func() {
				exchange(mad.Target{Path: []ident.PortNum{1, 3}}, mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 3))
			})
		}
		for answered := 0; answered < 15; {
			synctest.Wait()
			mu.Lock()
			for lid, list := range held {
				if len(list) > 2 {
					t.Errorf("%d requests under way to target %d: want 2 at most", len(list), lid)
				}
				answered += len(list)
				held[lid] = nil
				for _, p := range list {
					w.answer(p)
				}
			}
			mu.Unlock()
		}
		wg.Wait()
	})
}

func TestWaitingForATurnEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{PerTarget: 1, Timeout: time.Hour}, silent)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := ask(t.Context(), w, 9); !errors.Is(err, madlink.ErrClosed) {
				t.Errorf("under way: error %v: want ErrClosed", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if err := ask(ctx, w, 9); err == nil || err.Error() != "enough" {
			t.Errorf("waiting: error %v: want the context's cause", err)
		}
		wg.Go(func() {
			if err := ask(t.Context(), w, 9); !errors.Is(err, madlink.ErrClosed) {
				t.Errorf("waiting: error %v: want ErrClosed", err)
			}
		})
		synctest.Wait()
		w.link.Close()
		w.link.Close()
		wg.Wait()
		w.link.Fail(errors.New("late")) // after Close the reason is Close
		if err := ask(t.Context(), w, 9); !errors.Is(err, madlink.ErrClosed) || strings.Contains(err.Error(), "late") {
			t.Errorf("after Close: error %v", err)
		}
	})
}

func TestABrokenWireEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newLink(t, madlink.Options{Timeout: time.Hour}, silent)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				err := ask(t.Context(), w, 9)
				if !errors.Is(err, madlink.ErrClosed) || !strings.Contains(err.Error(), "unplugged") {
					t.Errorf("error %v: want ErrClosed and the reason", err)
				}
			})
		}
		synctest.Wait()
		w.link.Fail(errors.New("unplugged"))
		wg.Wait()
		if err := ask(t.Context(), w, 9); !errors.Is(err, madlink.ErrClosed) || len(w.seen) != 3 {
			t.Errorf("after the failure: error %v, %d sent", err, len(w.seen))
		}
	})
}

func TestAFailedSendFreesItsPlace(t *testing.T) {
	t.Parallel()
	why := errors.New("full")
	w := newLink(t, madlink.Options{InFlight: 1, PerTarget: 1}, func(*fakeWire, *mad.Packet, time.Duration) error { return why })
	if err := ask(t.Context(), w, 9); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if err := ask(t.Context(), w, 666); err == nil || !strings.Contains(err.Error(), "no such place") {
		t.Errorf("error %v", err)
	}
	w.send = answerAll
	if err := ask(t.Context(), w, 9); err != nil {
		t.Errorf("the place is not free again: %v", err)
	}
}

func TestRequestsThatDoNotFitTheirTargetAreRefused(t *testing.T) {
	t.Parallel()
	w := newLink(t, madlink.Options{}, answerAll)
	dr, smp := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	for _, c := range []struct {
		to  mad.Target
		req mad.Packet
	}{
		{mad.Target{}, smp},
		{mad.Target{LID: 4}, dr},
		{mad.Target{LID: ident.PermissiveLID}, smp},
		{mad.Target{Path: make([]ident.PortNum, 64)}, dr},
	} {
		if _, err := w.link.Exchange(t.Context(), c.to, &c.req); err == nil {
			t.Errorf("%s to %s is not refused", c.req.Class(), c.to)
		}
	}
	if len(w.seen) != 0 {
		t.Errorf("%d datagrams sent: want none", len(w.seen))
	}
}
