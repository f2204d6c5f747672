package fill

import "math"

// divide computes in out a gathered link's offers to its members, each of which can use u, and records the link's spare.
func (e *engine) divide(lk *link, st *linkState, u, out []float64) {
	ms := e.members[lk.first:lk.last]
	if lk.gfirst < lk.glast {
		st.spare = e.divideTree(lk, u, out)
		return
	}
	if e.floors != nil {
		st.spare = divideFloors(ms, e.floors[lk.first:lk.last], u, out, lk.capacity, e.initialLevel(0, &ms[0]), nil)
		return
	}
	need := 0.0
	for _, x := range u {
		need += x
	}
	st.spare = divideMembers(ms, u, out, lk.capacity, need, e.initialLevel(0, &ms[0]))
}

// initialLevel returns a level near the next one: a member's last offer by its weight. at is the member's place on the link.
func (e *engine) initialLevel(at int32, m *member) float64 {
	if l := e.was[at]; !math.IsInf(l, 1) {
		return l / m.weight
	}
	return 0
}

func (e *engine) divideTree(lk *link, u, out []float64) (spare float64) {
	gs := e.groups[lk.gfirst:lk.glast]
	for i := range gs {
		g := &gs[i]
		if g.leaf {
			g.need = needed(lk, g, u)
			continue
		}
		g.need = 0
		for j := g.first; j < g.last; j++ {
			c := &e.classes[j]
			c.need = needed(lk, c, u)
			g.need += c.need
		}
	}
	spare = divide(gs, lk.capacity)
	for i := range gs {
		g := &gs[i]
		if g.leaf {
			e.divideNode(lk, g, u, out)
			continue
		}
		cs := e.classes[g.first:g.last]
		divide(cs, g.offer)
		for j := range cs {
			e.divideNode(lk, &cs[j], u, out)
		}
	}
	return spare
}

// needed returns what the members of a node on a link can use.
func needed(lk *link, n *node, u []float64) float64 {
	need := 0.0
	for k := n.first; k < n.last; k++ {
		need += u[k-lk.first]
	}
	return need
}

// divideNode divides the offer of a node on a link among its members.
func (e *engine) divideNode(lk *link, n *node, u, out []float64) {
	a, b := n.first-lk.first, n.last-lk.first
	divideMembers(e.members[n.first:n.last], u[a:b], out[a:b], n.offer, n.need, e.initialLevel(a, &e.members[n.first]))
}

// explains reports whether there are caps, guarantees or floors, so that a link's limits have more kinds than LimitLink.
func (e *engine) explains() bool {
	return e.floors != nil || !e.p.flat() && (e.p.Cap != nil || e.p.Guarantee != nil)
}

// explain identifies the caps, guarantees and floors among the limits of a link's flows, by dividing once more.
func (e *engine) explain(lk *link, s *Solution) {
	set := func(k int32, l Limit) {
		f := e.flows[e.members[k].flow]
		if s.Bottleneck[f] == lk.id && l != LimitLink {
			s.Limits[f] = l
		}
	}
	ms := e.members[lk.first:lk.last]
	u, out := e.gather(ms, lk.capacity), e.out[:len(ms)]
	if e.floors != nil {
		bounds := make([]Limit, len(ms))
		divideFloors(ms, e.floors[lk.first:lk.last], u, out, lk.capacity, e.initialLevel(0, &ms[0]), bounds)
		for i, b := range bounds {
			set(lk.first+int32(i), b)
		}
		return
	}
	e.divideTree(lk, u, out)
	for i := lk.gfirst; i < lk.glast; i++ {
		g := &e.groups[i]
		if g.bound == LimitLink {
			continue
		}
		first, last := g.first, g.last
		if !g.leaf {
			first, last = e.classes[first].first, e.classes[last-1].last
		}
		for k := first; k < last; k++ {
			set(k, g.bound)
		}
	}
}
