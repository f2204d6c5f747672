package ether

import (
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// One host sends to a port that does not drain. Every byte, pause and resume occurs at its calculated time. Three packets of
// 1048 bytes fit the reserve of 1000 and the threshold of 3000. The fourth uses headroom and causes the pause. The pause takes
// 3.44 ns on the wire and 1 us to the sender, which has started 28 packets by then.
func TestPauseAndResumeArriveToThePicosecond(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 2, Config{Buffer: Buffer{Reserve: 1000, Static: 3000, Resume: 1000, Headroom: 3}}, FlowSpec{Src: 0, Dst: 1, Bytes: 40_000})
	n.block(1, true)
	nic := &n.ports[n.hosts[0].port]
	in := &n.ingress[nic.peer]
	fourth := 4*full + us
	n.RunUntil(fourth - 1)
	if in.used != 3*1048 || in.headroom != 0 || in.paused {
		t.Errorf("before the fourth packet: %+v", *in)
	}
	n.RunUntil(fourth)
	if in.used != 3*1048 || in.headroom != 1048 || !in.paused {
		t.Errorf("with the fourth packet: %+v", *in)
	}
	paused := fourth + 43*80 + us
	n.RunUntil(paused - 1)
	if nic.paused != 0 {
		t.Error("paused too early")
	}
	n.RunUntil(paused)
	if nic.paused != 1 {
		t.Error("not paused in time")
	}
	n.RunUntil(10 * us)
	if in.used != 3*1048 || in.headroom != 25*1048 || nic.stats.TxPackets != 28 {
		t.Errorf("%+v after %d packets: want 3 in memory and 25 in headroom", *in, nic.stats.TxPackets)
	}
	n.block(1, false)
	// The headroom is empty when the 25th packet leaves. The account then holds 2144 bytes above the reserve. Together
	// with Resume (1000 bytes), this is still above the threshold of 3000. The 26th packet leaves 1096 bytes and causes the
	// resume.
	resume := 10*us + 25*full
	n.RunUntil(resume - 1)
	if !in.paused {
		t.Error("resumed too early")
	}
	n.RunUntil(resume)
	if in.paused {
		t.Errorf("not resumed: %+v", *in)
	}
	n.RunUntil(resume + 43*80 + us - 1)
	if nic.paused != 1 || nic.stats.TxPackets != 28 {
		t.Error("the sender continues too early")
	}
	n.RunUntil(resume + 43*80 + us)
	if nic.paused != 0 || nic.stats.TxPackets != 29 {
		t.Error("the sender does not continue")
	}
	if want, got := resume+43*80+us-paused, nic.pausedFor(n.eng.Now()); got != want {
		t.Errorf("paused for %s, want %s", got, want)
	}
	n.RunUntil(ms)
	if st := n.Stats(); !n.Finished() || st.DroppedPackets != 0 || st.Pauses != 1 {
		t.Errorf("%+v: want a completed flow without loss after one pause", st)
	}
}

// A slow last link pauses the previous switch, which then pauses the host.
func TestPauseSpreadsFromSwitchToSwitch(t *testing.T) {
	t.Parallel()
	g := quantity.Gbps
	n, _ := on(t, chain(t, 100*g, 100*g, 10*g), Config{Buffer: Buffer{Static: 20_000}}, FlowSpec{Src: 0, Dst: 1, Bytes: 500_000})
	first := map[int32]quantity.Picoseconds{}
	for !n.Finished() && n.Now() < 10*ms {
		n.RunUntil(n.Now() + us)
		for sw := range int32(2) {
			if in := n.first[n.switches[sw].node] + 1; n.ports[in].stats.Pauses > 0 && first[sw] == 0 {
				first[sw] = n.Now()
			}
		}
		if d := n.Deadlock(); d != nil {
			t.Fatal(d)
		}
	}
	if first[1] == 0 || first[0] <= first[1] {
		t.Errorf("pauses at %v: want the far switch first, then the near one", first)
	}
	if st := n.Stats(); st.DroppedPackets != 0 || !n.Finished() {
		t.Errorf("%+v", st)
	}
}

// An incast slows down an unrelated flow to an idle host if they share the class and a link; in a separate class it does not.
func TestVictimFlowSuffersOnlyInTheSameClass(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Dumbbell(topogen.DumbbellOptions{Left: 2, Right: 4})
	if err != nil {
		t.Fatal(err)
	}
	slowdown := func(class uint8) float64 {
		var s float64
		cfg := Config{Classes: make([]Class, 2), Buffer: Buffer{Static: 50_000}, OnDone: func(d Done) {
			if d.ID == 9 {
				s = d.Slowdown()
			}
		}}
		flows := []FlowSpec{{ID: 9, Src: 1, Dst: 3, Bytes: 1_000_000, Start: 50 * us, Class: class}}
		for i, src := range []int32{0, 4, 5} {
			flows = append(flows, FlowSpec{ID: int64(i), Src: src, Dst: 2, Bytes: 5_000_000})
		}
		n, _ := on(t, topo, cfg, flows...)
		n.RunUntil(10 * ms)
		return s
	}
	if same, own := slowdown(0), slowdown(1); same < 2 || own > 1.6 {
		t.Errorf("slowdown %.2f in the class of the incast and %.2f in a separate class: want more than 2 and less than 1.6", same, own)
	}
}

// With n equal claims, a threshold in proportion to the free memory settles at alpha / (1 + alpha n) of the memory for each
// claim (Choudhury and Hahne, "Dynamic queue length thresholds", 1998).
func TestDynamicThresholdsSettleAsInTheory(t *testing.T) {
	t.Parallel()
	for _, claims := range []int{1, 2, 4, 7} {
		for _, alpha := range []float64{0.125, 0.5, 1} {
			for _, lossy := range []bool{false, true} {
				cfg := Config{
					Classes: []Class{{Lossy: lossy}}, Recovery: Recovery{Timeout: quantity.Second},
					Buffer: Buffer{Bytes: 2_000_000, Alpha: alpha, EgressAlpha: alpha, Reserve: 1},
				}
				var flows []FlowSpec
				for i := range claims {
					flows = append(flows, FlowSpec{Src: int32(i), Dst: int32(i + claims), Bytes: 0})
				}
				n, _ := star(t, 2*claims, cfg, flows...)
				for i := range claims {
					n.block(int32(i+claims), true)
				}
				n.RunUntil(200 * us)
				want := alpha / (1 + alpha*float64(claims)) * float64(n.switches[0].shared)
				for i := range claims {
					got := n.ingress[n.ports[n.hosts[i].port].peer].used
					if lossy {
						_, out := n.outTo(int32(i + claims))
						got = out.queued
					}
					if math.Abs(float64(got)-want) > 2*1048 {
						t.Errorf("%d claims, alpha %g, lossy %v: claim %d has %d bytes, want %.0f", claims, alpha, lossy, i, got, want)
					}
				}
			}
		}
	}
}

// Five switches form a ring, with flows from each host to the host two switches ahead. The flows deadlock eventually, and
// Deadlock returns the cycle in the order of waiting. With enough buffer there is no deadlock.
func TestDeadlockInARingIsFound(t *testing.T) {
	t.Parallel()
	run := func(static int64) (*Network, *Deadlock) {
		var flows []FlowSpec
		for i := range int32(5) {
			flows = append(flows, FlowSpec{ID: int64(i), Src: i, Dst: (i + 2) % 5, Bytes: 2_000_000})
		}
		n, _ := on(t, ring(t, 5), Config{Buffer: Buffer{Static: static}}, flows...)
		for n.Now() < 5*ms && !n.Finished() {
			n.RunUntil(n.Now() + 10*us)
			if d := n.Deadlock(); d != nil {
				return n, d
			}
		}
		return n, nil
	}
	n, d := run(5000)
	if d == nil {
		t.Fatalf("no deadlock: %+v", n.Stats())
	}
	want := []string{"s0/2", "s1/2", "s2/2", "s3/2", "s4/2"}
	at := slices.Index(want, d.Ports[0])
	if at < 0 || !slices.Equal(d.Ports, append(want[at:], want[:at]...)) || d.Class != 0 {
		t.Errorf("%v: want the five ports in the order of waiting", d)
	}
	before := n.Stats()
	n.RunUntil(quantity.Second)
	if after := n.Stats(); after.DeliveredPackets != before.DeliveredPackets || n.Deadlock() == nil || after.DroppedPackets != 0 {
		t.Errorf("packets were sent during a deadlock: %+v, then %+v", before, after)
	}
	if n, d := run(20_000_000); d != nil || !n.Finished() {
		t.Errorf("with ample memory: %v, %+v", d, n.Stats())
	}
}

// The default headroom holds the packets after a pause on the shortest and on the longest links; an explicit headroom is used
// unchanged.
func TestHeadroomSufficesOnAnyLink(t *testing.T) {
	t.Parallel()
	for _, delay := range []quantity.Picoseconds{0, 1, 100 * quantity.Nanosecond, us, 50 * us} {
		for _, rate := range []quantity.BitRate{quantity.Gbps, 100 * quantity.Gbps, 400 * quantity.Gbps} {
			drops := func(headroom float64) uint64 {
				topo, err := topogen.Star(9, topogen.Wire{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range topo.Links {
					topo.Links[i].Rate, topo.Links[i].Delay = rate, delay
				}
				cfg := Config{Payload: 4096, Buffer: Buffer{Headroom: headroom, Static: 1, Reserve: 1, Bytes: 128 << 20}, Recovery: Recovery{Timeout: 10 * ms}}
				var flows []FlowSpec
				for i := range int32(8) {
					flows = append(flows, FlowSpec{Src: i, Dst: 8, Bytes: 100_000})
				}
				n, _ := on(t, topo, cfg, flows...)
				n.RunUntil(20 * ms)
				return n.Stats().DroppedPackets
			}
			if d := drops(0); d != 0 {
				t.Errorf("%s, %s: %d packets lost with the default headroom", rate, delay, d)
			}
			if d := drops(3); delay == 1 && d == 0 {
				t.Errorf("%s, %s: no loss with a headroom of 3 units, which is less than one packet", rate, delay)
			}
		}
	}
}

// A buffer that is too small for its ports is rejected with the required size.
func TestABufferTooSmallIsRefused(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(4, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	buffers := map[int32]Buffer{0: {Bytes: 1 << 20}}
	least := 4 * (37_500 + int64(4096))
	for bytes, ok := range map[int64]bool{least: true, least - 1: false} {
		_, err := New(topo, Config{Buffer: Buffer{Bytes: bytes}, Algorithms: algorithms(t)})
		if (err == nil) != ok {
			t.Errorf("%d bytes: %v", bytes, err)
		}
	}
	if _, err := New(topo, Config{Buffers: buffers, Algorithms: algorithms(t)}); err != nil || buffers[0] != (Buffer{Bytes: 1 << 20}) {
		t.Errorf("%v; the caller's buffers are now %+v", err, buffers)
	}
}

// A host with two ports is reachable through each of them, also from a switch with a link to the other port.
func TestBothPortsOfAHostAreReached(t *testing.T) {
	t.Parallel()
	nodes := []subnet.Node{
		{GUID: 0x100, SystemGUID: 0x100, Kind: subnet.KindSwitch, Name: "s1", Ports: subnet.NewPorts(3)},
		{GUID: 0x200, SystemGUID: 0x200, Kind: subnet.KindSwitch, Name: "s2", Ports: subnet.NewPorts(3)},
		{GUID: 0x300, SystemGUID: 0x300, Kind: subnet.KindCA, Name: "two", Ports: subnet.NewPorts(2)},
		{GUID: 0x400, SystemGUID: 0x400, Kind: subnet.KindCA, Name: "one", Ports: subnet.NewPorts(1)},
	}
	links := []subnet.Link{wire(0, 1, 1, 1), wire(0, 2, 2, 1), wire(1, 2, 2, 2), wire(1, 3, 3, 1)}
	topo, err := subnet.New("rails", nodes, links)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := on(t, topo, Config{}, FlowSpec{Src: 2, Dst: 0, Bytes: 5000}, FlowSpec{Src: 2, Dst: 1, Bytes: 5000})
	n.RunUntil(ms)
	if st := n.Stats(); !n.Finished() || st.DroppedPackets != 0 || st.PacketHops != 5*3+5*2 {
		t.Errorf("%+v: want both flows done over 3 and 2 links", st)
	}
}
