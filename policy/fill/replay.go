package fill

import (
	"math"
	"slices"
)

// role is the treatment of a link in a replay.
type role uint8

const (
	followed  role = iota // it is visited: all links are, without a replay
	watched               // in a replay: behaves as in the history, and a followed link shares a flow with it
	unwatched             // in a replay: behaves as in the history, and no followed link depends on it
)

// inactive is best.watched of a flow whose values are those of the history and that crosses no followed link. Other flows are live.
const inactive = -1

// track is the position of a replay in the history of a watched or followed link.
type track struct {
	next int32 // its next visit
	// Of a followed link: the first of its visits and changes that differ from the history.
	visits, changes int32
}

// replay solves a problem that differs in some values from one with a known history. It makes the visits of a solution from scratch, but only to
// links whose inputs differ from the history. At first these are the links whose own values differ. A followed link may offer a flow another rate
// than in the history at the same moment. From then on, the flow's other links are followed too if they now allow it another rate. All other links
// behave as in the history. The result is therefore bit for bit that of a solution from scratch, even where several allocations are fair or links
// are nearly alike.
type replay struct {
	e         *engine
	h         *history
	end       iteration // of the history
	tracks    []track   // by link
	alarms    alarms    // the next visits of links in the history
	touched   []int32   // links that are watched or followed
	liveFlows []int32   // live flows
	recorded  []float64 // by hop of followed links, for flows with watched links: the link's offer in the history at this moment
	pending   []int32   // scratch: links to follow
	boundless []float64 // infinite: the offers of a link before its first visit
	work      int       // members of visits of followed links, less those that they had in the history
	spent     int       // members of visits of followed links
	// first and settling are those of the new solution.
	first, settling int
	newEvents       recorder // events of followed links
}

func newReplay(e *engine, h *history) *replay {
	end := iteration{slices.Clone(e.flowStates), slices.Clone(e.limits), slices.Repeat([]linkState{{role: unwatched}}, len(e.links))}
	for f := range end.flowStates {
		end.flowStates[f].watched = inactive
	}
	return &replay{
		e: e, h: h, end: end, recorded: make([]float64, len(e.on)), tracks: make([]track, len(e.links)), alarms: alarms{due: newLinkSet(len(e.links))}, boundless: slices.Repeat([]float64{math.Inf(1)}, len(e.u)),
	}
}

// begin switches the engine to the state of the replay. It keeps the state at the end of the history.
func (r *replay) begin() {
	r.e.iteration, r.end = r.end, r.e.iteration
	r.e.recorder = &r.newEvents
	r.newEvents.clear()
}

// commit makes the new solution the history, and undoes begin.
func (r *replay) commit() {
	e := r.e
	for _, l := range r.touched {
		if e.linkStates[l].role == followed {
			t := &r.tracks[l]
			r.h.truncate(l, int(e.links[l].last-e.links[l].first), t.visits, t.changes)
		}
	}
	r.newEvents.each(e.links, r.h.add)
	r.h.kept += r.newEvents.kept
	for _, f := range r.liveFlows {
		r.end.flowStates[f] = e.flowStates[f]
		r.end.flowStates[f].watched = inactive
	}
	e.work, e.first, e.settling = e.work+r.work, r.first, r.settling
	for _, l := range r.touched {
		e.linkStates[l].role = unwatched
	}
	for _, f := range r.liveFlows {
		e.flowStates[f].watched = inactive
	}
	e.iteration, r.end = r.end, e.iteration
	e.recorder = nil
	e.held = e.held[:0]
	r.touched, r.liveFlows, r.work, r.spent = r.touched[:0], r.liveFlows[:0], 0, 0
}

// run follows the links and flows whose values differ, and links that begin to differ. It reports whether it reached the end with at most most
// members visited and within the budget of a solution from scratch. A solution from scratch makes at least the visits made here; without the
// budget the replay could run for ever.
func (r *replay) run(flows, links []int32, most, budget int) bool {
	e := r.e
	e.schedule.now = between(0, len(e.links))
	hasSettled, easy := false, false
	for _, f := range flows {
		r.activate(f)
	}
	for _, l := range links {
		r.follow(l)
	}
	for e.rest = coarsestRest; ; e.rest = e.nextRest(e.rest, easy) {
		for {
			now, visit, fromHistory := r.moment()
			if !visit && !fromHistory {
				break
			}
			if r.step(now, visit, fromHistory); r.spent > min(most, budget-1) {
				return false
			}
		}
		if e.rest <= e.still {
			return e.work+r.work < budget
		}
		if e.rest == coarsestRest {
			r.first = e.first + r.work
			if easy = e.easy(r.first); easy != e.easy(e.first) {
				return false
			}
		}
		if !hasSettled && (easy || e.rest <= settled) {
			hasSettled = true
			if r.settling = e.settling + r.work; r.settling >= budget {
				return false
			}
			budget = extended(budget, r.settling)
		}
		e.release()
	}
}

// moment returns the next event of this phase: a visit of a followed link (visit), a visit of a watched or followed link in the history
// (fromHistory), or both.
func (r *replay) moment() (now moment, visit, fromHistory bool) {
	s := &r.e.schedule
	phase, wave, from := s.now.phase(), s.now.wave(), int32(s.now.link())+1
	for {
		if next := s.waiting.from(from, r.alarms.due); next >= 0 {
			return at(phase, wave, int(next)), s.waiting.has(next), r.alarms.due.has(next)
		}
		if s.n > 0 {
			wave++
		} else if wave = r.alarms.next(phase, wave); wave < 0 {
			return 0, false, false
		}
		r.alarms.begin(phase, wave)
		from = 0
	}
}

// step performs one visit: of a followed link, in the history, or both.
func (r *replay) step(now moment, visit, fromHistory bool) {
	e := r.e
	l := int32(now.link())
	e.schedule.now = now
	t, lk := &r.tracks[l], &e.links[l]
	ms := e.members[lk.first:lk.last]
	before := r.offers(l, t.next, len(ms))
	then := before
	if fromHistory {
		r.alarms.due.drop(l)
		t.next++
		then = r.offers(l, t.next, len(ms))
		r.watch(l)
	}
	if e.linkStates[l].role == watched {
		r.followAffected(ms, then, then, before)
		r.publishRecorded(ms, then)
		return
	}
	if fromHistory {
		r.work -= len(ms)
	}
	if !visit {
		r.followAffected(ms, nil, then, before)
		return
	}
	e.schedule.drop(l)
	_, out := e.computeOffers(l)
	r.work += len(ms)
	r.spent += len(ms)
	r.followAffected(ms, out, then, before)
	e.publish(ms, out)
	r.newEvents.visited(now, l, &e.linkStates[l], out)
}

// offers returns a link's offers to its members after a number of visits in the history.
func (r *replay) offers(l, visits int32, members int) []float64 {
	if visits == 0 {
		return r.boundless[:members]
	}
	return r.h.of[l].offers[int(visits-1)*members : int(visits)*members]
}

// publishRecorded is publish for a watched link. Flows that are inactive cross no followed link, so their state is not needed.
func (r *replay) publishRecorded(ms []member, out []float64) {
	for i := range ms {
		if r.e.flowStates[ms[i].flow].watched != inactive {
			r.e.publish(ms[i:i+1], out[i:i+1])
		} else {
			r.e.limits[ms[i].hop] = out[i]
		}
	}
}

// followAffected follows the watched links for which a rate now differs from the history, after a link offers its members out. The history's offers
// are before until this moment, and then from this moment on. out is nil when the link's offers did not change.
func (r *replay) followAffected(ms []member, out, then, before []float64) {
	e := r.e
	r.pending = r.pending[:0]
	flows, limits := e.flowStates, e.limits
	for i := range ms {
		m := &ms[i]
		if flows[m.flow].watched <= 0 {
			continue
		}
		was := limits[m.hop]
		x := was
		if out != nil {
			x = out[i]
		}
		if x != was || then[i] != before[i] {
			r.affected(m, x, then[i])
			r.recorded[m.hop] = then[i]
		}
	}
	for _, l := range r.pending {
		if e.linkStates[l].role == watched {
			r.follow(l)
		}
	}
}

// recordedOffer returns the link's offer in the history.
func (r *replay) recordedOffer(hop int32) float64 {
	if r.e.linkStates[r.e.on[hop]].role == followed {
		return r.recorded[hop]
	}
	return r.e.limits[hop]
}

// affected collects the watched links of a member's flow that see another rate than in the history when the member is offered x instead of y.
func (r *replay) affected(m *member, x, y float64) {
	e := r.e
	w := &e.flowStates[m.flow]
	for k := w.first; k < w.last; k++ {
		if k == m.hop || e.linkStates[e.on[k]].role != watched {
			continue
		}
		now, then := x, y
		for h := w.first; h < w.last; h++ {
			if h != k && h != m.hop {
				now, then = min(now, e.limits[h]), min(then, r.recordedOffer(h))
			}
		}
		if min(now, w.most) != min(then, w.most) {
			r.pending = append(r.pending, e.on[k])
		}
	}
}

// follow makes the replay visit a link from this moment on.
func (r *replay) follow(l int32) {
	e := r.e
	r.sync(l)
	t := &r.tracks[l]
	st, queued, changes := r.h.before(l, t.next, e.schedule.now)
	e.linkStates[l], t.visits, t.changes = st, t.next, changes
	if queued {
		e.schedule.add(l)
	}
	if st.held {
		e.held = append(e.held, l)
	}
	lk := &e.links[l]
	for k := lk.first; k < lk.last; k++ {
		m := &e.members[k]
		r.recorded[m.hop] = e.limits[m.hop]
		if b := &e.flowStates[m.flow]; b.watched != inactive {
			b.watched--
		} else {
			r.activate(m.flow)
		}
	}
}

// activate watches the links of a flow from this moment on.
func (r *replay) activate(f int32) {
	e := r.e
	b := &e.flowStates[f]
	if b.watched != inactive {
		return
	}
	b.watched = 0
	r.liveFlows = append(r.liveFlows, f)
	for _, l := range e.on[b.first:b.last] {
		if r.sync(l); e.linkStates[l].role == watched {
			b.watched++
		}
	}
	e.compare(b)
}

// sync watches a link from this moment on.
func (r *replay) sync(l int32) {
	e := r.e
	if e.linkStates[l].role != unwatched {
		return
	}
	e.linkStates[l].role = watched
	r.touched = append(r.touched, l)
	visits := r.h.visits(l, e.schedule.now)
	r.tracks[l].next = visits
	ms := e.members[e.links[l].first:e.links[l].last]
	for i, x := range r.offers(l, visits, len(ms)) {
		e.limits[ms[i].hop] = x
	}
	r.watch(l)
}

// watch sets an alarm for a link's next visit in the history.
func (r *replay) watch(l int32) {
	if visits, next := r.h.of[l].visits, r.tracks[l].next; int(next) < len(visits) {
		r.alarms.set(visits[next].at, r.e.schedule.now)
	}
}
