package fabric

import (
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// twoLanes returns two hosts that send to a third; SL 1 uses VL 1 everywhere.
func twoLanes(t *testing.T, qpsHigh int) (*Network, []FlowID) {
	t.Helper()
	f := star(t, 3)
	n := build(t, f, Config{DataVLs: 2})
	sw := f.Switches()[0]
	m := [ident.NumSLs]ident.VL{1: 1}
	for _, h := range f.Hosts() {
		n.SetSL2VL(h, 0, 1, m)
	}
	for in := range ident.PortNum(4) {
		for out := range ident.PortNum(4) {
			n.SetSL2VL(sw, in, out, m)
		}
	}
	return n, []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), SL: 0, QPs: qpsHigh}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2), SL: 1}),
	}
}

func TestLowTableWeightsDivideTheLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b uint8 }{{192, 64}, {64, 192}, {64, 64}, {255, 85}} {
		n, ids := twoLanes(t, 1)
		sw := n.Topology().Switches()[0]
		n.SetVLArb(sw, 3, false, 0, make([]VLWeight, ArbEntries))
		n.SetVLArb(sw, 3, false, 4, []VLWeight{{0, c.a}, {1, c.b}})
		r := rates(n, ids, ms, 5*ms)
		// The weight of an entry is rounded up to whole packets of 65 units.
		a, b := float64((int(c.a)+64)/65), float64((int(c.b)+64)/65)
		near(t, "lane 0", r[0], 100*a/(a+b), 0.02)
		near(t, "both", r[0]+r[1], 100, 0.01)
	}
}

func TestHighPriorityGoesFirstUpToItsLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit uint8
		want  float64 // rate of the high lane
	}{{255, 100}, {0, 50}, {2, 200.0 / 3}, {8, 800.0 / 9}} {
		n, ids := twoLanes(t, 1)
		sw := n.Topology().Switches()[0]
		n.SetVLArb(sw, 3, true, 0, []VLWeight{{0, 64}})
		n.SetVLArb(sw, 3, false, 0, make([]VLWeight, ArbEntries))
		n.SetVLArb(sw, 3, false, 0, []VLWeight{{1, 64}})
		n.SetVLHighLimit(sw, 3, c.limit)
		if got := n.VLHighLimit(sw, 3); got != c.limit {
			t.Errorf("limit reads %d, want %d", got, c.limit)
		}
		r := rates(n, ids, ms, 5*ms)
		near(t, "high lane", r[0], c.want, 0.02)
		near(t, "both", r[0]+r[1], 100, 0.01)
	}
}

func TestLaneInNoTableIsServedLast(t *testing.T) {
	t.Parallel()
	n, ids := twoLanes(t, 1)
	sw := n.Topology().Switches()[0]
	n.SetVLArb(sw, 3, false, 0, make([]VLWeight, ArbEntries))
	n.SetVLArb(sw, 3, false, 0, []VLWeight{{1, 64}})
	r := rates(n, ids, ms, 3*ms)
	if r[0] > 1 {
		t.Errorf("a lane in no table gets %.1f Gbit/s in competition with a lane in a table", r[0])
	}
	n.StopFlow(ids[1])
	r = rates(n, ids, 4*ms, 6*ms)
	near(t, "alone", r[0], 100, 0.01)
}

func TestArbTablesReadBack(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	sw := f.Switches()[0]
	if low := n.VLArb(sw, 1, false); low[0] != (VLWeight{0, 64}) || low[14] != (VLWeight{14, 64}) || low[15] != (VLWeight{}) {
		t.Errorf("initial low table: %v", low)
	}
	n.SetVLArb(sw, 1, true, 62, []VLWeight{{1, 2}, {3, 4}, {5, 6}})
	high := n.VLArb(sw, 1, true)
	if len(high) != ArbEntries || high[62] != (VLWeight{1, 2}) || high[63] != (VLWeight{3, 4}) || high[0] != (VLWeight{}) {
		t.Errorf("high table %v", high)
	}
	high[0] = VLWeight{7, 7}
	if n.VLArb(sw, 1, true)[0] != (VLWeight{}) {
		t.Error("VLArb does not return a copy")
	}
	if n.VLArb(99, 1, true) != nil {
		t.Error("VLArb returns a table for a port that does not exist")
	}
}

func TestSL2VLDecidesTheLaneOnEachLink(t *testing.T) {
	t.Parallel()
	n, ids := twoLanes(t, 2)
	f := n.Topology()
	sw := f.Switches()[0]
	n.SetSwitchCC(sw, ibcc.SwitchSettings{Threshold: 15})
	n.RunUntil(3 * ms)
	// Both lanes of the output are congested, each with its own queue.
	c := n.Counters(sw, 3)
	if c.XmitTimeCongVL[0] == 0 || c.XmitTimeCongVL[1] == 0 || c.XmitTimeCongVL[2] != 0 {
		t.Errorf("time congested by lane %v, want lanes 0 and 1", c.XmitTimeCongVL)
	}
	a, _ := n.QueuedBytes(sw, 3, 0)
	b, peak := n.QueuedBytes(sw, 3, 1)
	if a == 0 || b == 0 || peak < max(a, b) {
		t.Errorf("queued %d and %d bytes, peak %d", a, b, peak)
	}
	if got := n.SL2VL(sw, 1, 3); got != ([16]ident.VL{1: 1}) || n.SL2VL(f.Hosts()[0], 0, 1) != got {
		t.Errorf("SL2VL reads %v", got)
	}
	// A switch discards packets of an SL on a lane that is not operational. Their source keeps them.
	n.SetSL2VL(sw, 1, 3, [16]ident.VL{0: 15})
	before := n.Delivered(ids[0])
	n.RunUntil(n.Now() + 5*ms)
	c = n.Counters(sw, 3)
	if got := n.Delivered(ids[0]) - before; got > 1<<20 || c.XmitDiscards == 0 {
		t.Errorf("SL on VL 15 delivered %d bytes, %d discards", got, c.XmitDiscards)
	}
	src := f.Hosts()[0]
	n.SetSL2VL(src, 0, 1, [16]ident.VL{0: 7})
	n.RunUntil(n.Now() + ms)
	sent := n.Flow(ids[0]).SentPkts
	n.RunUntil(n.Now() + ms)
	if got := n.Flow(ids[0]).SentPkts; got != sent {
		t.Errorf("sent %d packets on a lane that is not operational", got-sent)
	}
	n.SetOperationalVLs(src, 1, 8)
	if n.OperationalVLs(src, 1) != 8 {
		t.Errorf("%d operational lanes, want 8", n.OperationalVLs(src, 1))
	}
	n.RunUntil(n.Now() + ms)
	if n.Flow(ids[0]).SentPkts == sent {
		t.Error("nothing is sent after the lane became operational")
	}
	if err := n.check(); err != nil {
		t.Error(err)
	}
}

func TestCountersOfAVeryFastLinkAreReadable(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{Rate: 50 * quantity.Tbps})
	if err != nil {
		t.Fatal(err)
	}
	n, err := New(topo, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if c := n.Counters(topo.Hosts()[0], 1); c.XmitWait != 0 {
		t.Errorf("an idle port waited %d ticks", c.XmitWait)
	}
}
