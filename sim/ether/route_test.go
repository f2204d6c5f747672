package ether

import (
	"testing"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// Routes are computed once for all hosts of a switch; they must equal those of a search from each host.
func TestRoutesEqualSearchFromEachHost(t *testing.T) {
	t.Parallel()
	fat, err := topogen.FatTree(topogen.FatTreeOptions{K: 4})
	if err != nil {
		t.Fatal(err)
	}
	two, err := topogen.S0DualDC()
	if err != nil {
		t.Fatal(err)
	}
	for _, topo := range []*subnet.Fabric{fat, two, chain(t, 100*quantity.Gbps, 400*quantity.Gbps, 100*quantity.Gbps), chain(t, 100*quantity.Gbps)} {
		n, err := New(topo, Config{Algorithms: []cc.Algorithm{build(t, "none", nil)}, Buffer: Buffer{Bytes: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		dist, hosts := make([]int32, len(n.first)-1), len(n.hosts)
		for h := range n.hosts {
			n.distances(n.hosts[h].port, dist, nil)
			for s := range n.switches {
				g := n.routes.groups[n.routes.table[s*hosts+h]]
				at := 0
				for pi := n.first[n.switches[s].node]; pi < n.first[n.switches[s].node+1]; pi++ {
					if !n.closer(pi, dist, int32(h)) {
						continue
					}
					if at >= int(g.count) || n.routes.ports[int(g.at)+at] != pi {
						t.Fatalf("%s: switch %d to host %d: group %v lacks port %d", topo.Name, s, h, g, pi)
					}
					at++
				}
				if at != int(g.count) {
					t.Fatalf("%s: switch %d to host %d: %d ports, want %d", topo.Name, s, h, g.count, at)
				}
			}
		}
	}
}
