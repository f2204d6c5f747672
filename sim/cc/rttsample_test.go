package cc

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/predict"
)

// stamping is an algorithm that implements Stamper and counts acknowledgements.
type stamping struct {
	none
	acks int
}

func (s *stamping) Ack(int32, *Ack, *Control) { s.acks++ }

func (s *stamping) Stamp(int32, quantity.Picoseconds) Stamp { return Stamp{FairRate: 7} }

func TestSampleRTTRecordsOneProbeAtATimeAndPassesEverythingOn(t *testing.T) {
	t.Parallel()
	inner := &stamping{}
	rec := predict.NewRecorder(100)
	a := SampleRTT(inner, rec)
	a.Reserve(2)
	var c Control
	probe := func(slot int32, seq, next int64, rtt quantity.Picoseconds) {
		a.Ack(slot, &Ack{Seq: seq, Next: next, RTT: rtt * quantity.Microsecond, Packets: 1}, &c)
	}
	a.Start(1, 0, pidnnFlow())
	seq := int64(0)
	for _, rtt := range []quantity.Picoseconds{10, 20, 7, 22} {
		probe(1, seq+1000, seq+5000, rtt)
		probe(1, seq+2000, seq+9000, 99) // of the same round trip: not sampled
		seq += 5000
	}
	if n := len(rec.Rows()); n != 1 {
		t.Fatalf("%d rows, want 1", n)
	}
	closeTo(t, "label", rec.Rows()[0].L, 1) // S is 11 us
	a.Start(1, 0, pidnnFlow())
	for seq := int64(0); seq < 3; seq++ {
		probe(1, seq+1, seq, 5)
	}
	if n := len(rec.Rows()); n != 1 {
		t.Errorf("%d rows: a row contains samples of two flows of a slot", n)
	}
	if inner.acks != 11 {
		t.Errorf("%d acknowledgements passed on, want 11", inner.acks)
	}
	s, ok := a.(Stamper)
	if !ok || s.Stamp(1, 0).FairRate != 7 {
		t.Error("the sampled algorithm no longer stamps")
	}
	if _, ok := SampleRTT(none{}, rec).(Stamper); ok {
		t.Error("sampling turned an algorithm without stamps into a Stamper")
	}
}
