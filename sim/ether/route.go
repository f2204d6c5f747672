package ether

import (
	"encoding/binary"
	"fmt"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/subnet"
)

// routes are the equal-cost next hops of every switch towards every host, by hop count.
type routes struct {
	table  []uint32 // [switch][host]: index of the group, 0 means no route
	groups []group
	ports  []int32 // ports of all groups
}

// group is a set of equal-cost ports; a flow's hash selects one.
type group struct{ at, count int32 }

// buildRoutes finds all shortest paths with one breadth-first search from each switch that has hosts. The hosts of one switch
// have the same routes everywhere except at that switch.
func (n *Network) buildRoutes() error {
	hosts := len(n.hosts)
	if int64(hosts)*int64(len(n.switches)) > 1<<28 {
		return fmt.Errorf("%d hosts times %d switches: want at most %d routes", hosts, len(n.switches), 1<<28)
	}
	b := routeBuilder{n: n, known: make(map[string]uint32), dist: make([]int32, len(n.first)-1)}
	n.routes.table = make([]uint32, hosts*len(n.switches))
	n.routes.groups = append(n.routes.groups, group{})
	alike := make([]int32, len(n.switches)) // a host of each switch, or none
	for i := range alike {
		alike[i] = none
	}
	for h := range n.hosts {
		peer := n.ports[n.hosts[h].port].peer
		edge := n.ports[peer].sw
		if edge == none || alike[edge] == none {
			b.search(h)
		} else {
			for s := range n.switches {
				n.routes.table[s*hosts+h] = n.routes.table[s*hosts+int(alike[edge])]
			}
			b.key = binary.LittleEndian.AppendUint32(b.key[:0], uint32(peer))
			n.routes.table[int(edge)*hosts+h] = b.group()
		}
		if edge != none {
			alike[edge] = int32(h)
		}
	}
	return nil
}

// routeBuilder is the working memory of buildRoutes.
type routeBuilder struct {
	n     *Network
	known map[string]uint32 // groups by their ports
	dist  []int32
	queue []int32
	key   []byte
}

// search sets the routes of every switch towards one host.
func (b *routeBuilder) search(h int) {
	n := b.n
	b.queue = n.distances(n.hosts[h].port, b.dist, b.queue[:0])
	for s := range n.switches {
		node := n.switches[s].node
		if b.dist[node] < 0 {
			continue
		}
		b.key = b.key[:0]
		for pi := n.first[node]; pi < n.first[node+1]; pi++ {
			if n.closer(pi, b.dist, int32(h)) {
				b.key = binary.LittleEndian.AppendUint32(b.key, uint32(pi))
			}
		}
		n.routes.table[s*len(n.hosts)+h] = b.group()
	}
}

// group returns the group of the ports in key.
func (b *routeBuilder) group() uint32 {
	r := &b.n.routes
	id, ok := b.known[string(b.key)]
	if !ok {
		id = uint32(len(r.groups))
		r.groups = append(r.groups, group{int32(len(r.ports)), int32(len(b.key) / 4)})
		for i := 0; i < len(b.key); i += 4 {
			r.ports = append(r.ports, int32(binary.LittleEndian.Uint32(b.key[i:])))
		}
		b.known[string(b.key)] = id
	}
	return id
}

// distances fills dist with the number of links to a host port. Hosts do not forward.
func (n *Network) distances(port int32, dist, queue []int32) []int32 {
	for i := range dist {
		dist[i] = -1
	}
	dist[n.ports[port].node] = 0
	if next := n.ports[n.ports[port].peer].node; dist[next] < 0 && !n.ports[port].down {
		dist[next] = 1
		queue = append(queue, next)
	}
	for i := 0; i < len(queue); i++ {
		at := queue[i]
		if n.swOf[at] == none {
			continue
		}
		for pi := n.first[at]; pi < n.first[at+1]; pi++ {
			if peer := n.ports[pi].peer; peer != none && !n.ports[pi].down && dist[n.ports[peer].node] < 0 {
				dist[n.ports[peer].node] = dist[at] + 1
				queue = append(queue, n.ports[peer].node)
			}
		}
	}
	return queue
}

// closer reports whether a switch port leads one link closer to a host: through another switch, or directly to the host's port.
func (n *Network) closer(pi int32, dist []int32, host int32) bool {
	peer := n.ports[pi].peer
	if peer == none || n.ports[pi].down || dist[n.ports[peer].node] != dist[n.ports[pi].node]-1 {
		return false
	}
	return n.ports[peer].host == none || n.ports[peer].host == host
}

// route returns the output port of a packet at a switch, or none.
func (n *Network) route(sw int32, k *packet) int32 {
	g := n.routes.groups[n.routes.table[int(sw)*len(n.hosts)+int(k.dst)]]
	switch g.count {
	case 0:
		return none
	case 1:
		return n.routes.ports[g.at]
	}
	return n.routes.ports[g.at+int32(uint64(spread(k.hash^n.switches[sw].salt))*uint64(g.count)>>32)]
}

// spread mixes the bits of a path hash (the finalizer of MurmurHash3 by Appleby, in the public domain).
func spread(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// pathHash represents the five-tuple of a flow.
func (n *Network) pathHash(f *FlowSpec) uint32 {
	return uint32(sim.Hash(n.cfg.Seed, uint64(f.Src)<<32|uint64(f.Dst), uint64(f.ID), uint64(f.Entropy)))
}

// path holds the properties of a path.
type path struct {
	rtt  quantity.Picoseconds // propagation and one full payload per link, in both directions
	rate quantity.BitRate     // rate of the slowest link
	hops int
}

// walk follows a path from host to host and returns its properties.
func (n *Network) walk(src, dst int32, hash uint32) path {
	w := path{rate: n.ports[n.hosts[src].port].rate}
	n.follow(src, dst, hash, func(pi int32) {
		p := &n.ports[pi]
		w.hops++
		w.rate = min(w.rate, p.rate)
		w.rtt += 2*p.delay + n.serialize(p, n.cfg.Payload)
	})
	return w
}

// follow calls visit with the ports that transmit a flow's packets, the host's port first, and reports whether they lead to a
// host.
func (n *Network) follow(src, dst int32, hash uint32, visit func(pi int32)) bool {
	k := packet{dst: dst, hash: hash}
	pi := n.hosts[src].port
	for range len(n.first) + 1 {
		visit(pi)
		far := &n.ports[n.ports[pi].peer]
		if far.sw == none {
			return true
		}
		if pi = n.route(far.sw, &k); pi == none {
			return false
		}
	}
	return false
}

// Path returns the ports that transmit the data packets of a flow, the host's port first. The choice among equal-cost paths
// depends on the seed of the network and on the flow's ID, hosts and Entropy. Path returns the same errors as Add.
func (n *Network) Path(f FlowSpec) ([]subnet.PortRef, error) {
	if err := n.checkFlow(&f); err != nil {
		return nil, fmt.Errorf("flow %d: %w", f.ID, err)
	}
	var out []subnet.PortRef
	if !n.follow(f.Src, f.Dst, n.pathHash(&f), func(pi int32) { out = append(out, n.ref(pi)) }) {
		return nil, fmt.Errorf("flow %d: no path between its hosts", f.ID)
	}
	return out, nil
}

// reaches reports whether a path leads from host to host.
func (n *Network) reaches(src, dst int32) bool {
	peer := n.ports[n.hosts[src].port].peer
	if peer == none {
		return false
	}
	if sw := n.ports[peer].sw; sw != none {
		return n.routes.table[int(sw)*len(n.hosts)+int(dst)] != 0
	}
	return n.ports[peer].host == dst
}

// mostPairs is the largest number of host pairs for which largestRTT checks all; above it, each host is paired with a sample of
// the others.
const mostPairs = 1 << 20

// largestRTT returns the largest base round trip between two hosts.
func (n *Network) largestRTT() quantity.Picoseconds {
	if n.maxRTT > 0 {
		return n.maxRTT
	}
	step := int32(1 + int64(len(n.hosts))*int64(len(n.hosts))/mostPairs)
	for s := range int32(len(n.hosts)) {
		for d := s % step; d < int32(len(n.hosts)); d += step {
			if s != d && n.reaches(s, d) {
				n.maxRTT = max(n.maxRTT, n.walk(s, d, 0).rtt)
			}
		}
	}
	return n.maxRTT
}
