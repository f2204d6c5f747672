package subnet

import (
	"errors"
	"math"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// errPartial means that up*/down* with the chosen order leaves a pair of connected switches without a legal path.
var errPartial = fault(phrase.Of("subnet.order"))

// ComputeRoutes computes the linear forwarding tables of all switches for every assigned LID, one entry for each node,
// nil for anything but switches; pass them to WithLFTs.
//
// Routes are up*/down*: switches are put into a total order, and a path climbs, then descends, and never climbs again. No
// cycle of channels can then wait on itself, so the fabric cannot deadlock (Schroeder et al., "Autonet", 1991). A layered
// fabric, such as a fat tree, is ordered by the distance from its top tier; any other by the distance from one central
// switch, which always connects everything. Only traffic from a top-tier switch to another switch's port 0 may have to
// descend and climb; no traffic of hosts does. Among the shortest legal paths each switch takes the one that carries the
// fewest source-destination pairs so far, counted from the hosts behind it. The LIDs of one port (LMC) prefer paths that
// the port's other LIDs do not use.
//
// The result depends only on f. Links with an end whose State is PortDown are not used; LIDs that a switch cannot
// reach get ident.DropPort. It fails when no port has a LID.
func ComputeRoutes(f *Fabric) ([][]ident.PortNum, error) {
	return computeRoutes(f, false)
}

// ComputeMinHopRoutes is ComputeRoutes with shortest paths instead of up*/down*. On a fabric
// with cycles, such as a ring or a torus, they may deadlock.
func ComputeMinHopRoutes(f *Fabric) ([][]ident.PortNum, error) {
	return computeRoutes(f, true)
}

// AssignAndRoute makes a fabric ready for traffic, as a subnet manager does: a LID on every switch and plugged-in port
// that has none (see AssignLIDs), and routes for all of them. Existing routes are recomputed.
func AssignAndRoute(f *Fabric, lmc uint8) (*Fabric, error) {
	f, err := AssignLIDs(f, lmc)
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("subnet.assign", "reason", err))
	}
	lfts, err := ComputeRoutes(f)
	if err != nil {
		return nil, err
	}
	return f.WithLFTs(lfts)
}

// MaxTables bounds the bytes of the forwarding tables of all switches together. Every table extends to the highest LID,
// so one host with a high LID could turn a small file of many switches into gigabytes. 5,000 switches with all LIDs fit.
const MaxTables = 256 << 20

func computeRoutes(f *Fabric, minHop bool) ([][]ident.PortNum, error) {
	if f.TopLID() == 0 {
		return nil, fault(phrase.Of("subnet.routes-no-lid"))
	}
	if size := len(f.Switches()) * (int(f.TopLID()) + 1); size > MaxTables {
		return nil, fault(phrase.Of("subnet.routes-size", "switches", len(f.Switches()), "lid", f.TopLID(), "bytes", size, "max", MaxTables))
	}
	g := newGraph(f)
	if minHop {
		r := newRouter(g, nil)
		err := r.run()
		return r.lfts, err
	}
	if ranks, layered := g.layeredRanks(); layered {
		r := newRouter(g, g.order(ranks))
		if err := r.run(); !errors.Is(err, errPartial) {
			return r.lfts, err
		}
	}
	r := newRouter(g, g.order(g.centralRanks()))
	if err := r.run(); err != nil {
		return nil, phrase.Because(err, phrase.Of("subnet.routes", "reason", err))
	}
	return r.lfts, nil
}

// hop is one direction of a link between two switches.
type hop struct {
	to   int32 // switch number
	port ident.PortNum
}

// endport is the owner of a LID in routing terms: its switch and the port that leads to it.
type endport struct {
	sw   int32
	port ident.PortNum // 0 for the switch itself
	lid  ident.LID
	lids int
}

// graph holds the switches of a fabric as an adjacency list. Switches are numbered in order.
type graph struct {
	f       *Fabric
	first   []int32 // first[s]..first[s+1] are the hops of switch s, by port
	hops    []hop
	sources []int64   // hosts' ports on each switch
	ends    []endport // by switch; hosts before the switch itself
	endAt   []int32   // endAt[s]..endAt[s+1] are the endports on switch s
}

func newGraph(f *Fabric) *graph {
	sw := f.Switches()
	number := make([]int32, len(f.Nodes))
	for s, n := range sw {
		number[n] = int32(s)
	}
	g := &graph{f: f, first: make([]int32, 1, len(sw)+1), sources: make([]int64, len(sw)), endAt: make([]int32, 1, len(sw)+1)}
	for s, n := range sw {
		node := &f.Nodes[n]
		for p := 1; p < len(node.Ports); p++ {
			peer, ok := f.Peer(PortRef{n, ident.PortNum(p)})
			if !ok || node.Ports[p].State == PortDown || f.Port(peer).State == PortDown {
				continue
			}
			far := &f.Nodes[peer.Node]
			if far.Kind == KindSwitch {
				g.hops = append(g.hops, hop{number[peer.Node], ident.PortNum(p)})
				continue
			}
			g.sources[s]++
			if q := &far.Ports[peer.Port]; q.LID != 0 {
				g.ends = append(g.ends, endport{int32(s), ident.PortNum(p), q.LID, 1 << q.LMC})
			}
		}
		if q := &node.Ports[0]; q.LID != 0 {
			g.ends = append(g.ends, endport{int32(s), 0, q.LID, 1 << q.LMC})
		}
		g.first = append(g.first, int32(len(g.hops)))
		g.endAt = append(g.endAt, int32(len(g.ends)))
	}
	return g
}

func (g *graph) size() int { return len(g.sources) }

func (g *graph) from(s int32) []hop { return g.hops[g.first[s]:g.first[s+1]] }

// unreached marks a switch that a breadth-first search has not reached.
const unreached = math.MaxInt32

// bfs returns the distance of every switch from the nearest start, and the switches in the order of the search.
func (g *graph) bfs(starts ...int32) (dist, met []int32) {
	dist = slices.Repeat([]int32{unreached}, g.size())
	for _, s := range starts {
		dist[s] = 0
	}
	met = slices.Clone(starts)
	for i := 0; i < len(met); i++ {
		for _, h := range g.from(met[i]) {
			if dist[h.to] == unreached {
				dist[h.to] = dist[met[i]] + 1
				met = append(met, h.to)
			}
		}
	}
	return dist, met
}

// tiers returns each switch's distance from the nearest switch that has hosts.
func (g *graph) tiers() []int32 {
	var leaves []int32
	for s, n := range g.sources {
		if n > 0 {
			leaves = append(leaves, int32(s))
		}
	}
	dist, _ := g.bfs(leaves...)
	return dist
}

// layeredRanks ranks the switches of a fabric in which every link joins adjacent tiers: 0 for the top tier. False means
// that the fabric is not layered.
func (g *graph) layeredRanks() ([]int32, bool) {
	tiers := g.tiers()
	top := int32(0)
	for s, t := range tiers {
		if t == unreached {
			return nil, false
		}
		top = max(top, t)
		for _, h := range g.from(int32(s)) {
			if tiers[h.to] != t+1 && tiers[h.to] != t-1 {
				return nil, false
			}
		}
	}
	for s := range tiers {
		tiers[s] = top - tiers[s]
	}
	return tiers, true
}

// centralRanks ranks the switches of each connected component by the distance from a central one: the middle of a longest
// shortest path, as a double breadth-first search finds it.
func (g *graph) centralRanks() []int32 {
	ranks := slices.Repeat([]int32{unreached}, g.size())
	for s := range ranks {
		if ranks[s] != unreached {
			continue
		}
		_, met := g.bfs(int32(s))
		end := met[len(met)-1]
		dist, far := g.bfs(end)
		mid := far[len(far)-1]
		for half := dist[mid] / 2; dist[mid] > half; {
			for _, h := range g.from(mid) {
				if dist[h.to] < dist[mid] {
					mid = h.to
					break
				}
			}
		}
		dist, met = g.bfs(mid)
		for _, m := range met {
			ranks[m] = dist[m]
		}
	}
	return ranks
}

// order lists the switches from the bottom up: by descending rank, then ascending number.
func (g *graph) order(ranks []int32) []int32 {
	ord := make([]int32, g.size())
	for i := range ord {
		ord[i] = int32(i)
	}
	slices.SortStableFunc(ord, func(a, b int32) int { return int(ranks[b]) - int(ranks[a]) })
	return ord
}
