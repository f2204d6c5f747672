package wrcc

import (
	"testing"

	"fairlane/internal/quantity"
)

// A gate whose period changes clears its table, and enforces the new gap.
func TestGatePeriodCanChange(t *testing.T) {
	t.Parallel()
	g, err := NewGate(10*quantity.Microsecond, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at     quantity.Picoseconds
		period quantity.Picoseconds // 0: unchanged
		want   bool
	}{
		{0, 0, true}, {9, 0, false}, {10, 0, true}, {11, 50, true}, {60, 0, false}, {61, 0, true}, {62, -1, true}, {62, 0, false}, {63, 0, true},
	} {
		if c.period != 0 {
			g.SetPeriod(c.period * quantity.Microsecond)
		}
		if got := g.Allow(5, c.at*quantity.Microsecond); got != c.want {
			t.Errorf("at %d us: %v, want %v", c.at, got, c.want)
		}
	}
}

// When its settings change, a sender keeps its rate except for the new minimum, and its timer unless T1 changes.
func TestSenderSettingsCanChange(t *testing.T) {
	t.Parallel()
	const us = quantity.Microsecond
	p := SenderParams{T1: 24 * us, MinRate: 1e9}
	s := NewSender(&p, SenderFlow{Line: 100e9, Weight: 2, RTT: 10 * us, Packet: 1060}, 0)
	s.Ack(&p, us, 1, 10e9, 0)
	before, deadline := s.Rate(), s.Deadline()
	q := p
	q.MinRate = 5e9
	if s.Adopt(&p, &q, 2*us); s.Rate() != before || s.Deadline() != deadline {
		t.Errorf("rate %g and deadline %s, want %g and %s", s.Rate(), s.Deadline(), before, deadline)
	}
	p, q.MinRate, q.T1 = q, 30e9, 100*us
	if s.Adopt(&p, &q, 3*us); s.Rate() != 30e9 || s.Deadline() != 103*us {
		t.Errorf("rate %g and deadline %s, want the minimum rate and the new period from now", s.Rate(), s.Deadline())
	}
	p, q.Increase, q.MinRate = q, IncreaseAsk, 200e9
	if s.Adopt(&p, &q, 4*us); s.Rate() != 100e9 || s.Deadline() <= 114*us {
		t.Errorf("rate %g and deadline %s, want line rate and a wait for silence", s.Rate(), s.Deadline())
	}
	s.Reweigh(4)
	if s.Rate() != 100e9 || s.FairRate() != 25e9 {
		t.Errorf("rate %g, fair rate %g with weight 4", s.Rate(), s.FairRate())
	}
}
