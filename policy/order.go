package policy

import (
	"cmp"
	"slices"

	"fairlane/subnet"
)

// numbered lists the numbers below n.
func numbered(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

// sortedBy sorts a list by keys from 0 to below keys, and leaves what has one key in its order: a counting sort, which for long lists
// of few keys is several times as fast as comparing.
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

// sortFlows puts the flows in their order. Positions are sorted, since flows are large to move.
func (m *model) sortFlows() {
	order := m.flowOrder()
	sorted, hops := make([]flow, len(m.flows)), 0
	for i, k := range order {
		sorted[i] = m.flows[k]
		hops += len(sorted[i].links)
	}
	arena := make([]int32, 0, hops) // in the order in which it is read
	for i := range sorted {
		start := len(arena)
		arena = append(arena, sorted[i].links...)
		sorted[i].links = arena[start:len(arena):len(arena)]
	}
	m.flows = sorted
}

// flowOrder lists flows by all that matters of them, so that equal flows are exchangeable and the result does not depend on
// the order of the input: by tenant, class, source, destination, and the rest. Between two ports there are few flows of a class.
func (m *model) flowOrder() []int32 {
	flows := m.flows
	ports, number := m.adapterPorts()
	firstClass, classes := m.firstClasses()
	order := sortedBy(numbered(len(flows)), ports, func(i int32) int32 { return number(flows[i].dst) })
	order = sortedBy(order, ports, func(i int32) int32 { return number(flows[i].src) })
	order = sortedBy(order, classes, func(i int32) int32 { return firstClass[flows[i].tenant] + flows[i].class })
	for rest := order; len(rest) > 0; {
		n := 1
		for n < len(rest) && flows[rest[0]].alongside(&flows[rest[n]]) {
			n++
		}
		slices.SortFunc(rest[:n], func(i, k int32) int {
			a, b := &flows[i], &flows[k]
			return cmp.Or(cmp.Compare(a.qps, b.qps), cmp.Compare(a.demand, b.demand), slices.Compare(a.links, b.links), cmp.Compare(a.index, b.index))
		})
		rest = rest[n:]
	}
	return order
}

// alongside reports whether a flow is of the tenant and class of another, between its ports: both may be ways of one aggregate.
func (f *flow) alongside(g *flow) bool {
	return f.tenant == g.tenant && f.class == g.class && f.src == g.src && f.dst == g.dst
}

// adapterPorts numbers the ports of channel adapters by node, then port.
func (m *model) adapterPorts() (n int, number func(subnet.PortRef) int32) {
	first := make([]int32, len(m.fabric.Nodes))
	for i := range m.fabric.Nodes {
		first[i] = int32(n)
		if node := &m.fabric.Nodes[i]; node.Kind == subnet.KindCA {
			n += len(node.Ports)
		}
	}
	return n, func(p subnet.PortRef) int32 { return first[p.Node] + int32(p.Port) }
}

// firstClasses numbers the classes of all tenants, one for a tenant without any: by tenant the number of its first, and how many
// there are.
func (m *model) firstClasses() (first []int32, classes int) {
	for t := range m.tenants {
		first = append(first, int32(classes))
		classes += max(1, len(m.tenants[t].Classes))
	}
	return first, classes
}
