package policy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// A loop swings when flows have a round trip of just its WRCCT. The compiler goes round them while S0's range has room,
// and says so when it has none.
func TestPeriodsAvoidRoundTripsAtWhichTheLoopSwings(t *testing.T) {
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
		d := wrccDomain{rtt: rtt, rtts: c.rtts, slowest: c.slow, used: true}
		d.limit()
		d.choosePeriod()
		if found := len(d.findings) > 0; d.period != c.period || found != c.found || found && d.findings[0].Code != CodeWRCCUnstable {
			t.Errorf("round trips %v us, %g bit/s: WRCCT %s, findings %v, want %s", c.rtts, c.slow, d.period, d.findings, c.period)
		}
	}
}

// The largest round trip is the same by the exact search and by sweeps on a fat tree, and it is twice the six links.
func TestTheLargestRoundTripOfAFatTree(t *testing.T) {
	t.Parallel()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	s := &wrccSettings{m: &model{fabric: f}}
	x := s.newSpan(s.linkTimes())
	nodes := numbered(len(f.Nodes))
	packet := 6 * quantity.Picoseconds(float64((4096+wrccOverhead)*8)/100e9*1e12)
	want := 12*quantity.Microsecond + packet
	if got := x.largest(nodes); got < want-10 || got > want+10 {
		t.Errorf("exact: %s, want %s", got, want)
	}
	e := x.edges(nodes)
	if rtt, far := x.from(e[0]); rtt < want-10 || rtt > want+10 || f.Nodes[far].Kind != subnet.KindSwitch || far == e[0] {
		t.Errorf("from one edge: %s to %d, want %s", rtt, far, want)
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
	s := &wrccSettings{m: &model{fabric: &subnet.Fabric{}}}
	for _, name := range names {
		s.m.fabric.Nodes = append(s.m.fabric.Nodes, subnet.Node{Domain: name})
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
			t.Errorf("node %d of %q is at home in %q", n, names[n], s.domains[k].name)
		}
	}
}

// BenchmarkFindDomains is of 40,000 nodes with a data centre each: 50 ms, where comparing each with all took 7 s.
func BenchmarkFindDomains(b *testing.B) {
	f := &subnet.Fabric{}
	for i := range 40_000 {
		f.Nodes = append(f.Nodes, subnet.Node{Domain: fmt.Sprintf("d%06d", i*7%40_000)})
	}
	for b.Loop() {
		(&wrccSettings{m: &model{fabric: f}}).findDomains()
	}
}
