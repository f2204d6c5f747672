package simdev

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"fairlane/sim/fabric"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
)

// running runs the devices for a span of virtual wall time. Computation takes no virtual time.
func running(t *testing.T, r *rig, span time.Duration, f func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.dev.Run(ctx) }()
	time.Sleep(span)
	if f != nil {
		f()
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRunKeepsItsTimeScale(t *testing.T) {
	t.Parallel()
	for _, scale := range []float64{0.001, 0.5, 1, 20} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Options{TimeScale: scale})
			running(t, r, 2*time.Second, func() {
				// The last sleep may take up to 10 ms.
				got, want := r.dev.Now().Seconds(), 2*scale
				if got > want || got < want-0.011*scale {
					t.Errorf("scale %v: %v simulated seconds in 2 s", scale, got)
				}
				if p := r.dev.Pace(); math.Abs(p.Scale/scale-1) > 0.05 || p.Behind > 0 {
					t.Errorf("scale %v: measured %+v", scale, p)
				}
			})
		})
	}
}

func TestUnlimitedRunIdlesInRealTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{})
		running(t, r, time.Second, func() {
			if got := r.dev.Now().Seconds(); got < 0.9 || got > 1.2 {
				t.Errorf("%v simulated seconds in an idle second", got)
			}
		})
	})
}

// In synctest the wall clock does not advance while the run computes, so an unlimited run with traffic would never sleep.
// This test uses real time.
func TestUnlimitedRunWithTrafficNeverSleeps(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	id := r.flow(host1, host2, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.dev.Run(ctx) }()
	for delivered := uint64(0); delivered < 1<<20; {
		r.dev.With(func(n *fabric.Network) { delivered = n.Delivered(id) })
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Handlers get the lock while the run computes without pause.
func TestHandlersAreServedWhileTheRunComputes(t *testing.T) {
	t.Parallel()
	r := newRig(t, Options{})
	for sl := range 4 {
		r.flow(host1, host2, ident.SL(sl))
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.dev.Run(ctx) }()
	l, err := r.dev.Local(r.from)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		req := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0)
		if _, err := l.Exchange(ctx, mad.Target{}, &req); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func BenchmarkHandleNodeInfo(b *testing.B) {
	r := newRig(b, Options{})
	p := r.directed(mad.MethodGet, mad.AttrNodeInfo, 0, 1, 39, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, v := r.send(0, p); v.Outcome != Replied {
			b.Fatal(v.Outcome)
		}
	}
}

func BenchmarkHandlePortInfo(b *testing.B) {
	r := newRig(b, Options{})
	p := r.directed(mad.MethodGet, mad.AttrPortInfo, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, v := r.send(0, p); v.Outcome != Replied {
			b.Fatal(v.Outcome)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newRig(b, Options{})
	}
}
