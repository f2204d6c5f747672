package model

import (
	"cmp"
	"slices"

	"fairlane/subnet"
)

// Indices lists the numbers below n.
func Indices(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// sortedBy sorts a list by keys from 0 to keys-1; the sort is stable. It is a counting sort, several times as fast as comparison for long
// lists of few keys.
func sortedBy(list []int32, keys int, key func(x int32) int32) []int32 {
	first := make([]int32, keys+1)
	for _, x := range list {
		first[key(x)+1]++
	}
	for k := range keys {
		first[k+1] += first[k]
	}
	out := make([]int32, len(list))
	for _, x := range list {
		k := key(x)
		out[first[k]] = x
		first[k]++
	}
	return out
}

// sortFlows sorts the flows. It sorts positions first, since flows are large to move.
func (m *Model) sortFlows() {
	order := m.flowOrder()
	sorted, hops := make([]Flow, len(m.Flows)), 0
	for i, k := range order {
		sorted[i] = m.Flows[k]
		hops += len(sorted[i].Links)
	}
	arena := make([]int32, 0, hops) // in the order in which it is read
	for i := range sorted {
		start := len(arena)
		arena = append(arena, sorted[i].Links...)
		sorted[i].Links = arena[start:len(arena):len(arena)]
	}
	m.Flows = sorted
}

// flowOrder orders flows by all their properties, so that equal flows are exchangeable and the result does not depend on the order of the
// input: tenant, class, source, destination, and the rest. Few flows of a class share both ports, so comparisons of the rest are rare.
func (m *Model) flowOrder() []int32 {
	flows := m.Flows
	ports, number := m.adapterPorts()
	firstClass, classes := m.firstClasses()
	order := sortedBy(Indices(len(flows)), ports, func(i int32) int32 { return number(flows[i].Dst) })
	order = sortedBy(order, ports, func(i int32) int32 { return number(flows[i].Src) })
	order = sortedBy(order, classes, func(i int32) int32 { return firstClass[flows[i].Tenant] + flows[i].Class })
	for rest := order; len(rest) > 0; {
		n := 1
		for n < len(rest) && flows[rest[0]].sameAggregate(&flows[rest[n]]) {
			n++
		}
		slices.SortFunc(rest[:n], func(i, k int32) int {
			a, b := &flows[i], &flows[k]
			return cmp.Or(cmp.Compare(a.QPs, b.QPs), cmp.Compare(a.demand, b.demand), slices.Compare(a.Links, b.Links), cmp.Compare(a.Index, b.Index))
		})
		rest = rest[n:]
	}
	return order
}

// sameAggregate reports whether two flows share tenant, class and both ports, and so may be routes of one aggregate.
func (f *Flow) sameAggregate(g *Flow) bool {
	return f.Tenant == g.Tenant && f.Class == g.Class && f.Src == g.Src && f.Dst == g.Dst
}

// adapterPorts numbers the ports of channel adapters by node, then port.
func (m *Model) adapterPorts() (n int, number func(subnet.PortRef) int32) {
	first := make([]int32, len(m.Fabric.Nodes))
	for i := range m.Fabric.Nodes {
		first[i] = int32(n)
		if node := &m.Fabric.Nodes[i]; node.Kind == subnet.KindCA {
			n += len(node.Ports)
		}
	}
	return n, func(p subnet.PortRef) int32 { return first[p.Node] + int32(p.Port) }
}

// firstClasses numbers the classes of all tenants; a tenant without classes counts as one. first is the number of each tenant's first class,
// classes their count.
func (m *Model) firstClasses() (first []int32, classes int) {
	for t := range m.Tenants {
		first = append(first, int32(classes))
		classes += max(1, len(m.Tenants[t].Classes))
	}
	return first, classes
}
