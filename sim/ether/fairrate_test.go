package ether

import (
	"math"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
)

// fairOf returns the WRCC state of a switch port.
func (n *Network) fairOf(pi int32) *fairPort {
	f := &n.fair[n.ports[pi].sw]
	return &f.ports[pi-f.first]
}

// The limit of a queue is the sum of the thresholds of the classes in it: a port with traffic only in class 1 uses neither the
// threshold nor the bytes of other classes.
func TestWRCCLimitsTheQueueByTheClassesInUse(t *testing.T) {
	t.Parallel()
	classes := []Class{{Weight: 1}, {Weight: 1}, {Weight: 1, Lossy: true}}
	for name, tc := range map[string]struct {
		senders   []uint8 // classes, one flow each
		lossyOnce int64
	}{
		"class 1 alone":      {[]uint8{1, 1, 1}, 0},
		"classes 0 and 1":    {[]uint8{0, 1, 1}, 0},
		"with a lossy class": {[]uint8{1, 2, 2}, 1},
		"only a lossy class": {[]uint8{2, 2, 2}, 1},
	} {
		var flows []FlowSpec
		for i, c := range tc.senders {
			flows = append(flows, FlowSpec{ID: int64(i), Src: int32(i), Dst: 3, Class: c})
		}
		n, _ := star(t, 4, Config{Classes: classes, FairRate: &FairRate{Period: 10 * us}, Recovery: Recovery{Timeout: ms}}, flows...)
		n.RunUntil(9 * us)
		pi, p := n.outTo(3)
		s := &n.switches[p.sw]
		held, most := n.queueOf(p.sw, pi-n.fair[p.sw].first)
		want := tc.lossyOnce * ((s.shared - s.used) * s.egressNum >> 10)
		for i, c := range tc.senders {
			if !classes[c].Lossy {
				want += s.threshold(&n.ingress[int(n.ports[n.hosts[i].port].peer)*n.classes+int(c)])
			}
		}
		if held != p.queued || held == 0 || most != want || most == 0 {
			t.Errorf("%s: %d of %d bytes counted, limit %d, want %d", name, held, p.queued, most, want)
		}
	}
}

// WRCC controls a queue of class 1, below acknowledgements of class 0 from elsewhere, as well as a queue of class 0.
func TestWRCCHoldsTheQueueOfAnyClass(t *testing.T) {
	t.Parallel()
	peak := func(class uint8) int64 {
		cfg := Config{
			Classes:  []Class{{Weight: 1}, {Weight: 1}},
			FairRate: &FairRate{Period: 10 * us}, Algorithms: []cc.Algorithm{build(t, "wrcc", nil)},
		}
		var flows []FlowSpec
		for i := range int32(8) {
			flows = append(flows, FlowSpec{ID: int64(i), Src: i, Dst: 8, Class: class})
		}
		n, _ := star(t, 9, cfg, flows...)
		n.RunUntil(ms)
		_, p := n.outTo(8)
		most := int64(0)
		for n.Now() < 3*ms {
			n.RunUntil(n.Now() + 10*us)
			most = max(most, p.queued)
		}
		return most
	}
	if a, b := peak(0), peak(1); a != b {
		t.Errorf("queue of class 0 up to %d bytes, of class 1 %d: want the same", a, b)
	}
}

// Only flows with a fair rate report a round trip time: the average is that of WRCC's own packets.
func TestWRCCAveragesTheRoundTripsOfItsOwnPackets(t *testing.T) {
	t.Parallel()
	cfg := Config{FairRate: &FairRate{Period: 10 * us}, Algorithms: []cc.Algorithm{build(t, "wrcc", nil), build(t, "none", nil)}}
	n, _ := star(t, 3, cfg, FlowSpec{ID: 0, Src: 0, Dst: 2}, FlowSpec{ID: 1, Src: 1, Dst: 2, Algorithm: 1})
	n.RunUntil(ms)
	pi, _ := n.outTo(2)
	rtt := n.walk(0, 2, 0).rtt
	told := float64((rtt + quantity.Microsecond - 1) / quantity.Microsecond) // whole microseconds, rounded up, as reported to the switch
	if got := n.fairOf(pi).state.AvgRTT * 1e6; math.Abs(got-told) > 1e-9 {
		t.Errorf("average round trip %v us, want %v", got, told)
	}
}

// A flow whose path has more switches than its packets have telemetry records for is rejected, instead of running without
// control.
func TestPathsLongerThanTelemetryAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		given    cc.Values
		switches int
		ok       bool
	}{
		{"hpcc", cc.Values{"int": 1}, 5, true},
		{"hpcc", cc.Values{"int": 1}, 6, false},
		{"hpcc", nil, 10, true},
		{"hpcc", nil, 11, false},
		{"dcqcn", nil, 11, true},
	} {
		rates := make([]quantity.BitRate, tc.switches+1)
		for i := range rates {
			rates[i] = 100 * quantity.Gbps
		}
		topo := chain(t, rates...)
		n, err := New(topo, Config{Algorithms: []cc.Algorithm{build(t, tc.name, tc.given)}})
		if err != nil {
			t.Fatal(err)
		}
		err = n.Add(FlowSpec{Src: 0, Dst: 1, Bytes: 1000})
		if tc.ok && err != nil || !tc.ok && (err == nil || !strings.Contains(err.Error(), "switches between its hosts: want at most")) {
			t.Errorf("%s %v over %d switches: %v", tc.name, tc.given, tc.switches, err)
		}
	}
}

// A stopped finite flow completes with the bytes it has sent; a flow that has sent everything completes normally.
func TestAFiniteFlowStops(t *testing.T) {
	t.Parallel()
	done := make(map[int64]int64)
	cfg := Config{OnDone: func(d Done) { done[d.ID] = d.Bytes }}
	n, _ := star(t, 3, cfg, FlowSpec{ID: 1, Src: 0, Dst: 2, Bytes: 10_000_000, Stop: 100 * us, Demand: 10 * quantity.Gbps}, FlowSpec{ID: 2, Src: 1, Dst: 2, Bytes: 10_000, Stop: 100 * us})
	n.RunUntil(10 * ms)
	if !n.Finished() || done[1] < 100_000 || done[1] > 130_000 || done[2] != 10_000 {
		t.Errorf("%v: want about 120,000 bytes of flow 1, which was stopped, and all of flow 2", done)
	}
}
