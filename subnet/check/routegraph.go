package check

import (
	"slices"

	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// outcome is the outcome for a packet at a switch, or at the end of its path.
type outcome int8

const (
	outcomeUnknown outcome = iota
	outcomeDelivered
	outcomeForwarded // continues to another switch
	outcomeDropped   // no entry
	outcomeNoTable   // the switch has no forwarding table
	outcomeDeadEnd   // the entry leads to a port that is down, or to a node without the LID
	outcomeLoop
	outcomes // number of outcomes
)

// routeGraph is the graph of the switches, directed by the forwarding tables for each destination. Switches are numbered in
// order.
type routeGraph struct {
	f      *subnet.Fabric
	sw     []int32 // node of each switch
	number []int32 // switch of each node, -1 for others
	// base[s]+p numbers port p of switch s among all ports of switches.
	base []int32
	far  []int32         // by port: the switch at the other end, -1 for none
	back []ident.PortNum // by port: the port there
	live []bool          // by port: plugged in and not down at either end
	// hosts[s] lists the ports of switch s that lead to hosts with a LID.
	hosts [][]ident.PortNum

	// turns[s][in*ports+out] reports whether packets of hosts go from port in to port out. in is 0 for packets of the
	// switch's own hosts. The walk sets it.
	turns [][]bool

	// For the current destination, by switch:
	outcome []outcome
	egress  []ident.PortNum
	ends    []outcome // final outcome of packets at the switch
	carry   []bool    // packets of hosts pass through the switch
	order   []int32   // carrying switches that are not on a loop, upstream first
	stack   []int32
	indeg   []int32
}

func newRouteGraph(f *subnet.Fabric) *routeGraph {
	r := &routeGraph{f: f, sw: f.Switches(), number: slices.Repeat([]int32{-1}, len(f.Nodes))}
	n := len(r.sw)
	r.base, r.hosts, r.turns = make([]int32, n+1), make([][]ident.PortNum, n), make([][]bool, n)
	for s, node := range r.sw {
		r.number[node] = int32(s)
		ports := len(f.Nodes[node].Ports)
		r.base[s+1] = r.base[s] + int32(ports)
		r.turns[s] = make([]bool, ports*ports)
	}
	r.far, r.back = slices.Repeat([]int32{-1}, int(r.base[n])), make([]ident.PortNum, r.base[n])
	r.live = make([]bool, r.base[n])
	for s, node := range r.sw {
		for p := 1; p < len(f.Nodes[node].Ports); p++ {
			ref := subnet.PortRef{Node: node, Port: ident.PortNum(p)}
			peer, ok := f.Peer(ref)
			if !ok || f.Port(ref).State == subnet.PortDown || f.Port(peer).State == subnet.PortDown {
				continue
			}
			at := r.base[s] + int32(p)
			r.live[at] = true
			if f.Nodes[peer.Node].Kind == subnet.KindSwitch {
				r.far[at], r.back[at] = r.number[peer.Node], peer.Port
			} else if f.Port(peer).LID != 0 {
				r.hosts[s] = append(r.hosts[s], ident.PortNum(p))
			}
		}
	}
	r.outcome, r.ends, r.egress = make([]outcome, n), make([]outcome, n), make([]ident.PortNum, n)
	r.carry, r.indeg = make([]bool, n), make([]int32, n)
	return r
}

// at returns the number of a switch's port.
func (r *routeGraph) at(s int32, p ident.PortNum) int32 { return r.base[s] + int32(p) }

func (r *routeGraph) next(s int32) int32 { return r.far[r.at(s, r.egress[s])] }

// walk computes the outcome of packets to the LID at every switch.
func (r *routeGraph) walk(lid ident.LID, end subnet.PortRef) {
	for s := range r.sw {
		r.outcome[s], r.egress[s] = r.step(int32(s), lid, end)
		r.ends[s], r.carry[s], r.indeg[s] = outcomeUnknown, false, 0
	}
	for s := range r.sw {
		r.follow(int32(s))
	}
	r.propagate()
}

// step looks the LID up in one table.
func (r *routeGraph) step(s int32, lid ident.LID, end subnet.PortRef) (outcome, ident.PortNum) {
	node := r.sw[s]
	if node == end.Node {
		return outcomeDelivered, 0
	}
	row := r.f.LFT(node)
	if row == nil {
		return outcomeNoTable, 0
	}
	if int(lid) >= len(row) || row[lid] == ident.DropPort {
		return outcomeDropped, 0
	}
	p := row[lid]
	if p == 0 || !r.live[r.at(s, p)] {
		return outcomeDeadEnd, p
	}
	if r.far[r.at(s, p)] >= 0 {
		return outcomeForwarded, p
	}
	if peer, _ := r.f.Peer(subnet.PortRef{Node: node, Port: p}); peer != end {
		return outcomeDeadEnd, p
	}
	return outcomeDelivered, p
}

// follow goes from one switch to the end of the path, and stores the result for the whole path.
func (r *routeGraph) follow(s int32) {
	r.stack = r.stack[:0]
	const open = outcomes // on the current path
	for r.ends[s] == outcomeUnknown && r.outcome[s] == outcomeForwarded {
		r.ends[s] = open
		r.stack = append(r.stack, s)
		s = r.next(s)
	}
	end := r.ends[s]
	switch end {
	case open:
		end = outcomeLoop
	case outcomeUnknown:
		end = r.outcome[s]
		r.ends[s] = end
	}
	for _, t := range r.stack {
		r.ends[t] = end
	}
}

// propagate marks the switches that packets of hosts pass, and orders those that are not on a loop.
func (r *routeGraph) propagate() {
	for s := range r.sw {
		if len(r.hosts[s]) == 0 {
			continue
		}
		for t := int32(s); !r.carry[t]; t = r.next(t) {
			r.carry[t] = true
			if r.outcome[t] != outcomeForwarded {
				break
			}
		}
	}
	for s := range r.sw {
		if r.carry[s] && r.outcome[s] == outcomeForwarded {
			r.indeg[r.next(int32(s))]++
		}
	}
	r.order = r.order[:0]
	for s := range r.sw {
		if r.carry[s] && r.indeg[s] == 0 {
			r.order = append(r.order, int32(s))
		}
	}
	for i := 0; i < len(r.order); i++ {
		s := r.order[i]
		if r.outcome[s] != outcomeForwarded {
			continue
		}
		if t := r.next(s); r.indeg[t] > 0 {
			if r.indeg[t]--; r.indeg[t] == 0 {
				r.order = append(r.order, t)
			}
		}
	}
}

// addTurns adds the turns of packets to the current destination.
func (r *routeGraph) addTurns() {
	for s := range r.sw {
		if !r.carry[s] || r.outcome[s] != outcomeForwarded && r.outcome[s] != outcomeDelivered {
			continue
		}
		if len(r.hosts[s]) > 0 {
			r.turns[s][int(r.egress[s])] = true
		}
		if r.outcome[s] != outcomeForwarded {
			continue
		}
		at := r.at(int32(s), r.egress[s])
		t := r.far[at]
		if r.outcome[t] == outcomeForwarded || r.outcome[t] == outcomeDelivered {
			ports := len(r.f.Nodes[r.sw[t]].Ports)
			r.turns[t][int(r.back[at])*ports+int(r.egress[t])] = true
		}
	}
}

// loop lists the switches of the loop that packets from s enter, starting with the lowest.
func (r *routeGraph) loop(s int32) []int32 {
	seen := make(map[int32]bool)
	for !seen[s] {
		seen[s] = true
		s = r.next(s)
	}
	low := s
	for t := r.next(s); t != s; t = r.next(t) {
		low = min(low, t)
	}
	around := []int32{low}
	for t := r.next(low); t != low; t = r.next(t) {
		around = append(around, t)
	}
	return around
}
