package views

import (
	"cmp"
	"context"
	"slices"
	"time"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/series"
	"fairlane/subnet"
)

// maxHops bounds the links of a path: all routes that a fabric of Ethernet may hash a flow to.
const maxHops = 256

// Path is the route between two ports.
type Path struct {
	Fabric, Snapshot string
	At, MeasuredAt   time.Time
	Series           SeriesState
	Src, Dst         string // of ident.PortID
	Tenant           string
	Hops             []Hop
	Nodes            []Place      // of Hops, in the order of the first hop of each
	More             int          // links that are left out
	Fault            *phrase.Text // why packets do not arrive; nil when they do
}

// Hop is a link direction of a route.
type Hop struct {
	Distance         int // links before it
	Name, Port, Peer string
	Capacity         int64
	Delivered        *int64
	Use              *float64
	Contended        bool
	Tenants          []MeetingTenant
	from             subnet.PortRef
	inPlan           *planLink
}

// Path returns the route from one port to another; tenant limits the tenants of each link to one.
func (v *Views) Path(ctx context.Context, fabric, src, dst, tenant string) (*Path, error) {
	o, err := v.overlay(ctx, fabric, false)
	if err != nil {
		return nil, err
	}
	from, err := o.topo.ResolvePort(src)
	if err != nil {
		return nil, control.InvalidFrom("src", err)
	}
	to, err := o.topo.ResolvePort(dst)
	if err != nil {
		return nil, control.InvalidFrom("dst", err)
	}
	p := &Path{
		Fabric: fabric, Snapshot: o.snap.SHA256, At: o.r.at.UTC(), MeasuredAt: o.state.at, Tenant: tenant,
		Src: o.topo.PortID(from).String(), Dst: o.topo.PortID(to).String(),
	}
	p.Hops, err = route(o.topo, from, to)
	if err != nil {
		said := phrase.OfError(err)
		p.Fault = &said
	}
	p.More = max(len(p.Hops)-maxHops, 0)
	p.Hops = p.Hops[:len(p.Hops)-p.More]
	p.Nodes = v.layoutOf(o.snap, o.topo).placesOf(p.Hops)
	if err := p.measure(ctx, o); err != nil {
		return nil, err
	}
	p.Series = o.r.state
	return p, nil
}

// placesOf returns the nodes of hops.
func (l *layout) placesOf(hops []Hop) []Place {
	var out []Place
	seen := map[int32]bool{}
	for i := range hops {
		peer, _ := l.fabric.Peer(hops[i].from)
		for _, n := range []int32{hops[i].from.Node, peer.Node} {
			if !seen[n] {
				seen[n] = true
				out = append(out, l.place(n))
			}
		}
	}
	return out
}

// measure adds the figures of the links.
func (p *Path) measure(ctx context.Context, o *overlay) error {
	var names []string
	for i := range p.Hops {
		h := &p.Hops[i]
		peer, _ := o.topo.Peer(h.from)
		l, _ := o.topo.Link(h.from)
		h.Name = o.topo.PortName(h.from) + " -> " + o.topo.PortName(peer)
		h.Port, h.Peer, h.Capacity = o.topo.PortID(h.from).String(), o.topo.PortID(peer).String(), int64(l.Rate)
		if o.plan == nil {
			continue
		}
		if h.inPlan = o.plan.links[h.Name]; h.inPlan == nil {
			continue
		}
		names = append(names, h.Name)
		if u, ok := o.use[h.Name]; ok {
			h.Use = &u
		}
		_, h.Contended = o.state.contended[h.Name]
	}
	slices.Sort(names)
	delivered, err := byLink(ctx, o.r, p.Fabric, series.LinkDelivered, names)
	if err != nil {
		return err
	}
	there, err := onLinks(ctx, o.r, p.Fabric, names)
	if err != nil {
		return err
	}
	for i := range p.Hops {
		if h := &p.Hops[i]; h.inPlan != nil {
			h.Delivered = rate(delivered, h.Name)
			h.Tenants, _ = meetingTenants(h.inPlan, o.state, there, p.Tenant)
		}
	}
	return nil
}

// route returns the link directions from one port to another, by distance: by the forwarding tables where the fabric has them, to all
// LIDs of the destination, and else all shortest routes. The error says why there is no route.
func route(f *subnet.Fabric, src, dst subnet.PortRef) ([]Hop, error) {
	if src == dst {
		return nil, nil
	}
	if len(f.LFTs) == 0 {
		return shortest(f, src, dst)
	}
	var hops []Hop
	var fault error
	for _, w := range subnet.PathsToPort(f, src, dst) {
		if w.Err != nil {
			fault = cmp.Or(fault, w.Err)
			continue
		}
		for i, at := range w.Path {
			if !slices.ContainsFunc(hops, func(h Hop) bool { return h.from == at && h.Distance == i }) {
				hops = append(hops, Hop{Distance: i, from: at})
			}
		}
	}
	if hops == nil && fault == nil {
		fault = subnet.ErrNoRoute
	}
	slices.SortStableFunc(hops, func(a, b Hop) int { return a.Distance - b.Distance })
	return hops, fault
}

// shortest returns all link directions on shortest routes through switches.
func shortest(f *subnet.Fabric, src, dst subnet.PortRef) ([]Hop, error) {
	far := map[int32]int{dst.Node: 0} // links from a node to the destination
	queue := []int32{dst.Node}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		for _, ref := range ports(f, n) {
			if n == dst.Node && f.Nodes[n].Kind != subnet.KindSwitch && ref != dst {
				continue
			}
			peer, ok := f.Peer(ref)
			if _, had := far[peer.Node]; !ok || had || f.Nodes[peer.Node].Kind != subnet.KindSwitch && peer != src {
				continue
			}
			far[peer.Node] = far[n] + 1
			if peer.Node != src.Node {
				queue = append(queue, peer.Node)
			}
		}
	}
	if _, ok := far[src.Node]; !ok {
		return nil, subnet.ErrNoRoute
	}
	var hops []Hop
	level, seen := []int32{src.Node}, map[int32]bool{src.Node: true}
	for d := 0; len(level) > 0; d++ {
		var next []int32
		for _, n := range level {
			for _, ref := range ports(f, n) {
				peer, ok := f.Peer(ref)
				to, known := far[peer.Node]
				if !ok || !known || to != far[n]-1 || d == 0 && f.Nodes[n].Kind != subnet.KindSwitch && ref != src || to == 0 && f.Nodes[dst.Node].Kind != subnet.KindSwitch && peer != dst {
					continue
				}
				hops = append(hops, Hop{Distance: d, from: ref})
				if !seen[peer.Node] {
					seen[peer.Node] = true
					next = append(next, peer.Node)
				}
			}
		}
		level = next
	}
	return hops, nil
}

// ports returns the plugged-in ports of a node.
func ports(f *subnet.Fabric, n int32) (out []subnet.PortRef) {
	for i := range f.Nodes[n].Ports {
		if p := &f.Nodes[n].Ports[i]; p.Link >= 0 {
			out = append(out, subnet.PortRef{Node: n, Port: p.Num})
		}
	}
	return out
}
