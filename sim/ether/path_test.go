package ether

import (
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/wrcc"
)

// Path returns exactly the ports that carry the flow's packets.
func TestPathNamesThePortsThatCarryAFlow(t *testing.T) {
	t.Parallel()
	topo, err := topogen.FatTree(topogen.FatTreeOptions{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	ways := make(map[subnet.PortRef]bool)
	for entropy := range uint32(12) {
		n, _ := on(t, topo, Config{Seed: 5})
		f := FlowSpec{ID: 9, Src: 0, Dst: 15, Bytes: 50_000, Entropy: entropy}
		path, err := n.Path(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(path) != 6 || path[0] != n.HostPort(0) {
			t.Fatalf("path %v: want six links, the first from %v", path, n.HostPort(0))
		}
		ways[path[2]] = true
		if err := n.Add(f); err != nil {
			t.Fatal(err)
		}
		n.RunUntil(ms)
		on := make(map[subnet.PortRef]bool)
		for _, p := range path {
			on[p] = true
		}
		for i := range n.ports {
			p := &n.ports[i]
			if ref := n.ref(int32(i)); (p.stats.TxPackets == 50) != on[ref] || p.stats.TxPackets%50 != 0 {
				t.Errorf("entropy %d: %s carried %d packets; on the path: %v", entropy, n.PortName(ref), p.stats.TxPackets, on[ref])
			}
		}
	}
	if len(ways) < 2 {
		t.Error("twelve source ports use the same path")
	}
}

// Path rejects the flows that Add rejects.
func TestPathOfAFlowThatCannotBe(t *testing.T) {
	t.Parallel()
	n, _ := star(t, 3, Config{})
	for want, f := range map[string]FlowSpec{"host 1 to itself": {Src: 1, Dst: 1}, "hosts 0 and 7": {Dst: 7}} {
		if _, err := n.Path(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A port with its own marking rule uses it at any link rate; the others use the common rule.
func TestAPortMayHaveItsOwnMarking(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Star(3, topogen.Wire{})
	if err != nil {
		t.Fatal(err)
	}
	at := subnet.PortRef{Node: topo.Switches()[0], Port: 1}
	off := subnet.PortRef{Node: at.Node, Port: 2}
	own := map[subnet.PortRef]ECN{at: {Min: 7000, Max: 9000, PMax: 1}, off: {Off: true}}
	n, _ := on(t, topo, Config{ECN: ECN{Min: 10_000, Max: 40_000, PMax: 0.5}, ECNs: own})
	own[at] = ECN{} // New must have copied the map
	for port, want := range map[int32]ECN{1: {Min: 7000, Max: 9000, PMax: 1}, 2: {Min: 1 << 62, Max: 1 << 62}, 3: {Min: 40_000, Max: 160_000, PMax: 0.5}} {
		q := &n.queues[int(n.first[at.Node]+port)*n.classes]
		if q.kmin != want.Min || q.kmax != want.Max || q.pmax != want.PMax {
			t.Errorf("port %d: %d, %d, %g: want %+v", port, q.kmin, q.kmax, q.pmax, want)
		}
	}
	if _, err := New(topo, Config{Algorithms: n.cfg.Algorithms, ECNs: map[subnet.PortRef]ECN{at: {Min: 3, Max: 2}}}); err == nil || !strings.Contains(err.Error(), "ecn min 3: want 0 to 2") {
		t.Errorf("got %v, want an error with the range of min", err)
	}
}

// Each switch has the sampling period of its ports, and rejects ports with different periods.
func TestASwitchHasThePeriodOfItsPorts(t *testing.T) {
	t.Parallel()
	topo, err := topogen.Dumbbell(topogen.DumbbellOptions{})
	if err != nil {
		t.Fatal(err)
	}
	left := topo.Switches()[0]
	params := func(ref subnet.PortRef, rate quantity.BitRate) wrcc.Params {
		if ref.Node == left {
			return wrcc.DefaultParams(rate, 40*us)
		}
		return wrcc.DefaultParams(rate, 20*us)
	}
	n, _ := on(t, topo, Config{FairRate: &FairRate{Period: 10 * us, Params: params}})
	for i := range n.fair {
		want := 20 * us
		if n.switches[i].node == left {
			want = 40 * us
		}
		if n.fair[i].period != want {
			t.Errorf("switch %d: period %s, want %s", i, n.fair[i].period, want)
		}
	}
	mixed := func(ref subnet.PortRef, rate quantity.BitRate) wrcc.Params {
		return wrcc.DefaultParams(rate, quantity.Picoseconds(10+ref.Port)*us)
	}
	if _, err := New(topo, Config{Algorithms: n.cfg.Algorithms, FairRate: &FairRate{Period: 10 * us, Params: mixed}}); err == nil || !strings.Contains(err.Error(), "the period of the other ports") {
		t.Errorf("got %v, want an error: one period per switch", err)
	}
}
