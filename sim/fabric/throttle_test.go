package fabric

import (
	"fmt"
	"slices"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

func portRef(node int32, p ident.PortNum) subnet.PortRef { return subnet.PortRef{Node: node, Port: p} }

// CCTI_Min limits a flow to line rate / (1 + multiplier/2^shift) even without congestion (IBTA annex A10,
// CongestionControlTable).
func TestCCTIMinIsARateCap(t *testing.T) {
	t.Parallel()
	for _, e := range []ibcc.Entry{{Shift: 3, Multiplier: 1}, {Shift: 1, Multiplier: 1}, {Shift: 0, Multiplier: 1}, {Shift: 0, Multiplier: 9}, {Shift: 2, Multiplier: 397}} {
		for _, mode := range []struct {
			perSL     bool
			qps       int
			aggregate int
			times     float64 // the limit, as a multiple of the limit of one queue pair
		}{
			{false, 1, 1, 1}, {false, 1, 4, 1}, {true, 1, 1, 1}, {true, 5, 1, 1}, {true, 5, 4, 1},
		} {
			t.Run(fmt.Sprintf("%d:%d %+v", e.Shift, e.Multiplier, mode), func(t *testing.T) {
				t.Parallel()
				f := star(t, 2)
				n := build(t, f, Config{Aggregate: mode.aggregate})
				src := hostPort(f, 0)
				id := addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 1), QPs: mode.qps})
				n.RunUntil(ms) // the setting must also affect a running flow
				n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
					PerSL: mode.perSL, Limit: 1, Table: []ibcc.Entry{{}, e}, SLs: allSLs(ibcc.SLParams{Min: 1}),
				})
				r := rates(n, []FlowID{id}, 3*ms, 23*ms)
				x := float64(e.Multiplier) / float64(int(1)<<e.Shift)
				near(t, "rate", r[0], mode.times*100/(1+x), 0.01)
			})
		}
	}
}

func TestSLModeSharesOneDelayEqually(t *testing.T) {
	t.Parallel()
	f := star(t, 4)
	n := build(t, f, Config{})
	src := hostPort(f, 0)
	n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
		PerSL: true, Limit: 1, Table: []ibcc.Entry{{}, {Multiplier: 9}}, SLs: [ident.NumSLs]ibcc.SLParams{2: {Min: 1}},
	})
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 1), SL: 2}),
		addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 2), SL: 2, QPs: 4}),
		addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 3), SL: 1}),
	}
	r := rates(n, ids, ms, 11*ms)
	// Nine packet times of delay, one for the packet, and one for the packet of the other SL on the link.
	const slow = 100.0 / 11
	near(t, "one queue pair of the slow SL", r[0], slow/5, 0.02)
	near(t, "four of them", r[1], slow*4/5, 0.02)
	near(t, "the other SL", r[2], 100-slow, 0.02)

	// The turn of a stopped queue pair passes to the next one. Leaving SL mode releases all waiting queue pairs.
	n.StopFlow(ids[1])
	r = rates(n, ids, n.Now()+ms, n.Now()+11*ms)
	near(t, "the only queue pair of the slow SL", r[0], slow, 0.02)
	perSL, params := n.CAParams(src.Node, src.Port)
	if !perSL || params[2].Min != 1 {
		t.Errorf("CAParams: %v, %+v", perSL, params[2])
	}
	n.SetCAParams(src.Node, src.Port, false, allSLs(ibcc.SLParams{Timer: 1})) // the timer lowers the CCTI to 0
	r = rates(n, ids, n.Now()+ms, n.Now()+11*ms)
	near(t, "freed", r[0], 50, 0.02)
}

func TestSetFlowSLMovesAFlowToTheNewCap(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	src := hostPort(f, 0)
	n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
		Limit: 2, Table: []ibcc.Entry{{}, {Multiplier: 1}, {Multiplier: 4}}, SLs: [ident.NumSLs]ibcc.SLParams{3: {Min: 1}, 5: {Min: 2}},
	})
	id := addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 1), SL: 3})
	r := rates(n, []FlowID{id}, ms, 3*ms)
	near(t, "on SL 3", r[0], 50, 0.01)
	n.SetFlowSL(id, 5)
	r = rates(n, []FlowID{id}, 4*ms, 8*ms)
	near(t, "on SL 5", r[0], 20, 0.01)
	c := n.Counters(src.Node, src.Port)
	if s := n.Flow(id); s.Spec.SL != 5 || s.CCTI[0] != 2 || c.XmitPktsSL[3] == 0 || c.XmitPktsSL[5] == 0 {
		t.Errorf("flow on SL %d at CCTI %d; packets by SL %v", s.Spec.SL, s.CCTI[0], c.XmitPktsSL)
	}
}

// congested returns a network in which two hosts send to a third, with the given marking at the switch.
func congested(t *testing.T, cfg Config, m ibcc.SwitchSettings) (*Network, []FlowID) {
	t.Helper()
	f := star(t, 3)
	n := build(t, f, cfg)
	n.SetSwitchCC(f.Switches()[0], m)
	var ids []FlowID
	for i := range 2 {
		ids = append(ids, addFlow(t, n, FlowSpec{Src: hostPort(f, i), Dst: hostPort(f, 2)}))
	}
	return n, ids
}

func TestMarkingRateIsTheMeanInterval(t *testing.T) {
	t.Parallel()
	for _, spacing := range []MarkSpacing{MarkRandom, MarkEveryNth} {
		for _, rate := range []uint16{0, 1, 2, 7, 32} {
			n, _ := congested(t, Config{Seed: 3, Marking: spacing}, ibcc.SwitchSettings{Threshold: 15, MarkingRate: rate})
			n.RunUntil(40 * ms)
			s := n.Stats()
			near(t, fmt.Sprintf("packets per mark, spacing %d", spacing), float64(s.Packets)/float64(s.Marks), float64(max(rate, 1)), 0.03)
		}
	}
}

func TestOnlyEligiblePacketsAreMarked(t *testing.T) {
	t.Parallel()
	starved := ibcc.PortMarking{Valid: true, CreditStarvation: true, Threshold: 15}
	for name, c := range map[string]struct {
		whole ibcc.SwitchSettings
		port  ibcc.PortMarking
		marks bool
	}{
		"threshold 0":               {ibcc.SwitchSettings{}, ibcc.PortMarking{}, false},
		"threshold 8":               {ibcc.SwitchSettings{Threshold: 8}, ibcc.PortMarking{}, true},
		"packets below Packet_Size": {ibcc.SwitchSettings{Threshold: 8, PacketSize: 65}, ibcc.PortMarking{}, false},
		"packets of Packet_Size":    {ibcc.SwitchSettings{Threshold: 8, PacketSize: 64}, ibcc.PortMarking{}, true},
		"port overrides with 0":     {ibcc.SwitchSettings{Threshold: 8}, ibcc.PortMarking{Valid: true}, false},
		"port overrides with 8":     {ibcc.SwitchSettings{}, ibcc.PortMarking{Valid: true, Threshold: 8}, true},
		"invalid override":          {ibcc.SwitchSettings{Threshold: 8}, ibcc.PortMarking{Threshold: 0}, true},
		"credit starvation mode":    {ibcc.SwitchSettings{Threshold: 8}, starved, false},
	} {
		n, _ := congested(t, Config{}, c.whole)
		sw := n.Topology().Switches()[0]
		n.SetPortMarking(sw, 3, c.port)
		n.RunUntil(5 * ms)
		got := n.Counters(sw, 3)
		if (got.XmitFECN > 0) != c.marks || (got.XmitTimeCongVL[0] > 0) != (c.marks || c.whole.PacketSize > 0) {
			t.Errorf("%s: %d marks, congested for %d ticks; want marks: %v", name, got.XmitFECN, got.XmitTimeCongVL[0], c.marks)
		}
		if n.SwitchCC(sw) != c.whole || n.PortMarking(sw, 3) != c.port {
			t.Errorf("%s: read back %+v, %+v", name, n.SwitchCC(sw), n.PortMarking(sw, 3))
		}
	}
}

// A switch whose output waits for credits is a victim of congestion elsewhere: it marks only if Victim_Mask is set.
func TestVictimsMarkOnlyByVictimMask(t *testing.T) {
	t.Parallel()
	for _, mask := range []bool{false, true} {
		f := dumbbell(t, 4, 2)
		n := build(t, f, Config{})
		left := f.NodesByName("left")[0]
		trunk := ident.PortNum(len(f.Nodes[left].Ports) - 1)
		s := ibcc.SwitchSettings{Threshold: 15, MarkingRate: 1}
		if mask {
			s.VictimMask.Set(trunk)
		}
		n.SetSwitchCC(left, s)
		// A local host gets half of the receiver's link. The link between the switches therefore has credits for half its rate,
		// and its queue grows.
		for _, src := range []string{"l1", "l2", "l3", "l4", "r2"} {
			addFlow(t, n, FlowSpec{Src: named(t, f, src), Dst: named(t, f, "r1")})
		}
		n.RunUntil(2 * ms)
		before := n.Counters(left, trunk)
		n.RunUntil(6 * ms)
		after := n.Counters(left, trunk)
		share := float64(after.XmitFECN-before.XmitFECN) / float64(after.XmitPkts-before.XmitPkts)
		if after.XmitWait == before.XmitWait {
			t.Error("the port has not waited for credits")
		}
		if mask && share < 0.5 || !mask && share > 0.05 {
			t.Errorf("victim mask %v: %.2f marks per packet at a port that waits for credits", mask, share)
		}
	}
}

func TestBECNReachesTheSourceByAckOrCNP(t *testing.T) {
	t.Parallel()
	for _, mode := range []BecnMode{BecnByAck, BecnByCNP} {
		n, ids := congested(t, Config{Becn: mode, AckEvery: 16}, ibcc.SwitchSettings{Threshold: 12, MarkingRate: 8})
		f := n.Topology()
		for i := range 2 {
			src := hostPort(f, i)
			n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
				Limit: 127, Table: geometric(1.05, 128), SLs: allSLs(ibcc.SLParams{Timer: 40, Increase: 1, Trigger: 3}),
			})
		}
		n.RunUntil(50 * ms)
		for _, id := range ids {
			n.StopFlow(id)
		}
		n.RunUntil(60 * ms)
		st := n.Stats()
		if st.Marks == 0 || st.BECNs > st.Marks || float64(st.BECNs) < 0.98*float64(st.Marks) {
			t.Errorf("mode %d: %d marks, %d BECNs", mode, st.Marks, st.BECNs)
		}
		dst, sw := hostPort(f, 2), f.Switches()[0]
		if got := n.Counters(dst.Node, dst.Port).RcvFECN; got != st.Marks || n.Counters(sw, 3).XmitFECN != st.Marks {
			t.Errorf("mode %d: the receiver saw %d FECNs of %d marks", mode, got, st.Marks)
		}
		becns := uint64(0)
		for i, id := range ids {
			c := n.Counters(hostPort(f, i).Node, 1)
			becns += c.RcvBECN
			if c.RcvBECNSL[0] != c.RcvBECN || c.RcvBECN != n.Flow(id).BECNs {
				t.Errorf("mode %d: host %d counts %d BECNs, its flow %d", mode, i, c.RcvBECN, n.Flow(id).BECNs)
			}
			log := n.CALog(hostPort(f, i).Node, 1)
			if log.Events == 0 || log.SLs != 1 || len(log.Last) != int(min(log.Events, CAEvents)) || log.Last[0].RemoteLID == 0 {
				t.Errorf("mode %d: CA log %+v", mode, log)
			}
		}
		if becns != st.BECNs {
			t.Errorf("mode %d: hosts count %d BECNs in total, want %d", mode, becns, st.BECNs)
		}
		log := n.SwitchLog(sw)
		if log.Events != st.Marks || !log.Ports.Has(3) || log.Ports.Has(1) || len(log.Last) != SwitchEvents ||
			!slices.IsSortedFunc(log.Last, func(a, b SwitchEvent) int { return int(a.At - b.At) }) {
			t.Errorf("mode %d: switch log %+v", mode, log)
		}
	}
}

// With Increase 1, 2 and 3 at a fixed timer, a source gets proportionally fewer BECNs: the free-running timer gives 1 : 1/2 :
// 1/3, the restarting one ln(1+1/Increase) (S1 counts 790 : 480 : 320).
func TestIncreaseDividesTheBECNs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restart bool
		want    [3]float64
	}{{false, [3]float64{1, 0.5, 1. / 3}}, {true, [3]float64{1, 0.585, 0.415}}} {
		f := star(t, 4)
		n := build(t, f, Config{Seed: 5, TimerRestart: c.restart})
		n.SetSwitchCC(f.Switches()[0], ibcc.SwitchSettings{Threshold: 8, MarkingRate: 32})
		var ids []FlowID
		for i := range 3 {
			src := hostPort(f, i)
			n.ApplyCA(src.Node, src.Port, ibcc.CASettings{
				Limit: 127, Table: geometric(1.05, 128), SLs: allSLs(ibcc.SLParams{Timer: 40, Increase: uint8(i + 1)}),
			})
			ids = append(ids, addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 3)}))
		}
		r := rates(n, ids, 50*ms, 400*ms)
		for i := range 3 {
			near(t, fmt.Sprintf("restart %v, rate at Increase %d", c.restart, i+1), r[i]/r[0], c.want[i], 0.12)
			becns := float64(n.Flow(ids[i]).BECNs) / float64(n.Flow(ids[0]).BECNs)
			near(t, fmt.Sprintf("restart %v, BECNs at Increase %d", c.restart, i+1), becns, c.want[i], 0.12)
		}
	}
}

func TestCCTReadBack(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{CCTBlocks: 2})
	h := hostPort(f, 0)
	var b [ibcc.BlockEntries]ibcc.Entry
	b[5] = ibcc.Entry{Shift: 2, Multiplier: 77}
	n.SetCCTBlock(h.Node, h.Port, 100, 1, b)
	n.SetCCTBlock(h.Node, h.Port, 9999, 2, b) // beyond the capacity
	if n.CCTBlock(h.Node, h.Port, 1) != b || n.CCTBlock(h.Node, h.Port, 0) != ([64]ibcc.Entry{}) || n.CCTBlock(h.Node, h.Port, 2) != ([64]ibcc.Entry{}) {
		t.Error("blocks read differ from blocks written")
	}
	if got := n.CCTILimit(h.Node, h.Port); got != 100 {
		t.Errorf("limit %d, want 100", got)
	}
	n.SetCCTBlock(h.Node, h.Port, 9999, 0, b)
	if got := n.CCTILimit(h.Node, h.Port); got != 127 || n.CCTBlocks(h.Node) != 2 {
		t.Errorf("limit %d, want the last entry of the table, 127", got)
	}
	// Switch ports and ports that do not exist ignore all of these settings.
	n.SetCCTBlock(f.Switches()[0], 1, 1, 0, b)
	n.SetCAParams(f.Switches()[0], 1, true, allSLs(ibcc.SLParams{Min: 1}))
	if on, p := n.CAParams(f.Switches()[0], 1); on || p[0].Min != 0 || n.CCTILimit(-1, 1) != 0 {
		t.Error("a switch port accepted a channel adapter's settings")
	}
}

func TestThresholdsDivideTheReferenceQueue(t *testing.T) {
	t.Parallel()
	c := Config{ThresholdReference: 160 * 1024}
	for th, want := range map[uint8]int{0: -1, 1: 150 * 1024, 8: 80 * 1024, 15: 10 * 1024, 200: 10 * 1024} {
		if got := c.ThresholdBytes(th); got != want {
			t.Errorf("threshold %d: %d bytes, want %d", th, got, want)
		}
	}
	if got := (Config{}).ThresholdBytes(8); got != 64*1024 {
		t.Errorf("default threshold 8: %d bytes, want 64 KiB", got)
	}
}

// A change of the table immediately affects waiting queue pairs: a slower table holds them back, a faster one releases them.
func TestTableChangesReachWaitingQueuePairs(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	src := hostPort(f, 0)
	set := func(e ibcc.Entry) {
		n.ApplyCA(src.Node, src.Port, ibcc.CASettings{Limit: 1, Table: []ibcc.Entry{{}, e}, SLs: allSLs(ibcc.SLParams{Min: 1})})
	}
	set(ibcc.Entry{Multiplier: 9})
	id := addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 1), QPs: 3})
	n.RunUntil(ms)
	set(ibcc.Entry{Multiplier: ibcc.MaxMultiplier}) // 5.4 ms between packets
	before := n.Flow(id).SentPkts
	n.RunUntil(6 * ms)
	if got := n.Flow(id).SentPkts - before; got != 0 {
		t.Errorf("%d packets left before the end of the new delay", got)
	}
	set(ibcc.Entry{})
	r := rates(n, []FlowID{id}, n.Now()+10*us, n.Now()+ms)
	near(t, "rate without delay", r[0], 100, 0.02)
}
