package fill

// event is something that happened to a link.
type event struct {
	at     moment
	spare  float64 // of the link, after it
	link   int32
	block  int32 // of a visit: where the link's offers are: the block of the history
	offers int32 // and where in it they begin
	kind   eventKind
	held   bool // of a visit: the link is held
}

type eventKind uint8

const (
	wasVisited eventKind = iota
	wasQueued
	wasSpared // another link's visit left it less to spare
)

// history is what happened on the way to a sharing: enough to know the state of any link at any moment.
type history struct {
	events []event
	blocks [][]float64 // offers of all visits, by member
	kept   int         // how many
	first  []int32     // by link, and one more: where in order its events begin
	order  []int32     // events by link, as they happened
}

// blockSize is how many offers a block of a history has, or more when a single link has more members.
const blockSize = 1 << 16

func newHistory(members int) *history { return &history{events: make([]event, 0, members)} }

func (h *history) visited(now moment, l int32, st *state, offers []float64) {
	last := len(h.blocks) - 1
	if last < 0 || cap(h.blocks[last])-len(h.blocks[last]) < len(offers) {
		h.blocks = append(h.blocks, make([]float64, 0, max(blockSize, len(offers))))
		last++
	}
	h.events = append(h.events, event{at: now, link: l, kind: wasVisited, spare: st.spare, held: st.held, block: int32(last), offers: int32(len(h.blocks[last]))})
	h.blocks[last] = append(h.blocks[last], offers...)
	h.kept += len(offers)
}

// offersOf lists what a link with so many members offered them since a visit.
func (h *history) offersOf(visit *event, members int) []float64 {
	return h.blocks[visit.block][visit.offers : int(visit.offers)+members]
}

func (h *history) queued(now moment, l int32, spare float64) {
	h.events = append(h.events, event{at: now, link: l, kind: wasQueued, spare: spare})
}

func (h *history) spared(now moment, l int32, spare float64) {
	h.events = append(h.events, event{at: now, link: l, kind: wasSpared, spare: spare})
}

// index sorts the events by link.
func (h *history) index(links int) {
	h.first, h.order = make([]int32, links+1), make([]int32, len(h.events))
	for i := range h.events {
		h.first[h.events[i].link+1]++
	}
	for l := range links {
		h.first[l+1] += h.first[l]
	}
	next := append([]int32(nil), h.first[:links]...)
	for i := range h.events {
		l := h.events[i].link
		h.order[next[l]] = int32(i)
		next[l]++
	}
}

// before finds the state of a link just before a moment, its last visit, nil when there was none, and which of its
// events is the next one.
func (h *history) before(l int32, now moment) (st state, last *event, next int32) {
	st = state{queued: true}
	queued := moment(0)
	for next = h.first[l]; next < h.first[l+1]; next++ {
		ev := &h.events[h.order[next]]
		if ev.at >= now {
			break
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
	return st, last, next
}

// visit finds the next visit of a link from one of its events on; h.first[l+1] when there is none.
func (h *history) visit(l, next int32) int32 {
	for next < h.first[l+1] && h.events[h.order[next]].kind != wasVisited {
		next++
	}
	return next
}
