package fill

import (
	"cmp"
	"math"
	"slices"
)

// link is one link of the engine.
type link struct {
	id            int32 // in the problem
	visits        int32
	first, last   int32 // members
	gfirst, glast int32 // groups; none when flat
	over          bool  // guarantees or floors were scaled down
	capacity      float64
	level         float64 // flat: first guess of the next level
}

// state is what others ask of a link.
type state struct {
	spare  float64 // by how much its flows can still rise together before it bounds any; 0 when it does
	queued bool
	held   bool // it moved by too little to tell
}

// best is the least that a flow is offered, where, and the least but for that.
type best struct {
	rate, next float64
	at         int32 // hop, or -1 for the flow's demand or ceiling
}

// engine finds the rates at which every flow has the least of what its links offer it and of its
// demand. What a link offers a flow is the flow's share of the link when every other flow takes what it can by
// its other links, so a higher offer elsewhere never raises an offer here.
//
// Links wait in a queue. A visited link divides its capacity anew and puts those links in the queue whose
// flows it now lets have another rate, except links that stay below their capacity all the same.
// Where the links that limit flows have an order, in which each depends on those before it alone, the
// queue runs dry as soon as each has been visited after its predecessors. Where links wait for each other in a circle
// their offers close in on the fair ones by a constant factor a round, until the movement is below
// a relative 1e-12; after some rounds a link goes only part of the way, since offers can swing.
type engine struct {
	p       *Problem
	flows   []int32   // of the problem, ascending; the engine's flow i is flows[i]
	first   []int32   // by flow, and one more
	most    []float64 // by flow: demand or ceiling
	hops    []int32   // into links
	limits  []float64 // by hop: what the link offers the flow
	bests   []best    // by flow
	links   []link
	states  []state // by link
	members []member
	groups  []node
	classes []node
	floors  []float64 // by member; nil when none
	queue   []int32   // ring of links
	head, n int
	u, out  []float64 // scratch, by member of a link
	rest    float64   // relative movement that counts as rest
	held    []int32   // links that moved by less
	rough   bool      // links were not at rest when the work was over
	// residual is by how much links were over their capacity before their offers were made to fit.
	residual float64
}

const (
	// wholeSteps, mostSteps and halfSteps are the visits up to which a link goes all, nine tenths and half of the way to
	// new offers.
	wholeSteps, mostSteps, halfSteps = 12, 80, 200
	// roughest is the movement that counts as rest at first; when all links are at rest it is refined by finer, down to
	// still. Moving finely while others still move coarsely is wasted, and can keep circles from coming to rest.
	roughest, finer = 1e-2, 1e-1
	// exactWork and exactRounds bound the work that is done to bring all links to rest: that many members
	// of visited links, or, if that is more, as many times all of them.
	exactWork, exactRounds = 2_400_000, 5
)

func damping(visits int32) float64 {
	switch {
	case visits < wholeSteps:
		return 1
	case visits < mostSteps:
		return 0.9
	case visits < halfSteps:
		return 0.5
	}
	return 0.25
}

// run visits links until all are at rest, first roughly, then ever more finely.
// budget bounds the members of visited links.
func (e *engine) run(budget int) {
	e.start()
	for e.rest = roughest; ; e.rest = max(still, float64(e.rest*finer)) {
		for e.n > 0 && budget > 0 {
			budget -= e.next()
		}
		if budget <= 0 && e.n+len(e.held) > 0 {
			e.rough = true
			e.fit()
			return
		}
		if e.rest <= still {
			return
		}
		for _, l := range e.held {
			e.states[l].held = false
			e.enqueue(l)
		}
		e.held = e.held[:0]
	}
}

// budget is the work that is done to bring all links to rest.
func (e *engine) budget() int { return max(exactWork, exactRounds*len(e.members)) }

// next visits the next link of the queue. It returns how many members that has.
func (e *engine) next() int {
	l := e.queue[e.head]
	if e.head++; e.head == len(e.queue) {
		e.head = 0
	}
	e.n--
	lk := &e.links[l]
	e.states[l].queued = false
	lk.visits++
	e.visit(l)
	return int(lk.last - lk.first)
}

// fit lowers the offers of links that are not at rest so that none carries more than its capacity.
func (e *engine) fit() {
	for i := range e.links {
		l, load := &e.links[i], 0.0
		ms := e.members[l.first:l.last]
		for k := range ms {
			load += e.bests[ms[k].flow].rate
		}
		if load <= l.capacity {
			continue
		}
		e.residual = max(e.residual, (load-l.capacity)/load)
		for k := range ms {
			m := &ms[k]
			e.limits[m.hop] = min(e.limits[m.hop], float64(e.bests[m.flow].rate*(l.capacity/load)))
		}
	}
}

// start queues all links, those with the least to offer first: they are likely to limit
// their flows, and the others then know.
func (e *engine) start() {
	levels := make([]float64, len(e.links))
	e.queue = make([]int32, len(e.links))
	for i := range e.links {
		l := &e.links[i]
		weight := 0.0
		for j := range e.members[l.first:l.last] {
			weight += e.members[l.first+int32(j)].weight
		}
		levels[i] = l.capacity / weight
		e.states[i].queued, e.queue[i] = true, int32(i)
	}
	slices.SortFunc(e.queue, func(a, b int32) int {
		return cmp.Or(cmp.Compare(levels[a], levels[b]), cmp.Compare(a, b))
	})
	e.head, e.n = 0, len(e.queue)
	for i := range e.limits {
		e.limits[i] = math.Inf(1)
	}
	for i := range e.bests {
		e.bests[i] = best{e.most[i], math.Inf(1), -1}
	}
}

func (e *engine) enqueue(l int32) {
	if e.states[l].queued {
		return
	}
	e.states[l].queued = true
	at := e.head + e.n
	if at >= len(e.queue) {
		at -= len(e.queue)
	}
	e.queue[at] = l
	e.n++
}

// visit divides a link's capacity anew.
func (e *engine) visit(l int32) {
	lk := &e.links[l]
	ms := e.members[lk.first:lk.last]
	u, out := e.u[:len(ms)], e.out[:len(ms)]
	if lk.gfirst == lk.glast {
		e.divideFlat(lk, &e.states[l], ms, u, out)
	} else {
		e.divideTree(lk, &e.states[l], u, out)
	}
	e.publish(l, ms, out)
}

// elsewhere is what a member's flow can have by its demand and its other links.
func (e *engine) elsewhere(m *member) float64 {
	if b := &e.bests[m.flow]; b.at != m.hop {
		return b.rate
	} else {
		return b.next
	}
}

// offer notes what a link offers a flow.
func (e *engine) offer(m *member, now float64) {
	was := e.limits[m.hop]
	e.limits[m.hop] = now
	b := &e.bests[m.flow]
	if b.at != m.hop && was > b.next && now > b.next {
		return
	}
	*b = best{e.most[m.flow], math.Inf(1), -1}
	for h, last := e.first[m.flow], e.first[m.flow+1]; h < last; h++ {
		switch y := e.limits[h]; {
		case y < b.rate:
			b.rate, b.next, b.at = y, b.rate, h
		case y < b.next:
			b.next = y
		}
	}
}

func (e *engine) divideFlat(lk *link, st *state, ms []member, u, out []float64) {
	need := 0.0
	for i := range ms {
		u[i] = min(lk.capacity, e.elsewhere(&ms[i]))
		need += u[i]
	}
	if e.floors != nil {
		st.spare = divideFloors(ms, e.floors[lk.first:lk.last], u, out, lk.capacity, nil)
		return
	}
	lk.level, st.spare = divideMembers(ms, u, out, lk.capacity, need, lk.level)
}

func (e *engine) divideTree(lk *link, st *state, u, out []float64) {
	gs := e.groups[lk.gfirst:lk.glast]
	for i := range gs {
		g := &gs[i]
		if g.leaf {
			e.ask(lk, g, u)
			continue
		}
		g.need = 0
		for j := g.first; j < g.last; j++ {
			e.ask(lk, &e.classes[j], u)
			g.need += e.classes[j].need
		}
	}
	st.spare = divide(gs, lk.capacity)
	for i := range gs {
		g := &gs[i]
		if g.leaf {
			e.hand(lk, g, u, out)
			continue
		}
		cs := e.classes[g.first:g.last]
		divide(cs, g.offer)
		for j := range cs {
			e.hand(lk, &cs[j], u, out)
		}
	}
}

// ask finds what the members of a node on a link can use.
func (e *engine) ask(lk *link, n *node, u []float64) {
	need := 0.0
	for k := n.first; k < n.last; k++ {
		x := min(lk.capacity, e.elsewhere(&e.members[k]))
		u[k-lk.first] = x
		need += x
	}
	n.need = need
}

// hand divides what a node on a link is offered among its members.
func (e *engine) hand(lk *link, n *node, u, out []float64) {
	a, b := n.first-lk.first, n.last-lk.first
	n.level, _ = divideMembers(e.members[n.first:n.last], u[a:b], out[a:b], n.offer, n.need, n.level)
}

// publish writes what a link offers its members and queues the links for which that changes something.
func (e *engine) publish(l int32, ms []member, out []float64) {
	lk := &e.links[l]
	part := damping(lk.visits)
	again, held := false, false
	for i := range ms {
		m := &ms[i]
		was, now := e.limits[m.hop], out[i]
		if d := now - was; d <= float64(e.rest*now) && d >= -float64(e.rest*now) {
			held = held || d > still*now || d < -still*now
			continue
		}
		if part < 1 && !math.IsInf(was, 1) {
			now = was + float64(part*(now-was))
			again = true
		}
		rest := e.elsewhere(m)
		e.offer(m, now)
		if now < rest || was < rest {
			e.tell(m, min(was, rest), min(now, rest))
		}
	}
	if again {
		e.enqueue(l)
	}
	if held && !e.states[l].held {
		e.states[l].held = true
		e.held = append(e.held, l)
	}
}

// tell queues the other links of a member's flow when the flow's rate changes or what limits it.
func (e *engine) tell(m *member, before, after float64) {
	for h, last := e.first[m.flow], e.first[m.flow+1]; h < last; h++ {
		k := e.hops[h]
		st := &e.states[k]
		if h == m.hop || st.queued {
			continue
		}
		if st.spare > 0 {
			if after <= before {
				continue
			}
			if st.spare -= after - before; st.spare > 0 && after < e.limits[h]*(1-alike) {
				continue
			}
		}
		e.enqueue(k)
	}
}
