package fill

import "sort"

// event is a recorded event of a link.
type event struct {
	at    moment
	spare float64 // of the link, after the event
	link  int32
	kind  eventKind
	held  bool // of a visit: the link is held
}

type eventKind uint8

const (
	wasVisited eventKind = iota
	wasQueued
	wasSpared // another link's visit reduced its spare
)

// recorder records the events of links as they happen.
type recorder struct {
	events []event
	blocks [][]float64 // offers of all visits, by member
	used   int         // blocks with offers; the later ones are empty
	kept   int         // offers
}

// blockSize is the number of offers in a block, or more if a single link has more members.
const blockSize = 1 << 16

func newRecorder(members int) *recorder { return &recorder{events: make([]event, 0, members)} }

func (r *recorder) visited(now moment, l int32, st *linkState, offers []float64) {
	last := r.used - 1
	if last < 0 || cap(r.blocks[last])-len(r.blocks[last]) < len(offers) {
		last = r.block(len(offers))
	}
	r.events = append(r.events, event{at: now, link: l, kind: wasVisited, spare: st.spare, held: st.held})
	r.blocks[last] = append(r.blocks[last], offers...)
	r.kept += len(offers)
}

// block begins a block with room for n offers. It reuses a cleared one where possible.
func (r *recorder) block(room int) int {
	room = max(blockSize, room)
	switch {
	case r.used == len(r.blocks):
		r.blocks = append(r.blocks, make([]float64, 0, room))
	case cap(r.blocks[r.used]) < room:
		r.blocks[r.used] = make([]float64, 0, room)
	}
	r.used++
	return r.used - 1
}

func (r *recorder) queued(now moment, l int32, spare float64) {
	r.events = append(r.events, event{at: now, link: l, kind: wasQueued, spare: spare})
}

func (r *recorder) spared(now moment, l int32, spare float64) {
	r.events = append(r.events, event{at: now, link: l, kind: wasSpared, spare: spare})
}

// each calls do for every recorded event in order, with the offers of visits.
func (r *recorder) each(links []link, do func(ev *event, offers []float64)) {
	block, at := 0, 0
	for i := range r.events {
		ev := &r.events[i]
		if ev.kind != wasVisited {
			do(ev, nil)
			continue
		}
		n := int(links[ev.link].last - links[ev.link].first)
		if at+n > len(r.blocks[block]) {
			block, at = block+1, 0
		}
		do(ev, r.blocks[block][at:at+n])
		at += n
	}
}

// clear discards the recording.
func (r *recorder) clear() {
	r.events, r.kept, r.used = r.events[:0], 0, 0
	for i := range r.blocks {
		r.blocks[i] = r.blocks[i][:0]
	}
}

// visit is a visit of a link. change is an event between its visits: the link was queued, or another link's visit reduced its spare. A link
// whose step is unfinished is queued again by its own visit, at the same moment.
type (
	visit struct {
		at    moment
		spare float64 // of the link, after the event
		held  bool    // the link is held
	}
	change struct {
		at     moment
		spare  float64
		queued bool
	}
)

// record holds the events of one link. The offers of its visits follow each other.
type record struct {
	visits  []visit
	changes []change
	offers  []float64
}

// history holds the events that led to a solution, by link: enough to derive the state of any link at any moment.
type history struct {
	of   []record
	kept int // offers
}

// history sorts the recording by link.
func (r *recorder) history(links []link) *history {
	h := &history{of: make([]record, len(links)), kept: r.kept}
	visited, changed, all := make([]int32, len(links)), make([]int32, len(links)), 0
	for i := range r.events {
		if ev := &r.events[i]; ev.kind == wasVisited {
			visited[ev.link]++
			all++
		} else {
			changed[ev.link]++
		}
	}
	visits, changes, offers := make([]visit, all), make([]change, len(r.events)-all), make([]float64, r.kept)
	for l := range h.of {
		n, m := visited[l], changed[l]
		k := n * (links[l].last - links[l].first)
		h.of[l] = record{visits: visits[:0:n], changes: changes[:0:m], offers: offers[:0:k]}
		visits, changes, offers = visits[n:], changes[m:], offers[k:]
	}
	r.each(links, h.add)
	return h
}

// add appends an event of a link, with the offers of a visit.
func (h *history) add(ev *event, offers []float64) {
	rec := &h.of[ev.link]
	if ev.kind != wasVisited {
		rec.changes = append(rec.changes, change{ev.at, ev.spare, ev.kind == wasQueued})
		return
	}
	rec.visits = append(rec.visits, visit{ev.at, ev.spare, ev.held})
	rec.offers = append(rec.offers, offers...)
}

// truncate drops the events of a link with n members, from the given visit and the given change on.
func (h *history) truncate(l int32, members int, visits, changes int32) {
	rec := &h.of[l]
	h.kept -= len(rec.offers) - int(visits)*members
	rec.visits, rec.changes, rec.offers = rec.visits[:visits], rec.changes[:changes], rec.offers[:int(visits)*members]
}

// visits counts the visits of a link before a moment.
func (h *history) visits(l int32, now moment) int32 {
	visits := h.of[l].visits
	for i := range visits {
		if visits[i].at >= now {
			return int32(i)
		}
	}
	return int32(len(visits))
}

// before returns the state of a link just before a moment, whether it waits, and the number of its changes until then, given the number of its
// visits.
func (h *history) before(l, visits int32, now moment) (st linkState, queued bool, changes int32) {
	rec := &h.of[l]
	st, queued = linkState{visits: visits}, true
	last := moment(0)
	if visits > 0 {
		v := &rec.visits[visits-1]
		last, queued = v.at, false
		st.spare, st.held = v.spare, v.held && v.at.phase() == now.phase()
	}
	end := sort.Search(len(rec.changes), func(i int) bool { return rec.changes[i].at >= now })
	if end > 0 && rec.changes[end-1].at >= last {
		st.spare = rec.changes[end-1].spare
	}
	for i := end - 1; i >= 0 && !queued && rec.changes[i].at >= last; i-- {
		queued = rec.changes[i].queued
	}
	return st, queued, int32(end)
}
