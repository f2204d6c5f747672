package cc

import (
	"testing"

	"fairlane/internal/quantity"
)

// timelyRun passes round-trip times to an algorithm, one acknowledgement per round trip, and returns the control.
func timelyRun(t *testing.T, v Values, start float64, rtts ...quantity.Picoseconds) (*timely, Control) {
	t.Helper()
	a := built(t, timelySpec(), v).(*timely)
	a.Reserve(1)
	c := a.Start(0, 0, longHaul())
	if start > 0 {
		a.flows.at(0).rate = start
	}
	for i, rtt := range rtts {
		seq := int64(i+1) * 1000
		a.Ack(0, &Ack{Seq: seq, Next: seq + 999, RTT: rtt, Acked: 1000, Packets: 1}, &c)
	}
	return a, c
}

func TestTimelyFollowsTheGradient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		rtts []quantity.Picoseconds
		want float64 // rate, from 50 Gbit/s
	}{
		{"the first sample changes nothing", []quantity.Picoseconds{400 * usec}, 0},
		{"below the low threshold the rate grows for any gradient", []quantity.Picoseconds{10 * usec, 49 * usec}, 50.1e9},
		{"a falling round-trip time raises the rate", []quantity.Picoseconds{200 * usec, 190 * usec}, 50.1e9},
		{"a constant round-trip time raises the rate", []quantity.Picoseconds{200 * usec, 200 * usec}, 50.1e9},
		// d = 0.875 * 4 us, gradient 3.5/20, cut 0.8 of it
		{"a rising round-trip time cuts the rate by the gradient", []quantity.Picoseconds{200 * usec, 204 * usec}, 50e9 * (1 - 0.8*0.175)},
		// then d = 0.125 * 3.5 + 0.875 * 2 = 2.1875
		{"the gradient is smoothed", []quantity.Picoseconds{200 * usec, 204 * usec, 206 * usec},
			50e9 * (1 - 0.8*0.175) * (1 - 0.8*2.1875/20)},
		{"above the high threshold the rate falls for any gradient", []quantity.Picoseconds{900 * usec, 800 * usec},
			50e9 * (1 - 0.8*(1-500.0/800))},
		{"a steep rise stops at the smallest rate", []quantity.Picoseconds{60 * usec, 400 * usec}, 1e9},
	} {
		_, ctl := timelyRun(t, nil, 50e9, c.rtts...)
		want := c.want
		if want == 0 {
			want = 100e9 // the control from the start
		}
		if !agrees(ctl.Rate, want) || ctl.Window != 0 {
			t.Errorf("%s: %+v, want rate %g and no window", c.name, ctl, want)
		}
	}
}

func TestTimelyGrowsFasterAfterFiveIncreases(t *testing.T) {
	t.Parallel()
	rtts := []quantity.Picoseconds{10 * usec}
	want := 10e9
	for i := range 8 {
		rtts = append(rtts, 10*usec)
		if want += 100e6; i >= 5 {
			want += 400e6
		}
		if _, c := timelyRun(t, nil, 10e9, rtts...); !agrees(c.Rate, want) {
			t.Fatalf("after %d increases %g, want %g", i+1, c.Rate, want)
		}
	}
	// A decrease restarts the count.
	rtts = append(rtts, 600*usec, 10*usec)
	want = want*(1-0.8*(1-500.0/600)) + 100e6
	if _, c := timelyRun(t, nil, 10e9, rtts...); !agrees(c.Rate, want) {
		t.Errorf("after a decrease %g, want %g", c.Rate, want)
	}
}

func TestTimelyReactsOncePerRoundTrip(t *testing.T) {
	t.Parallel()
	a, c := timelyRun(t, nil, 50e9, 10*usec, 10*usec)
	rate := c.Rate
	next := a.flows.at(0).last
	a.Ack(0, &Ack{Seq: next, Next: next + 5000, RTT: 400 * usec, Packets: 1}, &c)
	if c.Rate != rate {
		t.Errorf("an acknowledgement within the round trip changed %g to %g", rate, c.Rate)
	}
	a.Ack(0, &Ack{Seq: next + 1, Next: next + 5000, RTT: 20 * usec, Packets: 1}, &c)
	if c.Rate <= rate {
		t.Errorf("the first acknowledgement after the round trip did not raise the rate: %g", c.Rate)
	}
}

func TestTimelyStepsScaleWithTheNIC(t *testing.T) {
	t.Parallel()
	a := built(t, timelySpec(), nil)
	a.Reserve(1)
	f := longHaul()
	f.LineRate = 10 * quantity.Gbps
	a.Start(0, 0, f)
	a.(*timely).flows.at(0).rate = 5e9
	var c Control
	for seq := int64(1); seq <= 2; seq++ {
		a.Ack(0, &Ack{Seq: seq, Next: seq, RTT: usec, Packets: 1}, &c)
	}
	if !agrees(c.Rate, 5.01e9) { // the paper's own step: 10 Mbit/s
		t.Errorf("rate %g, want 5.01e9", c.Rate)
	}
}

func TestTimelyRefusesContradictions(t *testing.T) {
	t.Parallel()
	spec := timelySpec()
	for _, v := range []Values{{"t_low": 2e9, "t_high": 1e9}, {"hai_after": 2.5}} {
		if _, err := spec.Build(v); err == nil {
			t.Errorf("%v is accepted", v)
		}
	}
}

// At 100 Gbit/s the low threshold corresponds to a queue of about 600 KB. Below the threshold, no flow slows down.
func TestTimelyNeedsAQueueAtHighSpeed(t *testing.T) {
	t.Parallel()
	sizes := make([]int64, 8)
	for i := range sizes {
		sizes[i] = 1e9
	}
	s := newStar(built(t, timelySpec(), nil), sizes, make([]quantity.Picoseconds, len(sizes)))
	s.run(10 * quantity.Millisecond)
	s.peak, s.maxRTT = 0, 0
	before := s.delivered()
	s.run(20 * quantity.Millisecond)
	use := float64(s.delivered()-before) / 1000 * 1056 * 8 / 1e-2 / 100e9
	if use < 0.75 { // the oscillation of TIMELY leaves part of the link idle
		t.Errorf("%.2f of the link used", use)
	}
	if s.peak < 500_000 {
		t.Errorf("a queue of at most %d bytes, want about the 570 KB of the low threshold", s.peak)
	}
	if s.maxRTT > 500*usec {
		t.Errorf("round trips up to %s, want below the high threshold", s.maxRTT)
	}
}
