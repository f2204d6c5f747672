package fabric

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/ibcc"
	"fairlane/internal/quantity"
	"fairlane/subnet/topogen"
)

func TestOneFlowFillsItsLink(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{})
	id := addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1)})
	r := rates(n, []FlowID{id}, ms, 3*ms)
	near(t, "rate", r[0], 100, 0.002)
	if d := n.Stats().Discards; d != 0 {
		t.Errorf("%d packets lost", d)
	}
}

func TestLatencyOfAPacketIsExact(t *testing.T) {
	t.Parallel()
	f := star(t, 2)
	n := build(t, f, Config{SwitchLatency: 100 * quantity.Nanosecond})
	id := addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1), Bytes: 4096, Start: 5 * us})
	n.RunUntil(ms)
	// Two transmissions of 4122 bytes at 100 Gbit/s over two links of 1 us and one switch, and the start.
	want := 5*us + 2*(4122*80+us) + 100*quantity.Nanosecond
	if got := n.Flow(id).CompletedAt; got != want {
		t.Errorf("delivered at %v, want %v", got, want)
	}
}

func TestTwoFlowsShareEquallyWithoutCongestionControl(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{})
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), QPs: 1}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2), QPs: 9}),
	}
	r := rates(n, ids, ms, 3*ms)
	near(t, "one queue pair", r[0], 50, 0.005)
	near(t, "nine queue pairs of another host", r[1], 50, 0.005)
}

func TestQueuePairsOfAHostAreServedRoundRobin(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{})
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 1), QPs: 1}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), QPs: 3}),
	}
	r := rates(n, ids, ms, 3*ms)
	near(t, "one queue pair", r[0], 25, 0.01)
	near(t, "three queue pairs", r[1], 75, 0.01)
}

// Experiment E1 of the differentiated-bandwidth paper (S1) without congestion control: the switch serves its inputs round
// robin, so all flows over the inter-switch link together get the same rate as one local host.
func TestParkingLot(t *testing.T) {
	t.Parallel()
	f, err := topogen.S1Testbed()
	if err != nil {
		t.Fatal(err)
	}
	n := build(t, f, Config{MTU: 1024})
	var ids []FlowID
	for _, src := range []string{"A", "B", "D", "E"} {
		ids = append(ids, addFlow(t, n, FlowSpec{Src: named(t, f, src), Dst: named(t, f, "C")}))
	}
	r := rates(n, ids, 5*ms, 25*ms)
	third := 10.0 / 3
	near(t, "A and B together", r[0]+r[1], third, 0.01)
	near(t, "A", r[0], third/2, 0.01)
	near(t, "D", r[2], third, 0.01)
	near(t, "E", r[3], third, 0.01)
}

func TestDemandLimitsAFlow(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{})
	ids := []FlowID{
		addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 2), QPs: 4, Demand: 10 * quantity.Gbps}),
		addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2)}),
	}
	r := rates(n, ids, ms, 6*ms)
	near(t, "limited flow", r[0], 10, 0.01)
	near(t, "greedy flow", r[1], 90, 0.01)
}

func TestStartStopAndFiniteFlows(t *testing.T) {
	t.Parallel()
	f := star(t, 4)
	n := build(t, f, Config{})
	timed := addFlow(t, n, FlowSpec{Src: hostPort(f, 0), Dst: hostPort(f, 3), Start: ms, Stop: 2 * ms})
	finite := addFlow(t, n, FlowSpec{Src: hostPort(f, 1), Dst: hostPort(f, 2), QPs: 3, Bytes: 1_000_001})
	stopped := addFlow(t, n, FlowSpec{Src: hostPort(f, 3), Dst: hostPort(f, 0)})
	n.RunUntil(ms - 1)
	if d := n.Delivered(timed); d != 0 {
		t.Errorf("%d bytes delivered before the start", d)
	}
	if s := n.Flow(finite); !s.Done || s.DeliveredPayload != 1_000_001 || s.CompletedAt == 0 || s.SentPayload != s.DeliveredPayload {
		t.Errorf("finite flow: %+v", s)
	}
	n.StopFlow(stopped)
	n.RunUntil(3 * ms)
	a, b := n.Flow(timed), n.Flow(stopped)
	n.RunUntil(5 * ms)
	if n.Delivered(timed) != a.DeliveredBytes || n.Delivered(stopped) != b.DeliveredBytes || !a.Stopped || !b.Stopped {
		t.Error("a stopped flow still delivers packets")
	}
	near(t, "rate between start and stop", float64(a.DeliveredBytes)*8/ms.Seconds()/1e9, 100, 0.01)
	if st := n.Stats(); st.InFabric != 0 || st.PendingEvents > 2*8 {
		t.Errorf("after the end of traffic %d packets and %d events are left", st.InFabric, st.PendingEvents)
	}
}

func TestRefusedFlows(t *testing.T) {
	t.Parallel()
	f := star(t, 3)
	n := build(t, f, Config{})
	a, b := hostPort(f, 0), hostPort(f, 1)
	sw := f.Switches()[0]
	for name, spec := range map[string]FlowSpec{
		"to itself":           {Src: a, Dst: a, QPs: 1},
		"no queue pairs":      {Src: a, Dst: b},
		"too many":            {Src: a, Dst: b, QPs: MaxQPs + 1},
		"SL 16":               {Src: a, Dst: b, QPs: 1, SL: 16},
		"stop before start":   {Src: a, Dst: b, QPs: 1, Start: 2, Stop: 1},
		"negative demand":     {Src: a, Dst: b, QPs: 1, Demand: -1},
		"a switch's port":     {Src: a, Dst: portRef(sw, 1), QPs: 1},
		"an unknown node":     {Src: portRef(99, 1), Dst: b, QPs: 1},
		"an unknown port":     {Src: portRef(a.Node, 7), Dst: b, QPs: 1},
		"more than 2^60 byte": {Src: a, Dst: b, QPs: 1, Bytes: 1<<60 + 1},
	} {
		if id, err := n.AddFlow(spec); err == nil {
			t.Errorf("%s: accepted as flow %d", name, id)
		}
	}
	if n.Flows() != 0 {
		t.Errorf("Flows returns %d after errors", n.Flows())
	}
	if _, err := n.AddFlow(FlowSpec{Src: a, Dst: b, QPs: 2}); err != nil {
		t.Fatal(err)
	}
	const want = "1048575 queue pairs in addition to 2: want at most 1048576 on one fabric"
	if _, err := n.AddFlow(FlowSpec{Src: a, Dst: b, QPs: MaxQPs - 1}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a flow with one queue pair above the limit: %v, want %s", err, want)
	}
}

// One bottleneck of 100 Gbit/s; tenants of weight 4, 2, 1 with 1, 4 and 16 queue pairs and timers T0, 8·T0, 64·T0; Increase
// 1; every 32nd packet marked. Shares must be within 5 % of 57.1 : 28.6 : 14.3 at 97 % utilization or more.
func TestTimersGiveWeightedShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		ratio   float64
		spread  bool // whether each queue pair has a separate host
		restart bool
		marking MarkSpacing
		tol     float64
	}{
		{"geometric 1.08", 1.08, false, false, MarkRandom, 0.05},
		{"geometric 1.05", 1.05, false, false, MarkRandom, 0.05},
		{"one host per queue pair", 1.08, true, false, MarkRandom, 0.05},
		{"exactly every 32nd", 1.05, true, false, MarkEveryNth, 0.05},
		{"restart on BECN", 1.05, false, true, MarkRandom, 0.12},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, ids := threeTenants(t, c.ratio, 25*us, c.spread, Config{Seed: 1, Marking: c.marking, TimerRestart: c.restart})
			got := tenantRates(n, ids)
			total := sum(got[:])
			if total < 97 {
				t.Errorf("link use %.1f %%, want at least 97", total)
			}
			for i, want := range []float64{4, 2, 1} {
				near(t, fmt.Sprintf("tenant of weight %v", want), got[i], 100*want/7, c.tol)
			}
		})
	}
}

// With T0 10 us, the weights need 1.8 times as many marks as the switch can make. Queues fill and back-pressure by credits
// determines the shares. The weights have no effect, although the link is fully used.
func TestTooFewMarksLoseTheWeights(t *testing.T) {
	t.Parallel()
	n, ids := threeTenants(t, 1.05, 10*us, true, Config{Seed: 1})
	got := tenantRates(n, ids)
	if total := sum(got[:]); total < 99 {
		t.Errorf("link use %.1f %%, want about 100", total)
	}
	if got[0] > 100*4.0/7*0.6 || got[1] < 100*2.0/7*1.3 {
		t.Errorf("shares %.1f, want shares without effect of the weights", got)
	}
}

// threeTenants builds the network with one bottleneck and returns each tenant's flows.
func threeTenants(t *testing.T, ratio float64, t0 quantity.Picoseconds, spread bool, cfg Config) (*Network, [3][]FlowID) {
	t.Helper()
	f := star(t, 22)
	n := build(t, f, cfg)
	n.SetSwitchCC(f.Switches()[0], ibcc.SwitchSettings{Threshold: 4, MarkingRate: 32})
	table := geometric(ratio, 128)
	var ids [3][]FlowID
	next := 0
	for i, qps := range []int{1, 4, 16} {
		hosts := 1
		if spread {
			hosts = qps
		}
		for range hosts {
			src := hostPort(f, next)
			next++
			timer := timerUnits(t0) << (3 * i)
			n.ApplyCA(src.Node, src.Port, ibcc.CASettings{Limit: 127, Table: table, SLs: allSLs(ibcc.SLParams{Timer: timer, Increase: 1})})
			ids[i] = append(ids[i], addFlow(t, n, FlowSpec{Src: src, Dst: hostPort(f, 21), QPs: qps / hosts}))
		}
	}
	return n, ids
}

// tenantRates runs 0.4 s and returns the rates over the last 0.3 s.
func tenantRates(n *Network, ids [3][]FlowID) (got [3]float64) {
	var all []FlowID
	for _, l := range ids {
		all = append(all, l...)
	}
	r := rates(n, all, 100*ms, 400*ms)
	for i, l := range ids {
		got[i] = sum(r[:len(l)])
		r = r[len(l):]
	}
	return got
}
