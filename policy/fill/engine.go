package fill

import "math"

// link is one link of the engine.
type link struct {
	id            int32 // in the problem
	first, last   int32 // members
	gfirst, glast int32 // groups; none when flat
	over          bool  // guarantees or floors were scaled down
	capacity      float64
}

// flowState is what bounds a flow, its demand or ceiling and its hops from first on, and what follows. What a visit needs to know of a flow
// lies together: to fetch it is most of the work.
type flowState struct {
	best
	most        float64
	first, last int32
}

// linkState is how far a link has come.
type linkState struct {
	spare  float64 // by how much its flows can still rise together before it bounds any; 0 when it does
	visits int32
	held   bool // it moved by too little to tell
	role   role
}

// best is the least that a flow is offered, where, and the least but for that.
type best struct {
	rate, next float64
	at         int32 // hop, or -1 for the flow's demand or ceiling
	watched    int32 // in a replay: how many of its links are watched, or asleep
}

// motion is what changes while links are visited.
type motion struct {
	flowStates []flowState // by flow
	limits     []float64   // by hop: what its link offers the flow
	linkStates []linkState // by link
}

// engine finds the rates at which every flow has the least of what its links offer it and of its
// demand. What a link offers a flow is the flow's share of the link when every other flow takes what it can by
// its other links, so a higher offer elsewhere never raises an offer here.
//
// Links wait in a schedule. A visited link divides its capacity anew and schedules those links whose
// flows it now lets have another rate, except links that stay below their capacity all the same.
// Where the links that limit flows have an order, in which each depends on those before it alone, the
// schedule runs dry as soon as each has been visited after its predecessors. Where links wait for each other in a circle
// their offers close in on the fair ones by a constant factor a round, until the relative movement is below
// still; after some rounds a link goes only part of the way, since offers can swing.
//
// What a visit does follows from the link's contents, its state, and what others let its flows have, and the order of
// visits follows from the layout alone: a history of visits can be followed again where nothing differs (see replay).
type engine struct {
	p       *Problem
	flows   []int32 // of the problem, ascending; the engine's flow i is flows[i]
	links   []link  // in the order in which they are visited, see rank
	members []member
	on      []int32 // links, by hop: those on the ways of all flows, one way after the other
	groups  []node
	classes []node
	floors  []float64 // by member; nil when none
	// scratch, by member of a link: what it can use, what it is offered, and what it was offered last
	u, out, was []float64
	motion
	schedule schedule
	recorder *recorder // writes down what happens; nil does not
	rest     float64   // relative movement that counts as rest
	still    float64   // what rest is in the last phase
	held     []int32   // links that moved by less
	work     int       // members of visited links
	first    int       // work of the first phase; 0 before its end
	settling int       // work that it took until all links were settled; 0 before
	rough    bool      // links were not at rest when the work was over
	// residual is by how much links were over their capacity before their offers were made to fit.
	residual float64
}

const (
	// wholeSteps, mostSteps and halfSteps are the visits up to which a link goes all, nine tenths and half of the way to
	// new offers.
	wholeSteps, mostSteps, halfSteps = 12, 80, 200
	// roughest is the movement that counts as rest in the first phase. Where that phase is over soon there are no large circles, and the
	// next one goes straight to still. Otherwise rest is refined tenfold from phase to phase, from settled on a hundredfold:
	// moving finely while others still move coarsely can keep large circles from coming to rest.
	roughest, settled = 1e-2, 1e-4
	// easyVisits is how often each link may be visited on average in a first phase that is over soon.
	easyVisits = 3
	// exactWork and exactRounds bound the work that is done to bring all links to rest: that many members
	// of visited links, or, if that is more, as many times all of them.
	exactWork, exactRounds = 2_400_000, 5
	// restFactor is how many times the work that it took to settle may be done in all. From there to rest it takes two to three
	// times as much, and to break off would have been for nothing.
	restFactor = 4
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

// nextRest is the movement that counts as rest in the phase after one; easy says whether the first phase was.
func (e *engine) nextRest(rest float64, easy bool) float64 {
	switch {
	case easy:
		return e.still
	case rest > settled:
		return rest / 10
	}
	return max(e.still, rest/100)
}

// easy tells whether a first phase of so much work was over soon.
func (e *engine) easy(work int) bool { return work <= easyVisits*len(e.members) }

// run visits links until all are at rest, first roughly, then ever more finely, a phase each.
// budget bounds the members of visited links.
func (e *engine) run(budget int) {
	e.start()
	easy := false
	for e.rest = roughest; ; e.rest = e.nextRest(e.rest, easy) {
		for e.schedule.n > 0 && e.work < budget {
			l := e.schedule.take()
			e.visit(l)
		}
		if e.work >= budget && e.schedule.n+len(e.held) > 0 {
			e.rough = true
			e.fit()
			return
		}
		if e.rest <= e.still {
			return
		}
		if e.rest == roughest {
			e.first = e.work
			easy = e.easy(e.first)
		}
		if e.settling == 0 && (easy || e.rest <= settled) {
			e.settling = e.work
			budget = extended(budget, e.settling)
		}
		e.release()
	}
}

// budget is the work that is done until all links have settled.
func (e *engine) budget() int { return max(exactWork, exactRounds*len(e.members)) }

// extended is the work that is done in all to bring links to rest that took so much of a budget to settle.
func extended(budget, settling int) int { return max(budget, restFactor*settling) }

// release begins a phase, with the links that were held.
func (e *engine) release() {
	e.schedule.phase()
	for _, l := range e.held {
		e.linkStates[l].held = false
		e.enqueue(l)
	}
	e.held = e.held[:0]
}

// start schedules all links and lets them offer all there is.
func (e *engine) start() {
	e.schedule = newSchedule(len(e.links))
	for i := range e.linkStates {
		e.schedule.add(int32(i))
		e.linkStates[i] = linkState{}
	}
	for i := range e.limits {
		e.limits[i] = math.Inf(1)
	}
	for i := range e.flowStates {
		e.flowStates[i].best = best{e.flowStates[i].most, math.Inf(1), -1, asleep}
	}
}

func (e *engine) enqueue(l int32) {
	if e.schedule.has(l) {
		return
	}
	e.schedule.add(l)
	if e.recorder != nil {
		e.recorder.queued(e.schedule.now, l, e.linkStates[l].spare)
	}
}

// visit divides a scheduled link's capacity anew and makes its offers known.
func (e *engine) visit(l int32) {
	ms, out := e.computeOffers(l)
	e.work += len(ms)
	e.publish(ms, out)
	if e.recorder != nil {
		e.recorder.visited(e.schedule.now, l, &e.linkStates[l], out)
		if e.recorder.kept > maxKeptOffers {
			e.recorder = nil // too long to be of use
		}
	}
}

// computeOffers finds what a link offers its members from this visit on.
func (e *engine) computeOffers(l int32) ([]member, []float64) {
	lk, st := &e.links[l], &e.linkStates[l]
	st.visits++
	ms := e.members[lk.first:lk.last]
	u, out := e.gather(ms, lk.capacity), e.out[:len(ms)]
	e.divide(lk, st, u, out)
	again, held := e.dampOffers(out, damping(st.visits))
	if again {
		e.enqueue(l)
	}
	if held && !st.held {
		st.held = true
		e.held = append(e.held, l)
	}
	return ms, out
}

// gather finds what members of a link can use of its capacity, and what it offered them last. These are spread all over: they are
// fetched in one go, so that the processor waits for many of them at once.
func (e *engine) gather(ms []member, capacity float64) []float64 {
	u, was := e.u[:len(ms)], e.was[:len(ms)]
	flows, limits := e.flowStates, e.limits
	for i := range ms {
		m := &ms[i]
		x := flows[m.flow].elsewhere(m.hop)
		if x > capacity {
			x = capacity
		}
		u[i], was[i] = x, limits[m.hop]
	}
	return u
}

// fit lowers the offers of links that are not at rest so that none carries more than its capacity.
func (e *engine) fit() {
	for i := range e.links {
		l, load := &e.links[i], 0.0
		ms := e.members[l.first:l.last]
		for k := range ms {
			load += e.flowStates[ms[k].flow].rate
		}
		if load <= l.capacity {
			continue
		}
		e.residual = max(e.residual, (load-l.capacity)/load)
		for k := range ms {
			m := &ms[k]
			limit := &e.limits[m.hop]
			*limit = min(*limit, float64(e.flowStates[m.flow].rate*(l.capacity/load)))
		}
	}
}

// dampOffers has a link go but a part of the way from what it offered its members to out, and leaves as it is what hardly
// moves. again tells that there is way left to go, held that something moves too little in this phase.
func (e *engine) dampOffers(out []float64, part float64) (unfinished, held bool) {
	all, rest, still := e.was[:len(out)], e.rest, e.still
	for i := range out {
		was, now := all[i], out[i]
		if d := now - was; d <= float64(rest*now) && d >= -float64(rest*now) {
			held = held || d > float64(still*now) || d < -float64(still*now)
			out[i] = was
		} else if part < 1 && !math.IsInf(was, 1) {
			out[i] = was + float64(part*(now-was))
			unfinished = true
		}
	}
	return unfinished, held
}

// publish writes what a link offers its members and schedules the links for which that changes something.
func (e *engine) publish(ms []member, out []float64) {
	flows, limits := e.flowStates, e.limits
	out = out[:len(ms)]
	for i := range ms {
		m := &ms[i]
		was, now := limits[m.hop], out[i]
		if was == now {
			continue
		}
		w := &flows[m.flow]
		rest := w.elsewhere(m.hop)
		limits[m.hop] = now
		if !w.offer(m.hop, was, now) {
			e.compare(w)
		}
		before, after := was, now
		if rest < before {
			before = rest
		}
		if rest < after {
			after = rest
		}
		if before != after {
			e.scheduleLinks(w, m.hop, before, after)
		}
	}
}

// elsewhere is what a flow can have by its demand and its links but for that at a hop.
func (b *best) elsewhere(hop int32) float64 {
	if b.at != hop {
		return b.rate
	}
	return b.next
}

// offer notes what a flow is offered at a hop from now on. It reports whether that tells which offers are the least.
func (b *best) offer(hop int32, was, now float64) bool {
	switch {
	case b.at == hop:
		if now >= b.next {
			return false
		}
		b.rate = now
	case now < b.rate:
		b.rate, b.next, b.at = now, b.rate, hop
	case now == b.rate:
		return false
	case now <= b.next:
		b.next = now
	default:
		return was > b.next
	}
	return true
}

// compare finds the least that a flow is offered, and the least but for that.
func (e *engine) compare(w *flowState) {
	b := best{w.most, math.Inf(1), -1, w.watched}
	for i, y := range e.limits[w.first:w.last] {
		switch {
		case y < b.rate:
			b.rate, b.next, b.at = y, b.rate, w.first+int32(i)
		case y < b.next:
			b.next = y
		}
	}
	w.best = b
}

// scheduleLinks schedules the links of a flow, but for that at a hop, when the flow's rate changes or what limits it.
func (e *engine) scheduleLinks(w *flowState, but int32, before, after float64) {
	states := e.linkStates
	for i, k := range e.on[w.first:w.last] {
		if w.first+int32(i) == but {
			continue
		}
		if e.schedule.has(k) {
			continue
		}
		st := &states[k]
		if st.role != followed {
			continue
		}
		if st.spare > 0 {
			if after <= before {
				continue
			}
			if st.spare -= after - before; st.spare > 0 && after < e.limits[w.first+int32(i)]*(1-alike) {
				if e.recorder != nil {
					e.recorder.spared(e.schedule.now, k, st.spare)
				}
				continue
			}
		}
		e.enqueue(k)
	}
}
