package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// lossyConfig returns a configuration with one lossy class and the given recovery mode.
func lossyConfig(mode RecoveryMode, done *[]Done) Config {
	return Config{
		Classes: []Class{{Lossy: true}}, Recovery: Recovery{Mode: mode, Timeout: 200 * us, NackGap: 10 * us},
		OnDone: func(d Done) { *done = append(*done, d) },
	}
}

// arrival returns the middle of the interval in which only packet k of a single flow reaches the switch.
func arrival(k int) quantity.Picoseconds { return quantity.Picoseconds(k)*full + later }

// losePacket drops packet k of a single flow, counted from 0, at the first switch.
func losePacket(n *Network, k int) { n.lose(arrival(k)-full/2, arrival(k)+full/2) }

// Two of twenty packets are lost. Selective repeat resends just these; go-back-N resends all packets in flight, after one NACK.
func TestRecoveryResendsLostPackets(t *testing.T) {
	t.Parallel()
	for mode, lost := range map[RecoveryMode][]int{SelectiveRepeat: {5, 7}, GoBackN: {5}} {
		var done []Done
		n, r := star(t, 2, lossyConfig(mode, &done), FlowSpec{Src: 0, Dst: 1, Bytes: 59_500})
		for _, k := range lost {
			losePacket(n, k)
		}
		n.RunUntil(quantity.Second)
		st := n.Stats()
		if len(done) != 1 || st.AcceptedBytes != 59_500 || st.Timeouts != 0 || st.DroppedPackets != uint64(len(lost)) {
			t.Fatalf("mode %d: %d flows completed, %+v", mode, len(done), st)
		}
		resent := int(st.SentPackets) - 60
		nacks := 0
		for _, a := range r.acks {
			if a.Nack {
				nacks++
			}
		}
		// The NACK arrives after four links; meanwhile the sender has sent packets.
		behind := int((4*us + 2*full + 2*60*80) / full)
		if mode == SelectiveRepeat && resent != 2 || mode == GoBackN && (resent < behind-1 || resent > behind+3 || nacks != 1) {
			t.Errorf("mode %d: %d packets resent, %d NACKs, %d behind the lost one", mode, resent, nacks, behind)
		}
	}
}

// While the same byte is missing, NACKs respect the minimum gap.
func TestNACKsRespectMinimumGap(t *testing.T) {
	t.Parallel()
	var done []Done
	n, r := star(t, 2, lossyConfig(GoBackN, &done), FlowSpec{Src: 0, Dst: 1, Bytes: 1_000_000})
	losePacket(n, 5)
	sent := n.Stats().SentPackets
	for n.Stats().Nacks == 0 {
		n.RunUntil(n.Now() + 10*quantity.Nanosecond)
	}
	for n.flow(0).next > 6000 || n.Stats().SentPackets == sent { // the sender has gone back to the missing packet
		n.RunUntil(n.Now() + 10*quantity.Nanosecond)
	}
	n.lose(n.Now()+us, n.Now()+us+2*full) // the resent packet is lost again
	n.RunUntil(quantity.Second)
	var last quantity.Picoseconds
	nacks := 0
	for _, a := range r.acks {
		if a.Nack && a.Seq == 5000 {
			if nacks++; last != 0 && a.Now-last < 10*us {
				t.Errorf("NACKs for one byte %s apart", a.Now-last)
			}
			last = a.Now
		}
	}
	if nacks < 2 || len(done) != 1 || n.Stats().Timeouts != 0 {
		t.Errorf("%d NACKs for the byte lost twice, %d completed, %+v", nacks, len(done), n.Stats())
	}
}

// The timeout recovers losses that cause no NACK: the last packet, and the last acknowledgement.
func TestTimeoutRecoversLostLastPacket(t *testing.T) {
	t.Parallel()
	for _, mode := range []RecoveryMode{GoBackN, SelectiveRepeat} {
		for name, at := range map[string]quantity.Picoseconds{
			"packet": arrival(9), "acknowledgement": arrival(9) + later + 60*80 + us,
		} {
			var done []Done
			n, _ := star(t, 2, lossyConfig(mode, &done), FlowSpec{Src: 0, Dst: 1, Bytes: 10_000})
			n.lose(at-full/2, at+full/2)
			n.RunUntil(quantity.Second)
			if len(done) != 1 || n.Stats().Timeouts != 1 || n.Stats().SentPackets != 11 {
				t.Fatalf("mode %d, last %s: %+v, %+v", mode, name, done, n.Stats())
			}
			if fct := done[0].FCT; fct < 200*us || fct > 215*us {
				t.Errorf("mode %d, last %s: took %s, want the timeout and a round trip", mode, name, fct)
			}
		}
	}
}

// A resent packet that is lost again waits for the timeout, which resends only packets not known to have arrived.
func TestSelectiveRepeatSurvivesASecondLoss(t *testing.T) {
	t.Parallel()
	var done []Done
	n, _ := star(t, 2, lossyConfig(SelectiveRepeat, &done), FlowSpec{Src: 0, Dst: 1, Bytes: 60_000})
	losePacket(n, 3)
	for n.flow(0).resends() || n.Stats().Nacks == 0 || len(n.selective) == 0 {
		n.RunUntil(n.Now() + full/4)
	}
	n.lose(n.Now(), n.Now()+later)
	n.RunUntil(quantity.Second)
	st := n.Stats()
	if len(done) != 1 || st.Timeouts == 0 || st.AcceptedBytes != 60_000 {
		t.Fatalf("%+v, %+v", done, st)
	}
	lost := uint64(0) // lost packets, and lost NACKs
	for i := range n.ports {
		lost += n.ports[i].stats.Drops
	}
	if extra := st.SentPackets - 60; extra > lost+1 {
		t.Errorf("%d packets resent for %d lost packets and reports", extra, lost)
	}
	if len(n.selective)+len(n.kept) != 0 {
		t.Error("scoreboards still exist for a completed flow")
	}
}

// A sender whose packet interval exceeds its timeout is not late. It sends every 602 us, so the check after three timeouts of
// 200 us finds a packet that has just left.
func TestASlowFlowIsNotLate(t *testing.T) {
	t.Parallel()
	var done []Done
	n, _ := star(t, 2, lossyConfig(GoBackN, &done), FlowSpec{Src: 0, Dst: 1, Bytes: 500_000, Demand: 13_927_000})
	n.RunUntil(quantity.Second)
	st := n.Stats()
	if len(done) != 1 || st.Timeouts != 0 || st.SentPackets != 500 || st.Events > 10_000 {
		t.Errorf("%+v, %+v: want 500 packets, no timeout and few events", done, st)
	}
}

// Acknowledgements are coalesced, but the last packet is acknowledged immediately.
func TestAcknowledgementsAreCoalesced(t *testing.T) {
	t.Parallel()
	n, r := star(t, 2, Config{AckEvery: 16}, FlowSpec{Src: 0, Dst: 1, Bytes: 100_000})
	n.RunUntil(ms)
	if len(r.acks) != 6 || !n.Finished() { // the seventh acknowledgement ends the flow
		t.Errorf("%d acknowledgements before the last one, want 6", len(r.acks))
	}
	for i, a := range r.acks {
		if a.Packets != 16 || a.Acked != 16_000 || a.Seq != int64(i+1)*16_000 {
			t.Errorf("acknowledgement %d: %+v", i, a)
		}
	}
}

// A delayed acknowledgement is sent even if no further packets arrive: with a window below AckEvery, and for a stopped
// unlimited flow. The round trip time excludes the delay.
func TestDelayedAcknowledgementIsSent(t *testing.T) {
	t.Parallel()
	r := &recorder{control: cc.Control{Rate: 1e15, Window: 3000}}
	n, _ := star(t, 2, Config{AckEvery: 16, Algorithms: []cc.Algorithm{r}}, FlowSpec{Src: 0, Dst: 1, Bytes: 9000}, FlowSpec{Src: 1, Dst: 0, Stop: us})
	n.RunUntil(10 * ms)
	if !n.Finished() || n.pool.used != 0 {
		t.Fatalf("%d packets in use, %+v", n.pool.used, n.Stats())
	}
	for _, a := range r.acks {
		if a.Packets != 3 || a.RTT > 6*us {
			t.Errorf("%+v: want three packets and a round trip time without the delay", a)
		}
	}
	if len(r.acks) < 2 {
		t.Errorf("%d acknowledgements", len(r.acks))
	}
}

// An unnecessary timeout makes an unlimited flow go back, and the flow is then stopped. Packets already in flight must still
// count as its own.
func TestFlowStoppedDuringResendCountsAllSentBytes(t *testing.T) {
	t.Parallel()
	var done []Done
	n, _ := star(t, 2, lossyConfig(GoBackN, &done), FlowSpec{Src: 0, Dst: 1, Stop: 200*us + 50*quantity.Nanosecond})
	n.block(1, true)
	n.RunUntil(201 * us)
	n.block(1, false)
	n.RunUntil(quantity.Second)
	st := n.Stats()
	if len(done) != 1 || st.Timeouts == 0 || uint64(done[0].Bytes) != st.AcceptedBytes || done[0].Bytes < 2_000_000 {
		t.Errorf("%+v, %+v: want all bytes sent in 200 us", done, st)
	}
}
