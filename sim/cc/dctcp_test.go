package cc

import (
	"math"
	"testing"

	"fairlane/internal/quantity"
)

// markAck returns an acknowledgement with 50,000 bytes, fifty packets, in flight.
func markAck(seq int64, marked bool) *Ack {
	a := &Ack{Seq: seq, Next: seq + 50_000, Acked: 1000, Packets: 1}
	if marked {
		a.Marked = 1
	}
	return a
}

func startDCTCP(t *testing.T, v Values) (*dctcp, Control) {
	t.Helper()
	a := built(t, dctcpSpec(), v).(*dctcp)
	a.Reserve(1)
	return a, a.Start(0, 0, longHaul())
}

func TestDCTCPAlphaFollowsTheFractionOfMarks(t *testing.T) {
	t.Parallel()
	a, c := startDCTCP(t, Values{"initial_alpha": 0})
	seq := int64(1000)
	a.Ack(0, markAck(seq, false), &c) // starts the first window, of 51 packets
	for window := range 40 {
		for i := range 51 {
			seq += 1000
			a.Ack(0, markAck(seq, i%3 == 0), &c) // 17 of 51
		}
		if got, want := gaugesOf(a, 0)[0], (1-math.Pow(15.0/16, float64(window+1)))/3; !agrees(got, want) {
			t.Fatalf("window %d: alpha %g, want %g converging to one third", window, got, want)
		}
	}
}

func TestDCTCPAlphaBoundaryArithmetic(t *testing.T) {
	t.Parallel()
	a, c := startDCTCP(t, Values{"initial_alpha": 0.5})
	a.Ack(0, markAck(1000, true), &c) // starts the window; its mark counts for the window
	if g := gaugesOf(a, 0); g[0] != 0.5 {
		t.Fatalf("the first boundary changed alpha to %g", g[0])
	}
	a.Ack(0, markAck(2000, true), &c)
	a.Ack(0, markAck(52_000, false), &c)
	// two marks of 50,000/1000 + 1 packets
	if got, want := gaugesOf(a, 0)[0], 0.5*15/16+2.0/51/16; !agrees(got, want) {
		t.Errorf("alpha %g, want %g", got, want)
	}
}

// The HPCC paper's simulator computes the size of the first window from the next sequence number, and the size of every later
// window from the packets in flight.
func TestDCTCPFirstWindowBySequence(t *testing.T) {
	t.Parallel()
	a, c := startDCTCP(t, Values{"initial_alpha": 0.5, "first_window": 1})
	a.Ack(0, markAck(20_000, true), &c)  // starts a window of 70,000/1000 + 1 packets
	a.Ack(0, markAck(70_001, false), &c) // ends the window; the next one has 50,000/1000 + 1 packets
	want := 0.5*15/16 + 1.0/71/16
	if got := gaugesOf(a, 0)[0]; !agrees(got, want) {
		t.Fatalf("alpha %g after the first window, want %g", got, want)
	}
	a.Ack(0, markAck(120_002, true), &c)
	if got, want := gaugesOf(a, 0)[0], want*15/16+1.0/51/16; !agrees(got, want) {
		t.Errorf("alpha %g after the second window, want %g", got, want)
	}
}

func TestDCTCPCutsOncePerWindowAndAddsOtherwise(t *testing.T) {
	t.Parallel()
	a, c := startDCTCP(t, Values{"g": 0, "initial_alpha": 0.4})
	step := func(seq int64, marked bool, want float64) {
		t.Helper()
		a.Ack(0, markAck(seq, marked), &c)
		if !agrees(c.Rate, want) || c.Window != windowOf(125_000, c.Rate, 100e9) {
			t.Fatalf("at %d %+v, want rate %g and the window for that rate", seq, c, want)
		}
	}
	step(1000, false, 100e9) // at line rate there is no increase
	step(2000, true, 80e9)
	step(3000, true, 80e9)
	step(51_500, true, 80e9)       // a window boundary, but the window of the cut lasts to 52,000
	step(52_000, true, 80e9)       // the window of the cut has not ended
	step(52_001, true, 64e9)       // the window of the cut has ended: the next cut
	step(102_002, false, 64.615e9) // the window of the cut has ended, and a window boundary
	step(102_500, false, 64.615e9)
	step(152_003, false, 65.23e9)
}

func TestDCTCPStopsAtTheSmallestRate(t *testing.T) {
	t.Parallel()
	a, c := startDCTCP(t, nil)
	for seq := int64(1); seq < 100; seq++ {
		a.Ack(0, markAck(seq*60_000, true), &c)
	}
	if c.Rate != 1e9 || c.Window != 1250 {
		t.Errorf("%+v under marks alone, want 1 Gbit/s and a hundredth of the window", c)
	}
	// Each acknowledgement ends a window of 51 packets with one mark; the first window has two marks.
	want := 15.0/16 + 2.0/51/16
	for range 97 {
		want = want*15/16 + 1.0/51/16
	}
	if got := gaugesOf(a, 0)[0]; !agrees(got, want) {
		t.Errorf("alpha %g, want %g", got, want)
	}
}

// With DCTCP the queue stays near the marking threshold and the link stays busy (DCTCP, SIGCOMM 2010, section 3.3): sixteen
// windows of 52 KB would otherwise hold 800 KB.
func TestDCTCPHoldsTheQueueAtTheThreshold(t *testing.T) {
	t.Parallel()
	sizes := make([]int64, 16)
	for i := range sizes {
		sizes[i] = 1e9
	}
	s := newStar(built(t, dctcpSpec(), nil), sizes, make([]quantity.Picoseconds, len(sizes)))
	s.mark = 300_000
	s.run(5 * quantity.Millisecond)
	s.peak = 0
	before := s.delivered()
	s.run(10 * quantity.Millisecond)
	use := float64(s.delivered()-before) / 1000 * 1048 * 8 / 5e-3 / 100e9
	if use < 0.99 {
		t.Errorf("%.3f of the link used", use)
	}
	if s.peak < 300_000 || s.peak > 400_000 {
		t.Errorf("a queue of at most %d bytes, want a little above the threshold of 300 KB", s.peak)
	}
}
