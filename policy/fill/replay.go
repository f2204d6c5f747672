package fill

import "math"

// role is what a replay does with a link.
type role uint8

const (
	away     role = iota // as in the history, and nobody asks
	watched              // as in the history, which a followed link hears of
	followed             // visited anew
)

// replay solves a problem that differs from one whose history is known in some values: as that problem would be solved
// from nothing, visit by visit, but only those links are visited again that come to see something else than in
// the history. At first these are the links whose own values differ. When one of them offers a flow another rate
// than it did at the same moment, those of the flow's other links are followed from then on that now let it have another
// rate. All others do what they did. So the result is that of the way from nothing, bit for bit, also where
// there are several fair sharings or links are as good as alike.
type replay struct {
	e       *engine
	h       *history
	end     motion    // of the history
	then    []float64 // by hop of followed links: what the link offered in the history at this moment
	role    []role    // by link
	next    []int32   // by watched or followed link: its next visit in the history, among the link's events
	from    []int32   // by followed link: the first of its events that it does not have in common with the history
	alarm   alarms    // these visits
	touched []int32   // links that are watched or followed
	live    []bool    // by flow: its values differ, or it crosses a followed link
	lives   []int32   // these flows
	heard   []int32   // by live flow: how many of its links are watched
	waking  []int32   // scratch: links to follow
	work    int       // members of visits of followed links, less those they had in the history
	spent   int       // members of visits of followed links
	// settling is engine.settling of the way that is found.
	settling int
	news     recorder // what happens to followed links
}

func newReplay(e *engine, h *history) *replay {
	return &replay{
		e: e, h: h, then: make([]float64, len(e.hops)), role: make([]role, len(e.links)),
		next: make([]int32, len(e.links)), from: make([]int32, len(e.links)), live: make([]bool, len(e.flows)), heard: make([]int32, len(e.flows)),
		end: motion{make([]float64, len(e.hops)), make([]best, len(e.flows)), make([]state, len(e.links))},
	}
}

// begin has the engine follow the replay. It keeps where the history ended.
func (r *replay) begin() {
	r.e.motion, r.end = r.end, r.e.motion
	r.e.replay, r.e.recorder = r, &r.news
	r.news.clear()
}

// commit makes the way that was found the history.
func (r *replay) commit() {
	e := r.e
	for _, l := range r.touched {
		if r.role[l] == followed {
			r.h.cut(l, r.from[l])
		}
	}
	r.news.each(e.links, r.h.add)
	r.h.kept += r.news.kept
	for _, f := range r.lives {
		r.end.bests[f] = e.bests[f]
	}
	e.work, e.settling = e.work+r.work, r.settling
}

// over undoes begin.
func (r *replay) over() {
	e := r.e
	e.motion, r.end = r.end, e.motion
	e.replay, e.recorder = nil, nil
	for _, l := range r.touched {
		r.role[l] = away
	}
	for _, f := range r.lives {
		r.live[f], r.heard[f] = false, 0
	}
	clear(e.schedule.set)
	e.schedule.n, e.held = 0, e.held[:0]
	r.touched, r.lives, r.alarm, r.work, r.spent = r.touched[:0], r.lives[:0], r.alarm[:0], 0, 0
}

// run follows the links and flows whose values differ, and the links that come to differ. It reports whether it got to
// the end with at most most members visited and inside the budget of the way from nothing.
func (r *replay) run(flows, links []int32, most, budget int) bool {
	e := r.e
	e.schedule.now = between(0, len(e.links))
	hasSettled := false
	for _, f := range flows {
		r.enliven(f)
	}
	for _, l := range links {
		r.follow(l)
	}
	for e.rest = roughest; ; e.rest = e.finer(e.rest) {
		for {
			now, visit, recall := r.moment()
			if !visit && !recall {
				break
			}
			if r.step(now, visit, recall); r.spent > most {
				return false
			}
		}
		if e.rest <= e.still {
			return e.work+r.work < budget
		}
		if !hasSettled && e.rest <= settled {
			hasSettled = true
			if r.settling = e.settling + r.work; r.settling >= budget {
				return false
			}
			budget = extended(budget, r.settling)
		}
		e.release()
	}
}

// moment finds what happens next in this phase: a followed link is visited, or a link that is watched or followed was visited in
// the history, or both.
func (r *replay) moment() (now moment, visit, recall bool) {
	s := &r.e.schedule
	phase := s.now.phase()
	if recall = len(r.alarm) > 0 && r.alarm[0].at.phase() == phase; recall {
		now = r.alarm[0].at
	}
	if s.n > 0 {
		if next := s.next(); !recall || next <= now {
			recall = recall && next == now
			return next, true, recall
		}
	}
	return now, false, recall
}

// step makes one visit, of a followed link, in the history, or in both.
func (r *replay) step(now moment, visit, recall bool) {
	e := r.e
	l := e.schedule.order[now.rank()]
	var then, out []float64
	lk := &e.links[l]
	ms := e.members[lk.first:lk.last]
	if recall {
		then = r.h.offersOf(l, &r.h.of[l].events[r.next[l]], len(ms))
		r.alarm.pop()
		r.watch(l, r.next[l]+1)
	}
	if visit {
		e.schedule.take()
		work := e.work
		_, out = e.weigh(l)
		e.work = work
		r.work += len(ms)
		r.spent += len(ms)
	} else {
		e.schedule.now = now
	}
	if r.role[l] == watched {
		r.wake(ms, then, then, e.limits)
		r.recall(ms, then)
		return
	}
	if recall {
		r.work -= len(ms)
	}
	r.wake(ms, out, then, r.then)
	if visit {
		e.publish(ms, out)
		r.news.visited(now, l, &e.states[l], out)
	}
	for i, x := range then {
		r.then[ms[i].hop] = x
	}
}

// recall is publish for a watched link. Flows that are not live cross no link that is visited anew: nobody asks what follows
// for them.
func (r *replay) recall(ms []member, out []float64) {
	for i := range ms {
		if r.live[ms[i].flow] {
			r.e.publish(ms[i:i+1], out[i:i+1])
		} else {
			r.e.limits[ms[i].hop] = out[i]
		}
	}
}

// wake follows the watched links that see another rate than in the history once a link offers its members out, where
// in the history it offered them then. nil is as before; before has, by hop, what the link offered in the history so far.
func (r *replay) wake(ms []member, out, then, before []float64) {
	e := r.e
	r.waking = r.waking[:0]
	for i := range ms {
		m := &ms[i]
		if r.heard[m.flow] == 0 {
			continue
		}
		was, wasThen := e.limits[m.hop], before[m.hop]
		x, y := was, wasThen
		if out != nil {
			x = out[i]
		}
		if then != nil {
			y = then[i]
		}
		if x != was || y != wasThen {
			r.differ(m, x, y)
		}
	}
	for _, l := range r.waking {
		if r.role[l] == watched {
			r.follow(l)
		}
	}
}

// was is what a link offers in the history.
func (r *replay) was(hop int32) float64 {
	if r.role[r.e.hops[hop]] == followed {
		return r.then[hop]
	}
	return r.e.limits[hop]
}

// differ finds the watched links of a member's flow that see another rate than in the history when the member is
// offered x instead of y.
func (r *replay) differ(m *member, x, y float64) {
	e := r.e
	a, b := e.first[m.flow], e.first[m.flow+1]
	for k := a; k < b; k++ {
		if k == m.hop || r.role[e.hops[k]] != watched {
			continue
		}
		now, then := x, y
		for h := a; h < b; h++ {
			if h != k && h != m.hop {
				now, then = min(now, e.limits[h]), min(then, r.was(h))
			}
		}
		if most := e.most[m.flow]; min(now, most) != min(then, most) {
			r.waking = append(r.waking, e.hops[k])
		}
	}
}

// follow has a link visited anew from this moment on.
func (r *replay) follow(l int32) {
	e := r.e
	r.sync(l)
	r.role[l] = followed
	st, _, from := r.h.before(l, e.schedule.now)
	e.states[l], r.from[l] = st, from
	if st.queued {
		e.schedule.add(l)
	}
	if st.held {
		e.held = append(e.held, l)
	}
	lk := &e.links[l]
	for k := lk.first; k < lk.last; k++ {
		m := &e.members[k]
		r.then[m.hop] = e.limits[m.hop]
		if r.live[m.flow] {
			r.heard[m.flow]--
		} else {
			r.enliven(m.flow)
		}
	}
}

// enliven watches the links of a flow from this moment on.
func (r *replay) enliven(f int32) {
	if r.live[f] {
		return
	}
	r.live[f] = true
	r.lives = append(r.lives, f)
	for _, l := range r.e.hops[r.e.first[f]:r.e.first[f+1]] {
		if r.sync(l); r.role[l] == watched {
			r.heard[f]++
		}
	}
	r.e.compare(f)
}

// sync watches a link from this moment on.
func (r *replay) sync(l int32) {
	if r.role[l] != away {
		return
	}
	e := r.e
	r.role[l] = watched
	r.touched = append(r.touched, l)
	_, last, next := r.h.before(l, e.schedule.now)
	ms := e.members[e.links[l].first:e.links[l].last]
	if last == nil {
		for i := range ms {
			e.limits[ms[i].hop] = math.Inf(1)
		}
	} else {
		for i, x := range r.h.offersOf(l, last, len(ms)) {
			e.limits[ms[i].hop] = x
		}
	}
	r.watch(l, next)
}

// watch waits for a link's next visit in the history, from one of its events on.
func (r *replay) watch(l, from int32) {
	var ev *event
	if r.next[l], ev = r.h.visit(l, from); ev != nil {
		r.alarm.push(alarm{ev.at, l})
	}
}
