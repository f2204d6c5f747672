package fill

// event is something that happened to a link.
type event struct {
	at    moment
	spare float64 // of the link, after it
	// where is the link in a recorder, and in the record of a link the place of a visit's offers.
	where int32
	kind  eventKind
	held  bool // of a visit: the link is held
}

type eventKind uint8

const (
	wasVisited eventKind = iota
	wasQueued
	wasSpared // another link's visit left it less to spare
)

// recorder writes down what happens to links, as it happens.
type recorder struct {
	events []event
	blocks [][]float64 // offers of all visits, by member
	used   int         // blocks with offers; those behind are empty
	kept   int         // offers
}

// blockSize is how many offers a block of a recorder has, or more when a single link has more members.
const blockSize = 1 << 16

func newRecorder(members int) *recorder { return &recorder{events: make([]event, 0, members)} }

func (r *recorder) visited(now moment, l int32, st *state, offers []float64) {
	last := r.used - 1
	if last < 0 || cap(r.blocks[last])-len(r.blocks[last]) < len(offers) {
		last = r.block(len(offers))
	}
	r.events = append(r.events, event{at: now, where: l, kind: wasVisited, spare: st.spare, held: st.held})
	r.blocks[last] = append(r.blocks[last], offers...)
	r.kept += len(offers)
}

// block begins a block that has room for so many offers, one of those that were cleared where it can.
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
	r.events = append(r.events, event{at: now, where: l, kind: wasQueued, spare: spare})
}

func (r *recorder) spared(now moment, l int32, spare float64) {
	r.events = append(r.events, event{at: now, where: l, kind: wasSpared, spare: spare})
}

// each calls do for what was recorded, in the order in which it happened, with the offers of visits.
func (r *recorder) each(links []link, do func(ev *event, offers []float64)) {
	block, at := 0, 0
	for i := range r.events {
		ev := &r.events[i]
		if ev.kind != wasVisited {
			do(ev, nil)
			continue
		}
		n := int(links[ev.where].last - links[ev.where].first)
		if at+n > len(r.blocks[block]) {
			block, at = block+1, 0
		}
		do(ev, r.blocks[block][at:at+n])
		at += n
	}
}

// clear forgets what was recorded.
func (r *recorder) clear() {
	r.events, r.kept, r.used = r.events[:0], 0, 0
	for i := range r.blocks {
		r.blocks[i] = r.blocks[i][:0]
	}
}

// record is what happened to one link.
type record struct {
	events []event
	offers []float64 // of its visits
}

// history is what happened on the way to a sharing, by link: enough to know the state of any link at any moment.
type history struct {
	of   []record
	kept int // offers
}

// history sorts by link what was recorded.
func (r *recorder) history(links []link) *history {
	h := &history{of: make([]record, len(links)), kept: r.kept}
	count, offered := make([]int32, len(links)), make([]int32, len(links))
	r.each(links, func(ev *event, offers []float64) {
		count[ev.where]++
		offered[ev.where] += int32(len(offers))
	})
	events, offers := make([]event, len(r.events)), make([]float64, r.kept)
	for l := range h.of {
		n, m := count[l], offered[l]
		h.of[l] = record{events: events[:0:n], offers: offers[:0:m]}
		events, offers = events[n:], offers[m:]
	}
	r.each(links, h.add)
	return h
}

// add appends an event of a link, with the offers of a visit.
func (h *history) add(ev *event, offers []float64) {
	rec := &h.of[ev.where]
	rec.events = append(rec.events, *ev)
	rec.events[len(rec.events)-1].where = int32(len(rec.offers))
	rec.offers = append(rec.offers, offers...)
}

// cut drops what happened to a link from one of its events on.
func (h *history) cut(l, from int32) {
	rec := &h.of[l]
	for i := from; int(i) < len(rec.events); i++ {
		if ev := &rec.events[i]; ev.kind == wasVisited {
			h.kept -= len(rec.offers) - int(ev.where)
			rec.offers = rec.offers[:ev.where]
			break
		}
	}
	rec.events = rec.events[:from]
}

// offersOf lists what a link with so many members offered them since one of its visits.
func (h *history) offersOf(l int32, visit *event, members int) []float64 {
	return h.of[l].offers[visit.where : int(visit.where)+members]
}

// before finds the state of a link just before a moment, its last visit, nil when there was none, and which of its
// events is the next one.
func (h *history) before(l int32, now moment) (st state, last *event, next int32) {
	st = state{queued: true}
	queued := moment(0)
	events := h.of[l].events
	for i := range events {
		ev := &events[i]
		if ev.at >= now {
			return st, last, int32(i)
		}
		st.spare = ev.spare
		switch ev.kind {
		case wasVisited:
			// A link that has way left to go is scheduled again by its visit.
			st.queued = queued == ev.at
			st.held, last = ev.held && ev.at.phase() == now.phase(), ev
			st.visits++
		case wasQueued:
			queued, st.queued = ev.at, true
		}
	}
	return st, last, int32(len(events))
}

// visit finds the next visit of a link from one of its events on; nil when there is none.
func (h *history) visit(l, from int32) (at int32, ev *event) {
	events := h.of[l].events
	for from < int32(len(events)) && events[from].kind != wasVisited {
		from++
	}
	if from == int32(len(events)) {
		return from, nil
	}
	return from, &events[from]
}
