package wrcc_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/wrcc"
)

func sender(inc wrcc.Increase, weight float64) (wrcc.SenderParams, wrcc.Sender) {
	p := wrcc.SenderParams{T1: 24 * us, MinRate: 1e8, Increase: inc}
	return p, wrcc.NewSender(&p, wrcc.SenderFlow{Line: 100e9, Weight: weight, RTT: 11*us + 1, Packet: 1060, Domain: 7}, 0)
}

func TestSenderStartsAtLineRateWithTheBurstMark(t *testing.T) {
	t.Parallel()
	for inc, weights := range map[wrcc.Increase]map[float64]uint32{
		wrcc.IncreaseTimer: {1: 100_000, 4: 25_000, 0.5: 200_000},
		wrcc.IncreaseAsk:   {1: 100_000, 4: 25_000, 0.5: 200_000}, // a request is at most the line rate
	} {
		for weight, want := range weights {
			p, s := sender(inc, weight)
			got := s.Header(&p)
			if got != (wrcc.Header{Domain: 7, FBDP: 1, FairRate: want, RTT: 12}) || s.Rate() != 100e9 || !got.Burst() {
				t.Errorf("increase %d, weight %v: %+v at %v", inc, weight, got, s.Rate())
			}
		}
	}
}

func TestSenderFollowsAcknowledgements(t *testing.T) {
	t.Parallel()
	p, s := sender(wrcc.IncreaseTimer, 4)
	s.Ack(&p, us, 10, 5e9, 7)
	if s.Rate() != 20e9 || s.FairRate() != 5e9 || s.Header(&p).Burst() {
		t.Fatalf("rate %v, fair %v after an answer of 5 Gbit/s from the own data centre", s.Rate(), s.FairRate())
	}
	s.Ack(&p, us, 10, 1e9, 7) // the same number
	s.Ack(&p, us, 9, 1e9, 7)
	if s.Rate() != 20e9 {
		t.Errorf("rate %v: an old acknowledgement was followed", s.Rate())
	}
	s.Ack(&p, us, 11, 0, 8) // no rate
	if s.Rate() != 20e9 || !s.Header(&p).Burst() {
		t.Errorf("rate %v, burst %v after an answer without a rate from another data centre", s.Rate(), s.Header(&p).Burst())
	}
	s.Ack(&p, us, 12, 50e9, 7)
	if s.Rate() != 100e9 {
		t.Errorf("rate %v: want no more than the line's", s.Rate())
	}
	s.Ack(&p, us, 13, 1e3, 7)
	if s.Rate() != 1e8 {
		t.Errorf("rate %v: want no less than the least", s.Rate())
	}
}

func TestFCNPOnlyLowers(t *testing.T) {
	t.Parallel()
	p, s := sender(wrcc.IncreaseTimer, 2)
	if !s.FCNP(&p, 10*us, 50, 10e9) || s.Rate() != 20e9 {
		t.Fatalf("rate %v, want 20 Gbit/s", s.Rate())
	}
	if s.Deadline() != 34*us {
		t.Errorf("the timer ends at %s, want T1 after the FCNP", s.Deadline())
	}
	for _, fair := range []float64{10e9, 40e9, 0, math.NaN()} {
		if s.FCNP(&p, 20*us, 60, fair) || s.Rate() != 20e9 || s.Deadline() != 34*us {
			t.Errorf("an FCNP of %v changed something: rate %v, timer %s", fair, s.Rate(), s.Deadline())
		}
	}
	s.Ack(&p, 20*us, 50, 40e9, 7)
	if s.Rate() != 20e9 {
		t.Errorf("rate %v: an acknowledgement that the FCNP outdates raised it", s.Rate())
	}
	s.Ack(&p, 20*us, 51, 12e9, 7)
	if s.Rate() != 24e9 {
		t.Errorf("rate %v: a newer acknowledgement must count", s.Rate())
	}
	// An FCNP of a resent packet does not make answered acknowledgements new again.
	s.FCNP(&p, 21*us, 3, 1e9)
	s.Ack(&p, 22*us, 51, 40e9, 7)
	if s.Rate() != 2e9 {
		t.Errorf("rate %v, want 2 Gbit/s", s.Rate())
	}
}

func TestTimerDoublesUpToTheLine(t *testing.T) {
	t.Parallel()
	p, s := sender(wrcc.IncreaseTimer, 1)
	s.FCNP(&p, 0, 0, 10e9)
	before := 10e9
	for i, want := range []float64{20e9, 40e9, 80e9, 100e9, 100e9} {
		at := quantity.Picoseconds(i+1) * 24 * us
		if s.Settle(&p, at-1); s.Rate() != before {
			t.Errorf("rate %v one instant before expiry %d, want %v", s.Rate(), i+1, before)
		}
		if s.Settle(&p, at); s.Rate() != want {
			t.Errorf("rate %v after %d expiries, want %v", s.Rate(), i+1, want)
		}
		before = want
	}
	s.FCNP(&p, 200*us, 1, 1e8)
	s.Settle(&p, 1000*quantity.Second)
	if s.Rate() != 100e9 || s.Deadline() <= 1000*quantity.Second {
		t.Errorf("rate %v, timer %s after a long wait", s.Rate(), s.Deadline())
	}
}

func TestProbingSenderDoublesOnResponsesAndOnTimeouts(t *testing.T) {
	t.Parallel()
	p, s := sender(wrcc.IncreaseAsk, 2)
	now := us
	s.Ack(&p, now, 1, 5e9, 7)
	if got := s.Header(&p).FairRate; s.Rate() != 10e9 || got != 10_000 {
		t.Fatalf("rate %v, requests %d Mbit/s of weight 2: want 10 Gbit/s and twice that", s.Rate(), got)
	}
	for i := range int64(100) { // an answer a microsecond: never silent
		now += us
		s.Settle(&p, now)
		s.Ack(&p, now, 2+i, 5e9, 7)
	}
	if s.Rate() != 10e9 {
		t.Errorf("rate %v: the timer expired although answers arrived", s.Rate())
	}
	// Silence is T1, a round trip of 12 us and two packets of 0.848 us.
	if want := now + 37*us + 696*quantity.Nanosecond; s.Deadline() != want {
		t.Errorf("the timer ends at %s, want %s", s.Deadline(), want)
	}
	s.Settle(&p, s.Deadline())
	if s.Rate() != 20e9 {
		t.Errorf("rate %v after silence, want twice", s.Rate())
	}
}

// A received rate must be written into the next header unchanged, for any weight; otherwise every round trip would
// lose a unit.
func TestStampIsAFixedPoint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.Float64Range(0.001, 1e4).Draw(t, "weight")
		p := wrcc.SenderParams{T1: 24 * us, MinRate: 1}
		s := wrcc.NewSender(&p, wrcc.SenderFlow{Line: 1e17, Weight: weight, RTT: us, Packet: 1000}, 0)
		mbps := rapid.Uint32Range(1, 1_000_000).Draw(t, "rate")
		s.Ack(&p, 0, 1, float64(mbps)*1e6, 0)
		if got := s.Header(&p).FairRate; got != mbps {
			t.Fatalf("%d Mbit/s was read back as %d", mbps, got)
		}
	})
}

// For any events the rate stays between the minimum and line rate, FCNPs never raise it, and one Settle equals many.
func TestSenderLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := wrcc.SenderParams{T1: 24 * us, MinRate: 1e8, Increase: wrcc.Increase(rapid.IntRange(0, 1).Draw(t, "increase"))}
		s := wrcc.NewSender(&p, wrcc.SenderFlow{Line: 100e9, Weight: rapid.Float64Range(0.001, 1e3).Draw(t, "weight"), RTT: 12 * us, Packet: 1060}, 0)
		now := quantity.Picoseconds(0)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			wait := quantity.Picoseconds(rapid.Int64Range(0, 2e8).Draw(t, "wait"))
			split := s
			split.Settle(&p, now+wait/3)
			split.Settle(&p, now+wait/2)
			now += wait
			split.Settle(&p, now)
			s.Settle(&p, now)
			if split != s {
				t.Fatalf("settled in steps %+v, at once %+v", split, s)
			}
			before, seq, fair := s.Rate(), rapid.Int64().Draw(t, "number"), rapid.Float64().Draw(t, "fair")
			if rapid.Bool().Draw(t, "fcnp") {
				if lowered := s.FCNP(&p, now, seq, fair); s.Rate() > before || lowered != (s.Rate() < before) {
					t.Fatalf("FCNP of %v: %v to %v", fair, before, s.Rate())
				}
			} else {
				s.Ack(&p, now, seq, fair, uint16(seq))
			}
			if !(s.Rate() >= 1e8 && s.Rate() <= 100e9) || s.Deadline() <= now {
				t.Fatalf("rate %v, timer %s at %s", s.Rate(), s.Deadline(), now)
			}
		}
	})
}

func TestSenderDoesNotAllocate(t *testing.T) {
	p, s := sender(wrcc.IncreaseAsk, 2)
	i := int64(0)
	n := testing.AllocsPerRun(100, func() {
		i++
		s.Settle(&p, quantity.Picoseconds(i)*us)
		s.Ack(&p, quantity.Picoseconds(i)*us, i, 1e9, 7)
		s.FCNP(&p, quantity.Picoseconds(i)*us, i, 5e8)
		s.Header(&p)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWordsOfIncreaseAreReadBack(t *testing.T) {
	t.Parallel()
	for _, i := range []wrcc.Increase{wrcc.IncreaseTimer, wrcc.IncreaseAsk} {
		if got, err := wrcc.ParseIncrease(i.String()); got != i || err != nil {
			t.Errorf("%q is read as %v, %v", i.String(), got, err)
		}
	}
	for _, word := range []string{"", "Ask", wrcc.Increase(7).String()} {
		if _, err := wrcc.ParseIncrease(word); err == nil {
			t.Errorf("%q is accepted as an increase mode", word)
		}
	}
}
