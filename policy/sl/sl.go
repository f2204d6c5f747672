// Package sl places tenants on the service levels of InfiniBand: it assigns them on each port, and decides which tenants share one.
package sl

import (
	"math"
	"slices"

	"fairlane/policy/colour"
	"fairlane/policy/model"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// Placements is the SL of each tenant on each of its ports, parallel to the attachments of model.Model.Tenants.
type Placements [][]ident.SL

// Place assigns SLs. A tenant has one SL on all its ports where none is pinned, because a partition has one SL in the whole fabric. The order
// of preference is:
//
//   - distinct SLs for all tenants, so that a counter of an SL identifies one tenant everywhere;
//   - distinct SLs for tenants that meet on a port;
//   - distinct SLs for tenants that may send from one port, because settings by SL act only on what a port sends;
//   - several SLs for tenants whose endpoints fall into separate groups;
//   - a shared SL on as few ports as the search finds, reported by a finding.
//
// SL 0 stays free for unmanaged traffic unless nothing else works. Usable placements of the plan in force stay.
func Place(m *model.Model) (Placements, []plan.Finding) {
	ports, senders := m.TenantsByPort(), m.SendersByPort()
	x, solved := placeWhole(m, ports, senders)
	if solved {
		return x.placements(), sharedSLs(m, x, senders, x.placements())
	}
	x.restrict(true)
	x.c.Greedy(x.order)
	if parts := flowParts(m); parts != nil {
		y := newProblem(m, senders, parts)
		y.preferPlacements(x.placements())
		y.restrict(true)
		if y.c.Overconstrained() || !y.c.Adapt(y.order) {
			y.c.Greedy(y.order)
		}
		if y.c.Conflicts() < x.c.Conflicts() {
			y.mergeParts()
			y.spread(ports)
			return y.placements(), slices.Concat(sharedSLs(m, y, senders, y.placements()), y.splits())
		}
		x.lowerBound = y
	}
	x.spread(ports)
	return x.placements(), sharedSLs(m, x, senders, x.placements())
}

// placeWhole gives each tenant one SL. Tenants that meet on a port get different SLs. If that does not fit, or changes more of the plan in
// force, only tenants that may send from one port do. If neither fits, solved is false and x is the problem of the senders.
func placeWhole(m *model.Model, ports, senders []model.PortTenants) (x *problem, solved bool) {
	same := slices.EqualFunc(ports, senders, func(a, b model.PortTenants) bool { return len(a.Tenants) == len(b.Tenants) })
	moved := math.MaxInt
	if same || !slices.ContainsFunc(ports, func(p model.PortTenants) bool { return len(p.Tenants) > ident.NumSLs }) {
		x = newProblem(m, ports, nil)
		x.preferInForce()
		if x.solve() {
			solved, moved = true, x.c.Moved()
		}
	}
	if same || moved == 0 {
		return x, solved
	}
	y := newProblem(m, senders, nil)
	y.preferInForce()
	if y.solve() && y.c.Moved() < moved {
		y.spread(ports)
		return y, true
	}
	if solved {
		return x, true
	}
	return y, false
}

// solePin returns the SL that a tenant has pinned wherever it pinned one. The tenant keeps it everywhere, even if it is reserved, since the
// operator requested it. -1 when there is none, or several.
func solePin(m *model.Model, t int32) int8 {
	own := int8(-1)
	for _, a := range m.Tenants[t].Attachments {
		if a.SL != nil {
			if own >= 0 && own != int8(*a.SL) {
				return -1
			}
			own = int8(*a.SL)
		}
	}
	return own
}

// problem is the colouring of one SL for each node: a tenant with all its ports, or a part of them.
type problem struct {
	m          *model.Model
	ports      []model.PortTenants
	nodes      []node
	nodeOf     [][]int32 // by tenant and attachment
	c          *colour.Colouring
	order      []int8 // usable SLs
	inForce    bool
	lowerBound *problem // the problem whose cliques bound the SLs needed; nil: this one
}

// node is the ports of a tenant that get one SL.
type node struct {
	tenant int32
	at     []int32 // attachments
}

// newProblem builds the problem. parts is the part of each attachment, by tenant; nil makes one part for each tenant.
func newProblem(m *model.Model, ports []model.PortTenants, parts [][]int32) *problem {
	x := &problem{m: m, ports: ports, nodeOf: make([][]int32, len(m.Tenants))}
	for t := range m.Tenants {
		first := int32(len(x.nodes))
		x.nodeOf[t] = make([]int32, len(m.Tenants[t].Attachments))
		x.nodes = append(x.nodes, node{tenant: int32(t)})
		for i := range m.Tenants[t].Attachments {
			part := int32(0)
			if parts != nil {
				part = parts[t][i]
			}
			for first+part >= int32(len(x.nodes)) {
				x.nodes = append(x.nodes, node{tenant: int32(t)})
			}
			x.nodeOf[t][i] = first + part
			n := &x.nodes[first+part]
			n.at = append(n.at, int32(i))
		}
	}
	for _, sl := range m.Usable {
		x.order = append(x.order, int8(sl))
	}
	x.c = colour.New(len(x.nodes))
	x.connect()
	return x
}

// connect finds on how many ports nodes meet, and which SLs others have pinned there. Settings and counters are per (port, SL), so nodes that
// send from one channel-adapter port need different ones.
func (x *problem) connect() {
	type occupant struct {
		node int32
		pin  *ident.SL
	}
	on := make([][]occupant, len(x.ports))
	portsOf := make([][]int32, len(x.nodes))
	for i := range x.ports {
		p := &x.ports[i]
		for k, t := range p.Tenants {
			o := occupant{x.nodeOf[t][p.At[k]], x.m.Tenants[t].Attachments[p.At[k]].SL}
			on[i] = append(on[i], o)
			if o.pin == nil {
				portsOf[o.node] = append(portsOf[o.node], int32(i))
			}
		}
	}
	row := make([]int32, len(x.nodes))
	for v := range x.nodes {
		var met []int32
		for _, i := range portsOf[v] {
			for _, o := range on[i] {
				switch {
				case o.node == int32(v):
				case o.pin != nil:
					x.c.Forbidden[v][*o.pin]++
				default:
					if row[o.node]++; row[o.node] == 1 {
						met = append(met, o.node)
					}
				}
			}
		}
		slices.Sort(met)
		x.c.Meet[v] = make([]colour.Edge, len(met))
		for i, u := range met {
			x.c.Meet[v][i] = colour.Edge{To: u, Cost: row[u]}
			row[u] = 0
		}
	}
}

// restrict sets the SLs that nodes may have: the usable ones, or the one that the tenant is pinned to. SL 0 is included only if zero is set or
// the node has it in force.
func (x *problem) restrict(zero bool) {
	all := uint16(0)
	for _, k := range x.order {
		all |= 1 << k
	}
	pins := make([]int8, len(x.m.Tenants))
	for t := range pins {
		pins[t] = solePin(x.m, int32(t))
	}
	for v := range x.nodes {
		d := all
		if !zero && all != 1 && !(x.inForce && slices.Max(x.c.Move[v][:]) > x.c.Move[v][0]) {
			d &^= 1
		}
		if pin := pins[x.nodes[v].tenant]; pin >= 0 && x.c.Forbidden[v][pin] == 0 {
			d = 1 << pin
		}
		x.c.Domain[v] = d
	}
}

// solve finds an SL for each node so that nodes that meet differ, in the order of preference that Place describes. It returns false when it
// finds none.
func (x *problem) solve() bool {
	if x.restrict(true); x.c.Overconstrained() {
		return false
	}
	if x.inForce {
		return x.solveInForce()
	}
	if len(x.m.Tenants) <= len(x.order) && x.solveDistinct() {
		return true
	}
	for _, zero := range []bool{false, true} {
		if x.restrict(zero); x.c.Solve(x.order) {
			return true
		}
	}
	return false
}

// solveInForce moves as few ports as it can; it uses SL 0 before it moves a port.
func (x *problem) solveInForce() bool {
	x.restrict(false)
	first := x.c.Adapt(x.order)
	if first && x.c.Moved() == 0 {
		return true
	}
	kept, moved := slices.Clone(x.c.Colour), x.c.Moved()
	x.restrict(true)
	if x.c.Adapt(x.order) && (!first || x.c.Moved() < moved) {
		return true
	}
	copy(x.c.Colour, kept)
	return first
}

// solveDistinct solves the problem in which every two tenants conflict, wherever they are. It is tried only if there are no more tenants than
// SLs.
func (x *problem) solveDistinct() bool {
	n := len(x.nodes)
	d := colour.New(n)
	pinned := uint16(0)
	for v := range n {
		for _, a := range x.m.Tenants[x.nodes[v].tenant].Attachments {
			if a.SL != nil {
				pinned |= 1 << *a.SL
			}
		}
	}
	x.restrict(false)
	for v := range n {
		d.Forbidden[v] = x.c.Forbidden[v]
		d.Domain[v] = x.c.Domain[v]
		if solePin(x.m, x.nodes[v].tenant) < 0 {
			d.Domain[v] &^= pinned
		}
		for u := range n {
			if u != v {
				d.Meet[v] = append(d.Meet[v], colour.Edge{To: int32(u), Cost: 1})
			}
		}
	}
	if !d.Solve(x.order) {
		return false
	}
	copy(x.c.Colour, d.Colour)
	return true
}

// placements gives every attachment its SL: the pinned one, or that of its node.
func (x *problem) placements() Placements {
	p := make(Placements, len(x.m.Tenants))
	for t := range x.m.Tenants {
		p[t] = make([]ident.SL, len(x.m.Tenants[t].Attachments))
		for i, a := range x.m.Tenants[t].Attachments {
			p[t][i] = ident.SL(max(0, x.c.Colour[x.nodeOf[t][i]]))
			if a.SL != nil {
				p[t][i] = *a.SL
			}
		}
	}
	return p
}
