package subnet

import "slices"

// Tiers returns the height of every node for drawing: 0 for channel adapters and routers, 1 for switches with such
// neighbours, 2 for the next, and so on up to a fat tree's core. Switches that no host can reach get 0 too.
func (f *Fabric) Tiers() []int {
	g := newGraph(f)
	tiers := make([]int, len(f.Nodes))
	for s, t := range g.tiers() {
		if t != unreached {
			tiers[f.Switches()[s]] = int(t) + 1
		}
	}
	return tiers
}

// Diameter returns the largest number of links on a shortest path between two plugged-in ports of hosts; 0 without two
// that reach each other.
func (f *Fabric) Diameter() int {
	g := newGraph(f)
	most := 0
	for s, n := range g.sources {
		if n == 0 {
			continue
		}
		if n > 1 {
			most = max(most, 2)
		}
		dist, met := g.bfs(int32(s))
		for _, far := range slices.Backward(met) {
			if g.sources[far] > 0 && far != int32(s) {
				most = max(most, int(dist[far])+2)
				break
			}
		}
	}
	for _, h := range f.Hosts() {
		for p := range f.Nodes[h].Ports {
			if l, _ := f.Link(PortRef{h, f.Nodes[h].Ports[p].Num}); l != nil && most == 0 &&
				f.Nodes[l.A.Node].Kind != KindSwitch && f.Nodes[l.B.Node].Kind != KindSwitch {
				most = 1 // two hosts back to back
			}
		}
	}
	return most
}
