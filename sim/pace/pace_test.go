package pace

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/internal/quantity"
)

// still is a fabric with an event at a fixed interval, or without events.
type still struct {
	now, every quantity.Picoseconds
	longest    quantity.Picoseconds
	events     uint64
}

func (s *still) Now() quantity.Picoseconds { return s.now }
func (s *still) Events() uint64            { return s.events }
func (s *still) RunUntil(t quantity.Picoseconds) {
	s.longest = max(s.longest, t-s.now)
	if s.every > 0 {
		s.events += uint64(t/s.every - s.now/s.every)
	}
	s.now = max(s.now, t)
}

func TestTimePassesAtItsScale(t *testing.T) {
	t.Parallel()
	for _, scale := range []float64{0.001, 0.5, 1, 20} {
		for _, every := range []quantity.Picoseconds{0, quantity.Microsecond} {
			synctest.Test(t, func(t *testing.T) {
				var mu Turnstile
				net := &still{every: every}
				c := New(&mu, net, Options{TimeScale: scale})
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- c.Run(ctx) }()
				time.Sleep(2 * time.Second)
				mu.Lock()
				got, want := net.now.Seconds(), 2*scale
				mu.Unlock()
				if got > want || got < want-1.1*scale*idleSleep.Seconds() {
					t.Errorf("scale %v: %v simulated seconds in 2 s", scale, got)
				}
				if p := c.Pace(); math.Abs(p.Scale/scale-1) > 0.05 || p.Behind > 0 {
					t.Errorf("scale %v: measured %+v", scale, p)
				}
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if net.longest > defaultSlice {
					t.Errorf("a slice of %s, want at most %s", net.longest, defaultSlice)
				}
			})
		}
	}
}

// Wake ends a sleep early.
func TestWakeEndsANap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		net := &still{}
		c := New(&mu, net, Options{TimeScale: 1e-6}) // 10 ms of sleep are 10 ns of simulated time
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		synctest.Wait()
		before := net.now
		time.Sleep(time.Millisecond)
		c.Wake()
		synctest.Wait()
		if net.now <= before {
			t.Error("Wake did not end the sleep")
		}
		cancel()
		<-done
	})
}

// In real time some simulated time is always due when a step ends. Run must sleep nevertheless.
func TestRunSleepsOnceItHasCaughtUp(t *testing.T) {
	t.Parallel()
	run := newRunner(New(&Turnstile{}, &still{}, Options{TimeScale: 1}), time.Now())
	if sleep := run.step(); sleep < busySleep {
		t.Errorf("a run that is up to date sleeps %s, want at least %s", sleep, busySleep)
	}
}

func TestRunForgivesDebt(t *testing.T) {
	t.Parallel()
	c := New(&Turnstile{}, &still{}, Options{TimeScale: 1})
	start := time.Unix(1000, 0)
	run := newRunner(c, start)
	late := start.Add(10 * time.Second)
	run.dropLag(late, 0)
	if got := c.Pace().Behind; got != 10*time.Second {
		t.Errorf("behind by %s, want 10 s", got)
	}
	if due := run.target(late); due != quantity.Elapsed(maxLag) {
		t.Errorf("after a lag of 10 s %s are due, want 100 ms", due)
	}
}

func TestSliceAdaptsWithinItsBounds(t *testing.T) {
	t.Parallel()
	run := newRunner(New(&Turnstile{}, &still{}, Options{TimeScale: 1, Slice: quantity.Millisecond}), time.Unix(0, 0))
	for range 100 {
		run.adapt(time.Second)
	}
	if run.slice != minSlice {
		t.Errorf("slow slices shrink to %s, want %s", run.slice, minSlice)
	}
	for range 100 {
		run.adapt(0)
	}
	if run.slice != quantity.Millisecond {
		t.Errorf("fast slices grow to %s, want 1 ms", run.slice)
	}
}
