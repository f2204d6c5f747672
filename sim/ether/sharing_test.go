package ether

import (
	"math"
	"runtime"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/cc"
	"fairlane/subnet/topogen"
	"fairlane/wrcc"
)

// Deficit round robin gives classes with weights 3 and 1 three quarters and one quarter of a link, for any packet sizes; a
// strict class gets its full demand.
func TestClassesShareByWeightAndStrictOnesDoNotShare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		classes  []Class
		low, top float64
	}{
		"3:1":                      {[]Class{{Weight: 3}, {Weight: 1}}, 2.97, 3.03},
		"1:1":                      {[]Class{{Weight: 1}, {Weight: 1}}, 0.99, 1.01},
		"strict before weight 255": {[]Class{{Strict: true}, {Weight: 255}}, 1000, math.Inf(1)},
		"two strict classes":       {[]Class{{Strict: true}, {Strict: true}}, 1000, math.Inf(1)},
	} {
		n, _ := star(t, 3, Config{Classes: tc.classes}, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2, Class: 1})
		n.RunUntil(ms)
		before := n.shares(2)
		n.RunUntil(4 * ms)
		after := n.shares(2)
		if r := (after[0] - before[0]) / max(1, after[1]-before[1]); r < tc.low || r > tc.top {
			t.Errorf("%s: ratio %.3f, want %g to %g", name, r, tc.low, tc.top)
		}
		if all := after[0] + after[1] - before[0] - before[1]; all < 0.999*3e-3*100e9/8*1000/1048 {
			t.Errorf("%s: %.0f bytes in 3 ms, want a full link", name, all)
		}
	}
}

// The flows of a NIC alternate within a class, and its classes share by weight.
func TestANICSharesByClassThenByFlow(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 2, Config{Classes: []Class{{Weight: 3}, {Weight: 1}}},
		FlowSpec{ID: 0, Src: 0, Dst: 1}, FlowSpec{ID: 1, Src: 0, Dst: 1}, FlowSpec{ID: 2, Src: 0, Dst: 1, Class: 1})
	n.RunUntil(4 * ms)
	s := n.shares(3)
	if all := s[0] + s[1] + s[2]; math.Abs(s[0]/all-0.375) > 0.005 || math.Abs(s[1]/all-0.375) > 0.005 || math.Abs(s[2]/all-0.25) > 0.005 {
		t.Errorf("%v: want 3/8, 3/8 and 1/4", s)
	}
}

// WRCC's flows of weights 1, 2 and 4 share a link as 1 : 2 : 4.
func TestWeightedWRCCSharesExactly(t *testing.T) {
	t.Parallel()
	cfg := Config{FairRate: &FairRate{Period: 10 * us}, Algorithms: []cc.Algorithm{build(t, "wrcc-weighted", nil)}}
	n, _ := star(t, 4, cfg, FlowSpec{ID: 0, Src: 0, Dst: 3, Weight: 1}, FlowSpec{ID: 1, Src: 1, Dst: 3, Weight: 2}, FlowSpec{ID: 2, Src: 2, Dst: 3, Weight: 4})
	n.RunUntil(5 * ms)
	before := n.shares(3)
	n.RunUntil(15 * ms)
	after := n.shares(3)
	unit := (after[0] - before[0] + after[1] - before[1] + after[2] - before[2]) / 7
	for i, w := range []float64{1, 2, 4} {
		near(t, "share in weights", (after[i]-before[i])/unit, w, 0.01)
	}
	near(t, "rate of the link", 7*unit*8/10e-3, 100e9*1000/(1048+wrcc.HeaderSize), 0.01)
}

// A demand limits the rate of a flow, in wire bytes.
func TestADemandBoundsAFlow(t *testing.T) {
	t.Parallel()
	var fct quantity.Picoseconds
	n, _ := star(t, 2, Config{OnDone: func(d Done) { fct = d.FCT }}, FlowSpec{Src: 0, Dst: 1, Bytes: 1_000_000, Demand: 10 * quantity.Gbps})
	n.RunUntil(quantity.Second)
	// 999 gaps of 1048 bytes at 10 Gbit/s, then the last packet and its acknowledgement at 100 Gbit/s.
	if want := 999*1048*800 + 2*(full+60*80) + 4*us; fct != want {
		t.Errorf("took %d ps, want %d", fct, want)
	}
}

// An unlimited flow completes after a stop, with all sent bytes delivered.
func TestAnEndlessFlowStops(t *testing.T) {
	t.Parallel()
	var done []Done
	cfg := Config{OnDone: func(d Done) { done = append(done, d) }}
	n, _ := star(t, 2, cfg, FlowSpec{Src: 0, Dst: 1, Start: us, Stop: 101 * us})
	n.RunUntil(ms)
	packets := int64(100*us/full) + 1
	if len(done) != 1 || done[0].Bytes != packets*1000 || n.Stats().AcceptedBytes != uint64(packets*1000) || !n.Finished() {
		t.Errorf("%+v, %+v: want one flow of %d packets", done, n.Stats(), packets)
	}
}

// Equal-cost paths carry equal numbers of flows at both levels of a fat tree, and each flow uses one path.
func TestPathsAreSpreadEvenlyAndKept(t *testing.T) {
	t.Parallel()
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 8})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := on(t, topo, Config{Seed: 5})
	const flows = 6400
	cores := make(map[int32]float64)
	for i := range flows {
		f := FlowSpec{ID: int64(i), Src: int32(i % 4), Dst: int32(64 + i%64)}
		k := packet{dst: f.Dst, hash: n.pathHash(&f)}
		at := n.ports[n.ports[n.hosts[f.Src].port].peer].sw
		for range 2 {
			at = n.ports[n.ports[n.route(at, &k)].peer].sw
		}
		cores[at]++
	}
	chi := 0.0
	const paths = 16
	for _, c := range cores {
		chi += (c - flows/paths) * (c - flows/paths) / (flows / paths)
	}
	// With 15 degrees of freedom, a uniform hash exceeds 37.7 in one of a thousand cases.
	if len(cores) != paths || chi > 37.7 {
		t.Errorf("chi-square %.1f over %d of %d cores: %v", chi, len(cores), paths, cores)
	}
	if err := n.Add(FlowSpec{ID: 1, Src: 0, Dst: 127, Bytes: 100_000}); err != nil {
		t.Fatal(err)
	}
	n.RunUntil(ms)
	used := 0
	for i := range n.ports {
		if p := &n.ports[i]; p.sw != none && p.stats.TxPackets > 0 {
			if used++; p.stats.TxPackets != 100 {
				t.Errorf("%s carried %d of 100 packets", n.PortName(n.ref(int32(i))), p.stats.TxPackets)
			}
		}
	}
	if used != 5 {
		t.Errorf("%d switch ports used, want 5", used)
	}
}

// manyFlows is a source of ten million short flows, one every 200 ns.
type manyFlows struct {
	rng  sim.RNG
	next int64
}

func (c *manyFlows) Next() (FlowSpec, bool) {
	c.next++
	src := int32(c.rng.Uint64n(16))
	dst := (src + 1 + int32(c.rng.Uint64n(15))) % 16
	return FlowSpec{ID: c.next, Src: src, Dst: dst, Bytes: 1000, Start: quantity.Picoseconds(c.next) * 200 * quantity.Nanosecond}, c.next <= 10_000_000
}

// The network takes flows from their source as they start. The memory of a run therefore depends on the active flows, not on
// future ones.
func TestMemoryDependsOnActiveFlowsOnly(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	n, _ := star(t, 16, Config{Algorithms: []cc.Algorithm{build(t, "dcqcn-peer", nil)}})
	c := &manyFlows{rng: sim.NewRNG(1)}
	if err := n.SetSource(c); err != nil {
		t.Fatal(err)
	}
	n.RunUntil(2 * ms)
	before := heap()
	n.RunUntil(22 * ms)
	grown := heap() - before
	if st := n.Stats(); grown > 256<<10 || c.next > 111_000 || st.Completed < 100_000 || st.PeakActive > 500 || len(n.specs) > 2 {
		t.Errorf("%d bytes more after %d flows, %d drawn, %d active at most, %d scheduled ahead", grown, st.Completed, c.next, st.PeakActive, len(n.specs))
	}
	runtime.KeepAlive(n)
}

// timerControl is a congestion control whose rate rises by a timer only.
type timerControl struct {
	recorder
	at quantity.Picoseconds
}

func (w *timerControl) Settle(_ int32, now quantity.Picoseconds, c *cc.Control) {
	if now >= w.at {
		c.Rate = 100e9
	}
}

// A flow at 1 Mbit/s has 8 ms between packets. When its rate recovers in the meantime, the flow continues after at most
// longestSleep. With times truncated as in ns-3, the flow keeps its old deadline.
func TestARateThatRecoversEndsTheWait(t *testing.T) {
	t.Parallel()
	for _, truncate := range []bool{false, true} {
		w := &timerControl{recorder: recorder{control: cc.Control{Rate: 1e6}}, at: 120 * us}
		n, _ := star(t, 2, Config{TruncateNs: truncate, Algorithms: []cc.Algorithm{w}}, FlowSpec{Src: 0, Dst: 1, Bytes: 10_000})
		n.RunUntil(120*us + longestSleep)
		if got := n.Stats().SentPackets; truncate && got != 1 || !truncate && got != 10 {
			t.Errorf("truncate %v: %d packets sent soon after the rate recovered", truncate, got)
		}
		n.RunUntil(quantity.Second)
		if !n.Finished() {
			t.Errorf("truncate %v: %+v", truncate, n.Stats())
		}
	}
}
