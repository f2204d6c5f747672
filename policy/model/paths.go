package model

import (
	"fmt"
	"slices"

	"fairlane/internal/phrase"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

const (
	// maxRoutes bounds how many equal-cost paths of a flow are modelled separately, and maxTotalRoutes how many of all flows together (at least
	// minRoutes each). Above these, a subset that differs between pairs of ports is used.
	maxRoutes, minRoutes = 64, 2
	maxTotalRoutes       = 200_000
)

// Paths returns, for each flow, the ports that transmit it, source port first, by the fabric's forwarding tables. It computes missing tables
// and LIDs as the compiler does. It fails when a flow's ports are not in the fabric or have no route between them.
func Paths(f *subnet.Fabric, flows []tenants.Flow) ([]FlowPath, error) {
	r, err := Routed(f)
	if err != nil {
		return nil, err
	}
	out := make([]FlowPath, len(flows))
	arena := make([]subnet.PortRef, 0, 5*len(flows))
	for i, fl := range flows {
		src, dst, err := ends(r, i, &fl)
		if err != nil {
			return nil, err
		}
		start := len(arena)
		if arena, err = subnet.AppendPath(arena, r, src, r.Port(dst).LID); err != nil {
			return nil, phrase.Because(err, phrase.Of("input.flow", "flow", i, "tenant", fl.Tenant, "reason", err))
		}
		out[i] = FlowPath(arena[start:len(arena):len(arena)])
	}
	return out, nil
}

// ends resolves the ports of a flow.
func ends(f *subnet.Fabric, i int, fl *tenants.Flow) (src, dst subnet.PortRef, err error) {
	if src, err = CAPort(f, fl.Src); err != nil {
		return src, dst, phrase.Because(err, phrase.Of("input.flow-source", "flow", i, "tenant", fl.Tenant, "reason", err))
	}
	if dst, err = CAPort(f, fl.Dst); err != nil {
		return src, dst, phrase.Because(err, phrase.Of("input.flow-destination", "flow", i, "tenant", fl.Tenant, "reason", err))
	}
	return src, dst, nil
}

// RouteFinder finds the link directions of flows. Its slices are cut from one arena.
type RouteFinder struct {
	Model *Model
	arena []int32
	Ports []subnet.PortRef // scratch
	Switches
	// towards is the switch that Dist and next refer to. Dist is the number of links from each node to it, next the ports of a switch that lead
	// nearer, found on first use.
	towards int32
	Dist    []int32
	next    [][]subnet.PortRef
	queue   []int32
}

// Switches are the links between switches: those of node i are links[first[i]:first[i+1]], by port.
type Switches struct {
	first []int32
	links []SwitchLink
}

// SwitchLink is a link as one of its switches sees it.
type SwitchLink struct {
	port ident.PortNum
	Peer int32 // node
}

// SwitchLinks lists the links between switches for the route search; none on InfiniBand, where forwarding tables define the routes.
func (m *Model) SwitchLinks() Switches {
	f := m.Fabric
	s := Switches{first: make([]int32, 1, len(f.Nodes)+1)}
	if m.Plane == subnet.PlaneIB {
		return s
	}
	for i := range f.Nodes {
		if f.Nodes[i].Kind == subnet.KindSwitch {
			for p := range f.Nodes[i].Ports {
				peer, ok := f.Peer(subnet.PortRef{Node: int32(i), Port: ident.PortNum(p)})
				if ok && f.Nodes[peer.Node].Kind == subnet.KindSwitch {
					s.links = append(s.links, SwitchLink{ident.PortNum(p), peer.Node})
				}
			}
		}
		s.first = append(s.first, int32(len(s.links)))
	}
	return s
}

// Of lists the links from a node to switches.
func (s *Switches) Of(node int32) []SwitchLink { return s.links[s.first[node]:s.first[node+1]] }

// order groups the flows by the switch of their destination, which saves searches.
func (m *Model) order() []int32 {
	flows := m.Input.Flows
	out := Indices(len(flows))
	if m.Plane == subnet.PlaneIB {
		return out
	}
	edge := make([]int32, len(flows))
	for i := range flows {
		if dst, ok := m.Fabric.PortByID(flows[i].Dst); ok {
			peer, _ := m.Fabric.Peer(dst)
			edge[i] = peer.Node
		}
	}
	return sortedBy(out, len(m.Fabric.Nodes), func(i int32) int32 { return edge[i] })
}

// route is one path of a flow as link directions, with the queue pairs that take it.
type route struct {
	links []int32
	qps   float64
	// choices is the number of routes that an unknown hash chooses from; 1 when the route is known.
	choices int
}

// routesOf appends the routes of a flow to out: those of the input, else by forwarding tables on InfiniBand, else every shortest path.
func (w *RouteFinder) routesOf(out []route, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]route, error) {
	if r := w.Model.Input.Routes; i < len(r) && len(r[i]) > 0 {
		return w.givenRoutes(out, r[i], i, fl, src, dst)
	}
	if w.Model.Plane != subnet.PlaneIB {
		return w.shortest(out, i, fl, src, dst)
	}
	var err error
	w.Ports, err = subnet.AppendPath(w.Ports[:0], w.Model.Fabric, src, w.Model.Fabric.Port(dst).LID)
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("input.flow", "flow", i, "tenant", fl.Tenant, "reason", err))
	}
	return append(out, route{w.directions(w.Ports), float64(fl.QPs), 1}), nil
}

// directions converts transmitting ports to link directions.
func (w *RouteFinder) directions(ports []subnet.PortRef) []int32 {
	start := len(w.arena)
	for _, p := range ports {
		w.arena = append(w.arena, Direction(w.Model.Fabric, p))
	}
	return w.arena[start:len(w.arena):len(w.arena)]
}

// givenRoutes checks the routes of the input: linked ports that lead from source to destination, and queue pairs that sum to the flow's.
func (w *RouteFinder) givenRoutes(out []route, routes []Route, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]route, error) {
	sum := 0.0
	for k := range routes {
		r := &routes[k]
		at := src
		for j, p := range r.Path {
			peer, ok := w.Model.Fabric.Peer(p)
			if !ok || j == 0 && p != src || j > 0 && p.Node != at.Node || slices.Contains(r.Path[:j], p) {
				return nil, fmt.Errorf("flow %d of tenant %s: route %d: hop %d is %s: want linked ports from %s on, each once and on the node that the last one leads to",
					i, fl.Tenant, k, j, w.Model.Fabric.PortName(p), w.Model.Fabric.PortName(src))
			}
			at = peer
		}
		if at != dst || !(r.QPs > 0) {
			return nil, fmt.Errorf("flow %d of tenant %s: route %d ends at %s with %g queue pairs: want it to end at %s with more than 0",
				i, fl.Tenant, k, w.Model.Fabric.PortName(at), r.QPs, w.Model.Fabric.PortName(dst))
		}
		sum += r.QPs
		out = append(out, route{w.directions(r.Path), r.QPs, 1})
	}
	if d := sum - float64(fl.QPs); d > 1e-6 || d < -1e-6 {
		return nil, fmt.Errorf("flow %d of tenant %s: its routes have %g queue pairs: want %d", i, fl.Tenant, sum, fl.QPs)
	}
	return out, nil
}

// shortest spreads a flow evenly over the shortest paths, as a hash of five-tuples does on average.
func (w *RouteFinder) shortest(out []route, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]route, error) {
	edge, _ := w.Model.Fabric.Peer(dst)
	first, _ := w.Model.Fabric.Peer(src)
	if first == dst {
		return append(out, route{w.directions([]subnet.PortRef{src}), float64(fl.QPs), 1}), nil
	}
	w.Search(edge.Node)
	if w.Model.Fabric.Nodes[edge.Node].Kind != subnet.KindSwitch || w.Dist[first.Node] < 0 {
		return nil, phrase.Because(subnet.ErrNoRoute, phrase.Of("input.flow-no-route", "flow", i, "tenant", fl.Tenant, "source", w.Model.Fabric.PortName(src), "destination", w.Model.Fabric.PortName(dst)))
	}
	var paths int
	w.Ports, paths = w.walk(w.Ports[:0], src, edge, 0)
	total := min(paths, maxRoutes, max(minRoutes, maxTotalRoutes/len(w.Model.Input.Flows)))
	offset := 0
	if total < paths {
		offset = int(scatter(uint64(fl.Src.Node)<<8^uint64(fl.Src.Port), uint64(fl.Dst.Node)<<8^uint64(fl.Dst.Port)) % uint64(paths))
	}
	for k := range total {
		w.Ports, _ = w.walk(w.Ports[:0], src, edge, offset+k)
		out = append(out, route{w.directions(w.Ports), float64(fl.QPs) / float64(total), paths})
	}
	return out, nil
}

// scatter mixes two numbers (the finalizer of splitmix64, Steele et al., 2014).
func scatter(a, b uint64) uint64 {
	z := a*0x9e3779b97f4a7c15 + b
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// walk follows the k-th path to a host behind a port of a switch. It returns the number of paths, estimated by the number of choices along
// this one. The choice at each switch is a digit of k, least significant first, so that successive paths part at the first switch.
func (w *RouteFinder) walk(path []subnet.PortRef, src, edge subnet.PortRef, k int) (_ []subnet.PortRef, paths int) {
	path = append(path, src)
	at, _ := w.Model.Fabric.Peer(src)
	paths = 1
	for at.Node != edge.Node {
		next := w.NextHops(at.Node)
		path = append(path, next[k%len(next)])
		k /= len(next)
		paths = min(paths*len(next), 1<<20)
		at, _ = w.Model.Fabric.Peer(path[len(path)-1])
	}
	return append(path, edge), paths
}

// NextHops lists the ports of a switch that lead one link nearer to the switch of the last search.
func (w *RouteFinder) NextHops(node int32) []subnet.PortRef {
	if w.next[node] == nil {
		for _, l := range w.Of(node) {
			if w.Dist[l.Peer] == w.Dist[node]-1 {
				w.next[node] = append(w.next[node], subnet.PortRef{Node: node, Port: l.port})
			}
		}
	}
	return w.next[node]
}

// Search finds the number of links from each switch to one; hosts do not forward and are not searched.
func (w *RouteFinder) Search(edge int32) {
	f := w.Model.Fabric
	if w.Dist != nil && w.towards == edge {
		return
	}
	w.towards = edge
	if w.Dist == nil {
		w.Dist, w.next = make([]int32, len(f.Nodes)), make([][]subnet.PortRef, len(f.Nodes))
	}
	for i := range w.Dist {
		w.Dist[i] = -1
		w.next[i] = nil
	}
	w.Dist[edge] = 0
	w.queue = append(w.queue[:0], edge)
	for i := 0; i < len(w.queue); i++ {
		at := w.queue[i]
		for _, l := range w.Of(at) {
			if w.Dist[l.Peer] < 0 {
				w.Dist[l.Peer] = w.Dist[at] + 1
				w.queue = append(w.queue, l.Peer)
			}
		}
	}
}
