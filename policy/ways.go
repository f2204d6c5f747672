package policy

import (
	"fmt"
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// maxWays bounds how many equal-cost paths of a flow are told apart. Of more, as many are taken, spread
// over the choices of every switch.
const maxWays = 64

// Paths returns, for each flow, the ports that transmit it, source port first, by the
// fabric's forwarding tables; tables and LIDs that the fabric lacks are computed as the compiler
// does. It fails when a flow's ports are not in the fabric or have no route between them.
func Paths(f *subnet.Fabric, flows []tenants.Flow) ([]FlowPath, error) {
	r, err := routed(f)
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
			return nil, fmt.Errorf("flow %d of tenant %s: %w", i, fl.Tenant, err)
		}
		out[i] = FlowPath(arena[start:len(arena):len(arena)])
	}
	return out, nil
}

// ends resolves the ports of a flow.
func ends(f *subnet.Fabric, i int, fl *tenants.Flow) (src, dst subnet.PortRef, err error) {
	if src, err = caPort(f, fl.Src); err != nil {
		return src, dst, fmt.Errorf("flow %d of tenant %s: source: %w", i, fl.Tenant, err)
	}
	if dst, err = caPort(f, fl.Dst); err != nil {
		return src, dst, fmt.Errorf("flow %d of tenant %s: destination: %w", i, fl.Tenant, err)
	}
	return src, dst, nil
}

// wayFinder makes the link directions of flows. Its slices are cut from one arena.
type wayFinder struct {
	m      *model
	arena  []int32
	ports  []subnet.PortRef // scratch
	levels map[int32][]int32
	queue  []int32
}

// way is one path of a flow as link directions, with the queue pairs that take it.
type way struct {
	links []int32
	qps   float64
}

// find appends the ways of a flow to out: those given, else by forwarding tables on
// InfiniBand, else every shortest path.
func (w *wayFinder) find(out []way, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]way, error) {
	if r := w.m.in.Routes; i < len(r) && len(r[i]) > 0 {
		return w.given(out, r[i], i, fl, src, dst)
	}
	if w.m.plane != PlaneIB {
		return w.shortest(out, i, fl, src, dst)
	}
	var err error
	w.ports, err = subnet.AppendPath(w.ports[:0], w.m.fabric, src, w.m.fabric.Port(dst).LID)
	if err != nil {
		return nil, fmt.Errorf("flow %d of tenant %s: %w", i, fl.Tenant, err)
	}
	return append(out, way{w.cut(w.ports), float64(fl.QPs)}), nil
}

// cut turns transmitting ports into link directions.
func (w *wayFinder) cut(ports []subnet.PortRef) []int32 {
	start := len(w.arena)
	for _, p := range ports {
		w.arena = append(w.arena, direction(w.m.fabric, p))
	}
	return w.arena[start:len(w.arena):len(w.arena)]
}

// given checks routes that came with the input: linked ports that lead from source to destination, and
// queue pairs that sum to the flow's.
func (w *wayFinder) given(out []way, routes []Way, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]way, error) {
	sum := 0.0
	for k := range routes {
		r := &routes[k]
		at := src
		for j, p := range r.Path {
			peer, ok := w.m.fabric.Peer(p)
			if !ok || j == 0 && p != src || j > 0 && p.Node != at.Node {
				return nil, fmt.Errorf("flow %d of tenant %s: way %d: hop %d is %s: want linked ports from %s on, each on the node that the last one leads to",
					i, fl.Tenant, k, j, w.m.fabric.PortName(p), w.m.fabric.PortName(src))
			}
			at = peer
		}
		if at != dst || !(r.QPs > 0) {
			return nil, fmt.Errorf("flow %d of tenant %s: way %d ends at %s with %g queue pairs: want it to end at %s with more than 0",
				i, fl.Tenant, k, w.m.fabric.PortName(at), r.QPs, w.m.fabric.PortName(dst))
		}
		sum += r.QPs
		out = append(out, way{w.cut(r.Path), r.QPs})
	}
	if d := sum - float64(fl.QPs); d > 1e-6 || d < -1e-6 {
		return nil, fmt.Errorf("flow %d of tenant %s: its ways have %g queue pairs: want %d", i, fl.Tenant, sum, fl.QPs)
	}
	return out, nil
}

// shortest spreads a flow evenly over the shortest paths, as a hash of five-tuples does on average.
func (w *wayFinder) shortest(out []way, i int, fl *tenants.Flow, src, dst subnet.PortRef) ([]way, error) {
	dist := w.distances(dst)
	if dist[src.Node] < 0 {
		return nil, fmt.Errorf("flow %d of tenant %s: %s to %s: %w", i, fl.Tenant, w.m.fabric.PortName(src), w.m.fabric.PortName(dst), subnet.ErrNoRoute)
	}
	total := 1
	for k := 0; k < total; k++ {
		var widest int
		w.ports, widest = w.walk(w.ports[:0], src, dst, dist, k)
		if k == 0 {
			total = min(maxWays, widest)
		}
		out = append(out, way{w.cut(w.ports), float64(fl.QPs)})
	}
	for k := len(out) - total; k < len(out); k++ {
		out[k].qps = float64(fl.QPs) / float64(total)
	}
	return out, nil
}

// walk follows the k-th way, and returns how many a walk of its widths has. The choice at each switch is a digit of
// k, least significant first, so that even fewer ways than there are use all choices of the first switches.
func (w *wayFinder) walk(path []subnet.PortRef, src, dst subnet.PortRef, dist []int32, k int) (_ []subnet.PortRef, ways int) {
	path = append(path, src)
	at, _ := w.m.fabric.Peer(src)
	ways = 1
	for at.Node != dst.Node {
		width := 0
		w.closer(at.Node, dst, dist, func(subnet.PortRef) bool { width++; return true })
		pick := k % width
		k /= width
		var next subnet.PortRef
		w.closer(at.Node, dst, dist, func(p subnet.PortRef) bool { next = p; pick--; return pick >= 0 })
		path = append(path, next)
		at, _ = w.m.fabric.Peer(next)
		ways *= width
		if ways > 1<<20 {
			ways = 1 << 20
		}
	}
	return path, ways
}

// closer yields the ports of a switch that lead one link nearer to a host.
func (w *wayFinder) closer(node int32, dst subnet.PortRef, dist []int32, yield func(subnet.PortRef) bool) {
	f := w.m.fabric
	for p := range f.Nodes[node].Ports {
		ref := subnet.PortRef{Node: node, Port: ident.PortNum(p)}
		peer, ok := f.Peer(ref)
		if !ok || dist[peer.Node] != dist[node]-1 || dist[peer.Node] < 0 || dist[peer.Node] == 0 && peer != dst {
			continue
		}
		if !yield(ref) {
			return
		}
	}
}

// distances is the number of links from each node to a host port; hosts do not forward. The hosts
// of one switch share the search but for their own link.
func (w *wayFinder) distances(dst subnet.PortRef) []int32 {
	f := w.m.fabric
	if d, ok := w.levels[dst.Node]; ok {
		return d
	}
	if len(w.levels) >= 256 { // bounds the memory; flows come grouped by neither end
		clear(w.levels)
	}
	d := slices.Repeat([]int32{-1}, len(f.Nodes))
	d[dst.Node] = 0
	peer, _ := f.Peer(dst)
	d[peer.Node] = 1
	w.queue = append(w.queue[:0], peer.Node)
	for i := 0; i < len(w.queue); i++ {
		at := w.queue[i]
		if f.Nodes[at].Kind != subnet.KindSwitch {
			continue
		}
		for p := range f.Nodes[at].Ports {
			if next, ok := f.Peer(subnet.PortRef{Node: at, Port: ident.PortNum(p)}); ok && d[next.Node] < 0 {
				d[next.Node] = d[at] + 1
				w.queue = append(w.queue, next.Node)
			}
		}
	}
	w.levels[dst.Node] = d
	return d
}
