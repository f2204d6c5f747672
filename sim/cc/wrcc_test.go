package cc_test

import (
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// newWRCC builds an algorithm with slots for four flows and starts slot 1 at time zero.
func newWRCC(t *testing.T, name string, given cc.Values, weight float64) (cc.Stamper, cc.Control) {
	t.Helper()
	spec, err := cc.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	a, err := spec.Build(given)
	if err != nil {
		t.Fatal(err)
	}
	s, ok := a.(cc.Stamper)
	if !ok {
		t.Fatalf("%s writes no rate into packets", name)
	}
	s.Reserve(4)
	return s, s.Start(1, 0, &cc.Flow{
		LineRate: 100 * quantity.Gbps, BaseRTT: 12 * quantity.Microsecond, Payload: 1000, Wire: 1060,
		Weight: weight, Domain: 3, Peer: 4,
	})
}

func TestWRCCTraits(t *testing.T) {
	t.Parallel()
	s, _ := newWRCC(t, "wrcc", nil, 1)
	if got, want := s.Traits(), (cc.Traits{DataHeader: 12, AckHeader: 12}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWRCCSpecs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given cc.Values
		mbps  uint32 // stamped by a flow of weight 4 whose fair rate is 5 Gbit/s
		rate  float64
	}{
		"wrcc":          {nil, 5_000, 5e9},
		"wrcc-weighted": {nil, 10_000, 20e9},
	} {
		s, ctl := newWRCC(t, name, c.given, 4)
		if ctl.Rate != 100e9 || ctl.Window != 0 {
			t.Errorf("%s starts with %+v", name, ctl)
		}
		if st := s.Stamp(1, 0); !st.Burst || st.Domain != 3 || st.RTT != 12 {
			t.Errorf("%s: first packet carries %+v", name, st)
		}
		s.Ack(1, &cc.Ack{Now: quantity.Microsecond, Seq: 1000, Packets: 1, FairRate: 5e9, Domain: 3}, &ctl)
		if st := s.Stamp(1, 0); ctl.Rate != c.rate || st.FairRate != c.mbps || st.Burst {
			t.Errorf("%s: rate %v and %+v, want %v and %d Mbit/s", name, ctl.Rate, st, c.rate, c.mbps)
		}
	}
}

func TestWRCCWeightIsASwitch(t *testing.T) {
	t.Parallel()
	s, ctl := newWRCC(t, "wrcc-weighted", cc.Values{"weighted": 0}, 4)
	s.Ack(1, &cc.Ack{Seq: 1000, FairRate: 5e9}, &ctl)
	if ctl.Rate != 5e9 {
		t.Errorf("rate %v with weights off", ctl.Rate)
	}
}

func TestWRCCNotifications(t *testing.T) {
	t.Parallel()
	s, ctl := newWRCC(t, "wrcc", nil, 1)
	s.Notify(1, &cc.Notification{Kind: cc.NotifyCNP, FairRate: 1e9}, &ctl)
	if ctl.Rate != 100e9 {
		t.Errorf("a CNP set the rate to %v", ctl.Rate)
	}
	// An FCNP for the packet at byte 5000. The acknowledgement of that packet ends at 6000 and is outdated.
	s.Notify(1, &cc.Notification{Kind: cc.NotifyFCNP, Now: quantity.Microsecond, FairRate: 10e9, Seq: 5000, Domain: 3}, &ctl)
	s.Ack(1, &cc.Ack{Now: quantity.Microsecond, Seq: 6000, FairRate: 50e9, Domain: 3}, &ctl)
	if ctl.Rate != 10e9 {
		t.Errorf("rate %v, want the FCNP's 10 Gbit/s", ctl.Rate)
	}
	s.Ack(1, &cc.Ack{Now: quantity.Microsecond, Seq: 7000, FairRate: 12e9, Domain: 4}, &ctl)
	if ctl.Rate != 12e9 || !s.Stamp(1, 0).Burst {
		t.Errorf("rate %v after a newer acknowledgement from another data centre", ctl.Rate)
	}
	// The FCNP restarted T1.
	s.Settle(1, 25*quantity.Microsecond-1, &ctl)
	if ctl.Rate != 12e9 {
		t.Errorf("rate %v before T1", ctl.Rate)
	}
	s.Settle(1, 25*quantity.Microsecond, &ctl)
	if ctl.Rate != 24e9 {
		t.Errorf("rate %v after T1, want twice the rate", ctl.Rate)
	}
}

func TestWRCCGauges(t *testing.T) {
	t.Parallel()
	s, ctl := newWRCC(t, "wrcc-weighted", nil, 2)
	s.Ack(1, &cc.Ack{Seq: 1000, FairRate: 5e9, Domain: 4}, &ctl)
	dst := make([]float64, len(s.Gauges()))
	s.Read(1, dst)
	if dst[0] != 5e9 || dst[1] != 1 {
		t.Errorf("%v = %v", s.Gauges(), dst)
	}
}

func TestWRCCReserveKeepsFlows(t *testing.T) {
	t.Parallel()
	s, ctl := newWRCC(t, "wrcc", nil, 1)
	s.Ack(1, &cc.Ack{Seq: 1000, FairRate: 5e9}, &ctl)
	s.Reserve(100_000)
	s.Reserve(2)
	s.Settle(1, 1, &ctl)
	if ctl.Rate != 5e9 {
		t.Errorf("rate %v after growth", ctl.Rate)
	}
	s.Start(99_999, 0, &cc.Flow{LineRate: quantity.Gbps})
}

// For any sequence of inputs the control is within bounds, and slots are independent.
func TestWRCCControlStaysInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"wrcc", "wrcc-weighted"}).Draw(rt, "name")
		s, ctl := newWRCC(t, name, nil, rapid.Float64Range(0.001, 1000).Draw(rt, "weight"))
		other := s.Start(2, 0, &cc.Flow{LineRate: 10 * quantity.Gbps, Wire: 1000})
		now := quantity.Picoseconds(0)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			now += quantity.Picoseconds(rapid.Int64Range(0, 1e8).Draw(rt, "wait"))
			s.Settle(1, now, &ctl)
			seq, fair := rapid.Int64Range(0, 1e12).Draw(rt, "seq"), rapid.Float64().Draw(rt, "fair")
			if rapid.Bool().Draw(rt, "fcnp") {
				s.Notify(1, &cc.Notification{Now: now, Kind: cc.NotifyFCNP, FairRate: fair, Seq: seq}, &ctl)
			} else {
				s.Ack(1, &cc.Ack{Now: now, Seq: seq, FairRate: fair}, &ctl)
			}
			if st := s.Stamp(1, now); !(ctl.Rate >= 1e6 && ctl.Rate <= 100e9) || st.FairRate == 0 {
				rt.Fatalf("control %+v, stamp %+v", ctl, st)
			}
		}
		if s.Settle(2, 1, &other); other.Rate != 10e9 {
			rt.Fatalf("another flow's rate became %v", other.Rate)
		}
	})
}

func TestWRCCDoesNotAllocate(t *testing.T) {
	s, ctl := newWRCC(t, "wrcc-weighted", nil, 2)
	ack, ntf := &cc.Ack{FairRate: 1e9}, &cc.Notification{Kind: cc.NotifyFCNP, FairRate: 5e8}
	n := testing.AllocsPerRun(100, func() {
		ack.Now += quantity.Microsecond
		ack.Seq += 1000
		s.Settle(1, ack.Now, &ctl)
		s.Ack(1, ack, &ctl)
		s.Notify(1, ntf, &ctl)
		s.Stamp(1, ack.Now)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWRCCSettleAckStamp(b *testing.B) {
	b.ReportAllocs()
	spec, err := cc.ByName("wrcc-weighted")
	if err != nil {
		b.Fatal(err)
	}
	a, err := spec.Build(nil)
	if err != nil {
		b.Fatal(err)
	}
	a.Reserve(1)
	s := a.(cc.Stamper)
	ctl := s.Start(0, 0, &cc.Flow{LineRate: 100 * quantity.Gbps, BaseRTT: 12 * quantity.Microsecond, Wire: 1060, Weight: 2})
	ack := &cc.Ack{FairRate: 1e9}
	for b.Loop() {
		ack.Now += quantity.Microsecond
		ack.Seq += 1000
		s.Settle(0, ack.Now, &ctl)
		s.Ack(0, ack, &ctl)
		s.Stamp(0, ack.Now)
	}
}
