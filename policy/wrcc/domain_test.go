package wrcc

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// A loop oscillates when flows have a round trip of exactly its WRCCT. The compiler avoids these periods while S0's range has room, and
// reports when it has none.
func TestPeriodsAvoidRoundTripsAtWhichTheLoopOscillates(t *testing.T) {
	t.Parallel()
	const rtt = 100 * quantity.Microsecond
	for _, c := range []struct {
		rtts   []int64 // us
		slow   float64
		period quantity.Picoseconds
		found  bool
	}{
		{nil, 1e12, 200 * quantity.Microsecond, false},
		{[]int64{200}, 1e12, 250 * quantity.Microsecond, false},
		{[]int64{200, 250, 300}, 1e12, 350 * quantity.Microsecond, false},
		{[]int64{200, 250, 300, 350}, 1e12, 400 * quantity.Microsecond, false},
		{[]int64{200, 250, 300, 350, 400}, 1e12, 200 * quantity.Microsecond, true},
		{nil, 1e9, 400 * quantity.Microsecond, false},          // 1 Gbit/s sends 45 packets in it
		{[]int64{400}, 1e9, 350 * quantity.Microsecond, false}, // the longest that is stable
	} {
		d := domain{rtt: rtt, rtts: c.rtts, slowest: c.slow, used: true}
		d.limit()
		d.choosePeriod()
		if found := len(d.findings) > 0; d.period != c.period || found != c.found || found && d.findings[0].Code != plan.CodeWRCCUnstable {
			t.Errorf("round trips %v us, %g bit/s: WRCCT %s, findings %v, want %s", c.rtts, c.slow, d.period, d.findings, c.period)
		}
	}
}

// On a fat tree the exact search and sweeps find the same largest round trip: six links in both directions and six full packets.
func TestTheLargestRoundTripOfAFatTree(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := &Settings{m: &model.Model{Fabric: f}}
	x := s.newSpan(s.linkTimes())
	nodes := model.Indices(len(f.Nodes))
	packet := 6 * quantity.Picoseconds(float64((4096+overhead)*8)/100e9*1e12)
	want := 12*quantity.Microsecond + packet
	if got := x.largest(nodes); got < want-10 || got > want+10 {
		t.Errorf("exact: %s, want %s", got, want)
	}
	e := x.edges(nodes)
	if got := x.sweeps(e); got < want-10 || got > want+10 {
		t.Errorf("by sweeps: %s, want %s", got, want)
	}
	if rtt, far := x.from(e[0]); rtt < want-10 || rtt > want+10 || f.Nodes[far].Kind != subnet.KindSwitch || far == e[0] {
		t.Errorf("from one edge: %s to %d, want %s", rtt, far, want)
	}
}

// Sweeps are exact on trees: the farthest switch from any start is at one end of a longest path.
func TestSweepsFindTheLargestRoundTripOfATree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "switches")
		var nodes []subnet.Node
		var links []subnet.Link
		used := map[int32]ident.PortNum{}
		link := func(a, b int32) {
			used[a]++
			used[b]++
			links = append(links, subnet.Link{A: subnet.PortRef{Node: a, Port: used[a]}, B: subnet.PortRef{Node: b, Port: used[b]}, Rate: 100 * quantity.Gbps,
				Delay: quantity.Picoseconds(rapid.IntRange(1, 50).Draw(t, "us")) * quantity.Microsecond})
		}
		add := func(kind subnet.NodeKind, ports int) int32 {
			i := len(nodes)
			nodes = append(nodes, subnet.Node{GUID: ident.GUID(i + 1), Name: fmt.Sprint("n", i), Kind: kind, Ports: subnet.NewPorts(ports)})
			return int32(i)
		}
		for i := range n {
			s := add(subnet.KindSwitch, 40)
			if i > 0 {
				link(int32(rapid.IntRange(0, i-1).Draw(t, "parent")), s)
			}
		}
		for i := range n {
			for range rapid.IntRange(0, 2).Draw(t, "hosts") {
				link(int32(i), add(subnet.KindCA, 1))
			}
		}
		f, err := subnet.New("tree", nodes, links)
		if err != nil {
			t.Fatal(err)
		}
		s := &Settings{m: &model.Model{Fabric: f}}
		x := s.newSpan(s.linkTimes())
		e := x.edges(model.Indices(len(f.Nodes)))
		if len(e) == 0 {
			return
		}
		if exact, sweeps := x.exact(e), x.sweeps(e); exact != sweeps {
			t.Fatalf("by sweeps %s, want %s", sweeps, exact)
		}
	})
}

// The period does not cover the packet gap of the slowest twentieth of queue pairs, nor more than 250 us.
func TestTheLoopWaitsForAllButTheSlowestTwentieth(t *testing.T) {
	t.Parallel()
	packet := float64(1134 * 8)                                       // bits of a packet with 1,024 bytes of payload
	for _, c := range []struct{ slow, slowRate, rate, want float64 }{ // us
		{4.9, 60e6, 1e9, packet / 1e3}, {5.1, 60e6, 1e9, packet / 60}, {5.1, 1e6, 1e9, 250}, {0, 60e6, 1e9, packet / 1e3},
	} {
		d := domain{paces: []pace{{c.rate, 50}, {c.slowRate, c.slow}, {c.rate, 50 - c.slow}}}
		if got := d.gap().Seconds() * 1e6; math.Abs(got-c.want) > 0.01 {
			t.Errorf("%g of 100 queue pairs have %g bit/s: gap %g us, want %g", c.slow, c.slowRate, got, c.want)
		}
	}
}

func TestPowersOfTwoBelowAndAbove(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ x, below, above float64 }{
		{1, 1, 1}, {1.5, 1, 2}, {2, 2, 2}, {0.3, 0.25, 0.5}, {0.25, 0.25, 0.25}, {1000, 512, 1024}, {0, 0, 0}, {math.Inf(1), math.Inf(1), math.Inf(1)},
	} {
		if below, above := powerBelow(c.x), powerAbove(c.x); below != c.below || above != c.above {
			t.Errorf("%g is between %g and %g, want %g and %g", c.x, below, above, c.below, c.above)
		}
	}
}

func TestEveryNodeIsInItsDataCentre(t *testing.T) {
	t.Parallel()
	names := []string{"west", "", "east", "west", "", "north", "west"}
	s := &Settings{m: &model.Model{Fabric: &subnet.Fabric{}}}
	for _, name := range names {
		s.m.Fabric.Nodes = append(s.m.Fabric.Nodes, subnet.Node{Domain: name})
	}
	s.findDomains()
	var found []string
	for _, d := range s.domains {
		found = append(found, d.name)
		for _, n := range d.nodes {
			if names[n] != d.name {
				t.Errorf("node %d of %q is in %q", n, names[n], d.name)
			}
		}
	}
	if want := []string{"", "east", "north", "west"}; !slices.Equal(found, want) {
		t.Errorf("data centres %q, want %q", found, want)
	}
	for n, k := range s.home {
		if s.domains[k].name != names[n] {
			t.Errorf("node %d of %q is assigned to %q", n, names[n], s.domains[k].name)
		}
	}
}

// BenchmarkFindDomains has 40,000 nodes with a data centre each: 50 ms, where pairwise comparison took 7 s.
func BenchmarkFindDomains(b *testing.B) {
	f := &subnet.Fabric{}
	for i := range 40_000 {
		f.Nodes = append(f.Nodes, subnet.Node{Domain: fmt.Sprintf("d%06d", i*7%40_000)})
	}
	for b.Loop() {
		(&Settings{m: &model.Model{Fabric: f}}).findDomains()
	}
}
