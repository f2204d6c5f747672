package fill

import (
	"cmp"
	"math"
	"slices"
)

// scratch maps the links of a problem to those of an engine; -1 where the engine lacks the link.
type scratch []int32

func newScratch(links int) scratch {
	s := make(scratch, links)
	for i := range s {
		s[i] = -1
	}
	return s
}

// newEngine lays out the given flows of a problem, in ascending order. use flags the links that can limit a flow; the others are left out. The
// layout, and therefore the result, depends only on these flows and links. at is restored before return.
func newEngine(p *Problem, flows []int32, use []bool, at scratch) *engine {
	e := &engine{p: p, flows: flows, still: max(restPrecision, p.Precision)}
	hops := 0
	for _, f := range flows {
		hops += int(p.First[f+1] - p.First[f])
	}
	e.flowStates, e.on = make([]flowState, len(flows)), make([]int32, 0, hops)
	for i, f := range flows {
		e.flowStates[i] = flowState{most: p.most(f), first: int32(len(e.on))}
		for _, l := range p.Hops[p.First[f]:p.First[f+1]] {
			if !use[l] {
				continue
			}
			if at[l] < 0 {
				at[l] = int32(len(e.links))
				e.links = append(e.links, link{id: l, capacity: p.Capacity[l]})
			}
			e.on = append(e.on, at[l])
			e.links[at[l]].last++
		}
		e.flowStates[i].last = int32(len(e.on))
	}
	e.limits = make([]float64, len(e.on))
	for i := range e.links {
		at[e.links[i].id] = -1
	}
	e.rank()
	e.placeMembers()
	if !p.flat() {
		e.grow()
	}
	if p.Floor != nil {
		e.placeFloors()
	}
	return e
}

// rank numbers links by nominal capacity for their flows. Links with the smallest offers are likely to limit their flows, so visiting them
// first informs the others. The rank is also their order in memory. Two problems of one layout have the same ranks.
func (e *engine) rank() {
	type place struct {
		level float64
		link  int32
	}
	order, users, nominal := make([]place, len(e.links)), e.users(), e.p.nominal()
	for i := range e.links {
		order[i] = place{nominal[e.links[i].id] / users[i], int32(i)}
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.level != b.level {
			return cmp.Compare(a.level, b.level)
		}
		return cmp.Compare(a.link, b.link)
	})
	ranked, rank := make([]link, len(e.links)), make([]int32, len(e.links))
	for r, p := range order {
		ranked[r], rank[p.link] = e.links[p.link], int32(r)
	}
	for i := range e.on {
		e.on[i] = rank[e.on[i]]
	}
	e.links = ranked
}

// users counts the queue pairs that share each link, or the flows where queue pairs are unknown.
func (e *engine) users() []float64 {
	out, count := make([]float64, len(e.links)), e.p.count()
	for i, f := range e.flows {
		for _, l := range e.on[e.flowStates[i].first:e.flowStates[i].last] {
			if count != nil {
				out[l] += count[f]
			} else {
				out[l]++
			}
		}
	}
	return out
}

// placeMembers lists the flows of each link in their order.
func (e *engine) placeMembers() {
	total, widest := int32(0), int32(0)
	for i := range e.links {
		l := &e.links[i]
		n := l.last
		l.first, l.last = total, total
		total += n
		widest = max(widest, n)
	}
	e.members = make([]member, total)
	e.linkStates = make([]linkState, len(e.links))
	e.u, e.out, e.was = make([]float64, widest), make([]float64, widest), make([]float64, widest)
	for i, f := range e.flows {
		for h := e.flowStates[i].first; h < e.flowStates[i].last; h++ {
			l := &e.links[e.on[h]]
			e.members[l.last] = member{flow: int32(i), hop: h, weight: e.p.weight(f, l.id)}
			l.last++
		}
	}
}

// grow builds the groups and classes of every link.
func (e *engine) grow() {
	groups, classes := e.countNodes()
	e.groups, e.classes = make([]node, 0, groups), make([]node, 0, classes)
	for i := range e.links {
		l := &e.links[i]
		l.gfirst = int32(len(e.groups))
		tenant, class := int32(-1), int32(-1)
		for k := l.first; k < l.last; k++ {
			f := e.flows[e.members[k].flow]
			if t := e.p.Tenant[f]; t != tenant {
				e.collapse(l.gfirst)
				tenant, class = t, -1
				e.groups = append(e.groups, e.p.group(t, e.p.tenantWeight(f, l.id), int32(len(e.classes))))
			}
			if c := e.p.Class[f]; c != class {
				class = c
				e.classes = append(e.classes, node{weight: e.p.ClassWeight[c], ceil: math.Inf(1), first: k, leaf: true})
			}
			e.classes[len(e.classes)-1].last = k + 1
			e.groups[len(e.groups)-1].last = int32(len(e.classes))
		}
		e.collapse(l.gfirst)
		l.glast = int32(len(e.groups))
		e.book(l)
	}
}

// collapse turns the last group into a leaf when it has a single class. first is the first group of its link.
func (e *engine) collapse(first int32) {
	if int32(len(e.groups)) == first {
		return
	}
	if g := &e.groups[len(e.groups)-1]; g.last-g.first == 1 {
		c := &e.classes[g.first]
		g.first, g.last, g.leaf = c.first, c.last, true
		e.classes = e.classes[:len(e.classes)-1]
	}
}

// countNodes counts the tenants on all links, and the classes of tenants with several.
func (e *engine) countNodes() (groups, classes int) {
	for i := range e.links {
		tenant, class, mine := int32(-1), int32(-1), 0
		for k := e.links[i].first; k < e.links[i].last; k++ {
			f := e.flows[e.members[k].flow]
			t, c := e.p.Tenant[f], e.p.Class[f]
			if t != tenant {
				groups++
				mine = 0
			}
			if t != tenant || c != class {
				if mine++; mine == 2 {
					classes++
				}
				if mine >= 2 {
					classes++
				}
			}
			tenant, class = t, c
		}
	}
	return groups, classes + 1
}

// BookablePercent is the part of a link, in percent, that guarantees or floors may fill. The rest is left to weights, so that no flow starves.
const BookablePercent = 99

const bookable = BookablePercent / 100.0

// book scales the guarantees on a link down in proportion when their sum exceeds the bookable part.
func (e *engine) book(l *link) { l.over = book(e.groups[l.gfirst:l.glast], l.capacity) }

func book(gs []node, capacity float64) (over bool) {
	booked := 0.0
	for i := range gs {
		booked += gs[i].floor
	}
	if over = booked > float64(capacity*bookable); over {
		for i := range gs {
			gs[i].floor = float64(gs[i].floor * (float64(capacity*bookable) / booked))
		}
	}
	return over
}

// placeFloors lists the floors of each link's members, scaled down in proportion when their sum exceeds the bookable part.
func (e *engine) placeFloors() {
	e.floors = make([]float64, len(e.members))
	for i := range e.links {
		e.bookFloors(&e.links[i])
	}
}

func (e *engine) bookFloors(l *link) {
	booked := 0.0
	for k := l.first; k < l.last; k++ {
		f := e.members[k].flow
		e.floors[k] = min(e.p.Floor[e.flows[f]], e.flowStates[f].most)
		booked += e.floors[k]
	}
	if l.over = booked > float64(l.capacity*bookable); l.over {
		for k := l.first; k < l.last; k++ {
			e.floors[k] = float64(e.floors[k] * (float64(l.capacity*bookable) / booked))
		}
	}
}

// group returns the node of a tenant on a link where it has a weight.
func (p *Problem) group(t int32, weight float64, firstClass int32) node {
	n := node{weight: weight, ceil: math.Inf(1), first: firstClass}
	if p.Cap != nil && p.Cap[t] > 0 {
		n.ceil = p.Cap[t]
	}
	if p.Guarantee != nil {
		n.floor = min(p.Guarantee[t], n.ceil)
	}
	return n
}
