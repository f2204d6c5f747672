package cc

import (
	"math"
	"testing"
	"unsafe"

	"fairlane/internal/quantity"
)

func startSwift(t *testing.T, v Values) (*swift, Control) {
	t.Helper()
	a := built(t, swiftSpec(), v).(*swift)
	a.Reserve(1)
	return a, a.Start(0, 0, longHaul())
}

func delayAck(now, rtt quantity.Picoseconds) *Ack {
	return &Ack{Now: now, RTT: rtt, Acked: 1000, Packets: 1}
}

// Topology scaling is linear in hops. Flow scaling is proportional to 1/sqrt(cwnd) between fs_min_cwnd and fs_max_cwnd
// (Swift, section 3.5).
func TestSwiftTargetScalesWithPathAndFlows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		v    Values
		cwnd float64
		want float64 // us
	}{
		{"base round trip, three switches, large window", nil, 100, 10 + 3},
		{"above fs_max_cwnd: no flow term", nil, 1000, 13},
		{"below fs_min_cwnd: all of fs_range", nil, 0.1, 13 + 20},
		{"and below it", nil, 0.01, 33},
		{"between: proportional to 1/sqrt(cwnd)", nil, 1, 13 + 20*(1-0.1)/(math.Sqrt(10)-0.1)},
		{"between: half the factor at four times the window", nil, 4, 13 + 20*(0.5-0.1)/(math.Sqrt(10)-0.1)},
		{"base_target set", Values{"base_target": 25e6, "hop_target": 2e6, "fs_range": 0}, 1, 31},
	} {
		a, _ := startSwift(t, c.v)
		a.flows.at(0).cwnd = c.cwnd
		if got := gaugesOf(a, 0)[1]; !agrees(got, c.want) {
			t.Errorf("%s: target %g us, want %g", c.name, got, c.want)
		}
	}
}

func TestSwiftAddsOnePacketARoundTrip(t *testing.T) {
	t.Parallel()
	for _, cwnd := range []float64{5, 10, 60} {
		a, c := startSwift(t, nil)
		a.flows.at(0).cwnd = cwnd
		for range int(cwnd) {
			a.Ack(0, delayAck(usec, usec), &c)
		}
		// Each acknowledgement adds ai/cwnd with a growing window, so the sum is a little less than one packet.
		got := a.flows.at(0).cwnd
		if want := math.Sqrt(cwnd*cwnd + 2*math.Floor(cwnd)); math.Abs(got-want) > 0.02*want || got > cwnd+1 {
			t.Errorf("a round trip below the target took %g to %g, want %g", cwnd, got, want)
		}
	}
	a, c := startSwift(t, Values{"ai": 0.5})
	a.flows.at(0).cwnd = 0.2
	a.Ack(0, delayAck(usec, usec), &c)
	if got := a.flows.at(0).cwnd; !agrees(got, 0.7) {
		t.Errorf("below one packet each acknowledgement adds ai: %g, want 0.7", got)
	}
}

func TestSwiftDecreasesOncePerRoundTrip(t *testing.T) {
	t.Parallel()
	// Without scaling the target is 20 us.
	v := Values{"base_target": 20e6, "hop_target": 0, "fs_range": 0}
	a, c := startSwift(t, v)
	a.flows.at(0).cwnd = 40
	step := func(now, rtt quantity.Picoseconds, want float64) {
		t.Helper()
		a.Ack(0, delayAck(now, rtt), &c)
		if got := a.flows.at(0).cwnd; !agrees(got, want) {
			t.Fatalf("at %s after %s: window %g, want %g", now, rtt, got, want)
		}
	}
	want := 40 * (1 - 0.8*5/25)
	step(100*usec, 25*usec, want)
	step(110*usec, 25*usec, want)
	step(124*usec, 25*usec, want) // one round trip is not yet over
	want *= 1 - 0.8*0.2
	step(125*usec, 25*usec, want)
	want *= 0.5 // 0.8 * 80/100 is more than max_mdf
	step(300*usec, 100*usec, want)
	step(390*usec, 100*usec, want) // acknowledgements too early for a cut do not postpone the next cut
	want *= 0.5
	step(400*usec, 100*usec, want)
	step(1000*usec, 20*usec, want) // at the target: no change
	want += 1 / want
	step(1001*usec, 20*usec-1, want)
}

func TestSwiftReactsToALossWithTheLargestDecrease(t *testing.T) {
	t.Parallel()
	a, c := startSwift(t, Values{"max_mdf": 0.3})
	a.flows.at(0).cwnd = 10
	a.Ack(0, &Ack{Now: 50 * usec, RTT: 10 * usec, Nack: true, Packets: 1}, &c)
	a.Ack(0, &Ack{Now: 51 * usec, RTT: 10 * usec, Nack: true, Packets: 1}, &c)
	if got := a.flows.at(0).cwnd; !agrees(got, 7) {
		t.Errorf("window %g after two losses in a round trip, want 7", got)
	}
}

func TestSwiftControlIsWindowThenPace(t *testing.T) {
	t.Parallel()
	a, c := startSwift(t, nil)
	if c.Rate != 100e9 || c.Window != 125_000 {
		t.Errorf("the control at the start is %+v, want one bandwidth-delay product without pacing", c)
	}
	s := a.flows.at(0)
	s.rtt = 20 * usec
	for _, v := range []struct {
		cwnd   float64
		rate   float64
		window int64
	}{
		{5.9, 100e9, 5000}, {1, 100e9, 1000},
		{0.5, 0.5 * 1090 * 8 / 20e-6, 1000}, // one packet per 40 us
		{0.01, 0.01 * 1090 * 8 / 20e-6, 1000},
	} {
		s.cwnd = v.cwnd
		s.control(&c)
		if !agrees(c.Rate, v.rate) || c.Window != v.window {
			t.Errorf("window %g: %+v, want rate %g, window %d", v.cwnd, c, v.rate, v.window)
		}
	}
}

func TestSwiftWindowHasBounds(t *testing.T) {
	t.Parallel()
	a, c := startSwift(t, Values{"start_cwnd": 3})
	for i := range 100_000 {
		a.Ack(0, delayAck(quantity.Picoseconds(i)*usec, usec), &c)
	}
	// The link carries 33 us of 1090-byte packets.
	if got, want := a.flows.at(0).cwnd, 100e9*33e-6/8/1090; !agrees(got, want) {
		t.Errorf("largest window %g, want %g", got, want)
	}
	for i := range 1000 {
		a.Ack(0, delayAck(quantity.Second+quantity.Picoseconds(i)*quantity.Millisecond, quantity.Millisecond), &c)
	}
	if got := a.flows.at(0).cwnd; got != 0.01 {
		t.Errorf("smallest window %g, want 0.01", got)
	}
}

func TestSwiftRefusesContradictions(t *testing.T) {
	t.Parallel()
	spec := swiftSpec()
	for _, v := range []Values{{"fs_min_cwnd": 5, "fs_max_cwnd": 5}, {"max_cwnd": 0.5}} {
		if _, err := spec.Build(v); err == nil {
			t.Errorf("%v is accepted", v)
		}
	}
}

func TestSwiftFlowIsOneCacheLine(t *testing.T) {
	t.Parallel()
	if n := unsafe.Sizeof(swiftFlow{}); n > 64 {
		t.Errorf("%d bytes, want at most 64", n)
	}
}

// With many flows, each window is a few packets or less, and the delay settles at the target for that window. The link stays
// busy.
func TestSwiftHoldsTheDelayAtTheTarget(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 20, 100} {
		sizes := make([]int64, n)
		for i := range sizes {
			sizes[i] = 1e9
		}
		a := built(t, swiftSpec(), nil).(*swift)
		s := newStar(a, sizes, make([]quantity.Picoseconds, n))
		s.run(5 * quantity.Millisecond)
		s.sumRTT, s.acks = 0, 0
		before := s.delivered()
		s.run(10 * quantity.Millisecond)
		use := float64(s.delivered()-before) / 1000 * 1048 * 8 / 5e-3 / 100e9
		var target float64
		for i := range sizes {
			target = max(target, gaugesOf(a, int32(i))[1])
		}
		rtt := float64(s.sumRTT) / float64(s.acks) / float64(usec)
		t.Logf("%d flows: mean round trip %.2f us, target %.2f us", n, rtt, target)
		if use < 0.95 {
			t.Errorf("%d flows use %.3f of the link", n, use)
		}
		// In one round trip each flow adds a packet of 83 ns before the delay reacts; the mean is half of that.
		if rtt > target+float64(n)*0.083/2 || rtt < 0.75*target {
			t.Errorf("%d flows: a mean round trip of %.1f us, target %.1f", n, rtt, target)
		}
	}
}
