package fill

import "math"

type link struct {
	id            int32 // in the problem
	first, last   int32 // members
	gfirst, glast int32 // groups; none when flat
	over          bool  // guarantees or floors were scaled down
	capacity      float64
}

// flowState is what bounds a flow: its demand or ceiling (most), its hops (first to last), and the offers so far. A visit reads all of it;
// memory access dominates the cost of a visit, so the fields are adjacent.
type flowState struct {
	best
	most        float64
	first, last int32
}

// linkState is the progress of a link.
type linkState struct {
	spare  float64 // how much its flows can still rise together before it limits any; 0 when it limits one
	visits int32
	held   bool // its movement was below rest
	role   role
}

// best is the smallest offer of a flow, the hop that makes it, and the second smallest.
type best struct {
	rate, next float64
	at         int32 // hop, or -1 for the flow's demand or ceiling
	watched    int32 // in a replay: number of its watched links, or inactive
}

// iteration is the state that visits change.
type iteration struct {
	flowStates []flowState // by flow
	limits     []float64   // by hop: the link's offer to the flow
	linkStates []linkState // by link
}

// engine finds the rates at which every flow gets the least of its demand and its links' offers. A link's offer to a flow is the flow's share
// of the link while every other flow takes what its other links allow. So a higher offer elsewhere never raises an offer here.
//
// Links wait in a schedule. A visited link divides its capacity again and schedules the links of the flows whose rate it changes, except links
// that stay below their capacity in any case. If the limiting links can be ordered so that each depends only on earlier ones, the schedule is
// empty once each has been visited after its predecessors. If links wait for each other in a cycle, each round brings their offers closer to the
// fair ones by a constant factor, until the relative movement is below still. Offers can oscillate, so after some rounds a link takes only part of
// each step.
//
// A visit depends only on the link's contents, its state, and the other links' offers to its flows; the order of visits depends only on the
// layout. A history of visits can therefore be replayed where nothing differs (see replay).
type engine struct {
	p       *Problem
	flows   []int32 // of the problem, ascending; the engine's flow i is flows[i]
	links   []link  // in the order of visits, see rank
	members []member
	on      []int32 // links by hop: the hops of each flow in order, flow after flow
	groups  []node
	classes []node
	floors  []float64 // by member; nil when none
	// scratch, by member of a link: what it can use, its new offer, and its last offer
	u, out, was []float64
	iteration
	schedule    schedule
	recorder    *recorder // records visits; nil does not
	rest        float64   // relative movement that counts as rest
	still       float64   // rest in the last phase
	held        []int32   // links whose movement was below rest
	work        int       // members of visited links
	first       int       // work of the first phase; 0 before its end
	settling    int       // work until all links were settled; 0 before
	approximate bool      // links were not at rest when the budget was spent
	// residual is the excess of links over their capacity before their offers were lowered to fit.
	residual float64
}

const (
	// wholeSteps, mostSteps and halfSteps are the numbers of visits up to which a link takes all, nine tenths and half of the step to new offers.
	wholeSteps, mostSteps, halfSteps = 12, 80, 200
	// coarsestRest is the movement that counts as rest in the first phase. If that phase is short there are no large cycles, and the next one goes
	// straight to still. Otherwise each phase refines rest tenfold, and a hundredfold once all links have settled. Fine movements of some links
	// while others still move coarsely can keep large cycles from coming to rest.
	coarsestRest, settled = 1e-2, 1e-4
	// easyVisits is the mean number of visits of a link up to which a first phase counts as short.
	easyVisits = 3
	// exactWork and exactRounds bound the work to bring all links to rest: exactWork members of visited links, or exactRounds times all members if
	// that is more.
	exactWork, exactRounds = 2_400_000, 5
	// restFactor bounds the total work by a multiple of the work that it took to settle. Coming to rest takes two to three times as much, and
	// stopping earlier would waste what was done.
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

// nextRest returns the movement that counts as rest in the phase after one; easy reports whether the first phase was short.
func (e *engine) nextRest(rest float64, easy bool) float64 {
	switch {
	case easy:
		return e.still
	case rest > settled:
		return rest / 10
	}
	return max(e.still, rest/100)
}

// easy reports whether a first phase with this work was short.
func (e *engine) easy(work int) bool { return work <= easyVisits*len(e.members) }

// run visits links until all are at rest, first roughly, then ever more finely, one phase for each precision. budget bounds the members of
// visited links.
func (e *engine) run(budget int) {
	e.start()
	easy := false
	for e.rest = coarsestRest; ; e.rest = e.nextRest(e.rest, easy) {
		for e.schedule.n > 0 && e.work < budget {
			l := e.schedule.take()
			e.visit(l)
		}
		if e.work >= budget && e.schedule.n+len(e.held) > 0 {
			e.approximate = true
			e.fit()
			return
		}
		if e.rest <= e.still {
			return
		}
		if e.rest == coarsestRest {
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

// budget returns the work allowed until all links have settled.
func (e *engine) budget() int { return max(exactWork, exactRounds*len(e.members)) }

// extended returns the total work allowed for bringing links to rest that took settling to settle.
func extended(budget, settling int) int { return max(budget, restFactor*settling) }

// release begins a phase with the held links.
func (e *engine) release() {
	e.schedule.phase()
	for _, l := range e.held {
		e.linkStates[l].held = false
		e.enqueue(l)
	}
	e.held = e.held[:0]
}

// start schedules all links and sets their offers to their full capacity.
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
		e.flowStates[i].best = best{e.flowStates[i].most, math.Inf(1), -1, inactive}
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

// visit divides a scheduled link's capacity anew and publishes its offers.
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

// computeOffers computes a link's offers to its members from this visit on.
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

// gather collects what members of a link can use of its capacity, and their last offers. The values are scattered in memory: one loop fetches
// them, so that the processor waits for many of them at once.
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

// fit lowers the offers of links that are not at rest so that no link exceeds its capacity.
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

// dampOffers moves a link's offers only part of the way from the last ones to out, and leaves offers that hardly move unchanged. unfinished
// reports that part of the way remains, held that an offer moves too little for this phase.
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

// publish stores a link's offers to its members and schedules the links that the offers affect.
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

// elsewhere returns what a flow can have by its demand and its links, without the one at a hop.
func (b *best) elsewhere(hop int32) float64 {
	if b.at != hop {
		return b.rate
	}
	return b.next
}

// offer records a flow's new offer at a hop. It reports whether the two smallest offers are still known; if not, compare finds them.
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

// compare finds the two smallest offers of a flow.
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

// scheduleLinks schedules the links of a flow, except the one at a hop, when the flow's rate changes or what limits it.
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
