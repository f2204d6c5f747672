package sim

import (
	"math/bits"
	"slices"

	"fairlane/internal/quantity"
)

// Sizes of the Wheel, chosen by measurement (BenchmarkWheel, and the packet models): a fine slot is a
// tenth of the transmission time of a small packet, the fine level spans the round trip of a link, and the
// coarse level spans whatever timers a model has.
const (
	slotWidth  = 9  // log2 of the picoseconds of a fine slot: 0.512 ns
	fineBits   = 13 // log2 of the number of fine slots: 4.2 us in all
	coarseBits = 10 // log2 of the number of coarse slots: 4.3 ms in all

	fineSlots   = 1 << fineBits
	coarseSlots = 1 << coarseBits
)

// Wheel is a priority queue of events with exactly the order of Queue: time, then sequence of
// Push. The zero value is an empty wheel. It is a hierarchical timing wheel (Varghese and
// Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7) of two levels: an event
// is filed under its instant without looking at the others, and only the few events of the
// slot that is being served are kept in order: those filed before it was are sorted once, those
// that come while it is go into a small heap. Push and Pop take constant time
// as long as few events share half a nanosecond. A wheel takes some 38 KB and 32 bytes for each
// event pending, and does not allocate once it has grown to its working size.
//
// Events beyond the 4.3 ms of the coarse level wait in a heap of their own. Each level covers
// the aligned span that the slot now served lies in, so an event moves inwards at most twice.
//
// It is fastest when events are pushed after the latest event popped, as an Engine does; the
// order is exact however they come.
type Wheel struct {
	slot int64   // the fine slot served now; run and near hold every event up to its end
	run  []Event // filed before it was served, the last one first
	near Queue   // filed since
	far  Queue   // beyond the coarse level
	n    int
	seq  uint64

	free   int32 // list of unused nodes, 0 is none
	nodes  []wheelNode
	fine   [fineSlots]int32 // lists of nodes, in no order; 0 is none
	coarse [coarseSlots]int32

	fineUsed   [fineSlots / 64]uint64 // slots that hold events
	coarseUsed [coarseSlots / 64]uint64
}

// wheelNode is an event filed in a slot. Node 0 is not used.
type wheelNode struct {
	ev   Event
	next int32
}

// Len returns the number of events in the wheel.
func (w *Wheel) Len() int { return w.n }

// Push adds an event. Two events of the same time leave the wheel in the order they entered.
func (w *Wheel) Push(at quantity.Picoseconds, kind uint8, a, b int32) {
	w.seq++
	w.n++
	w.file(Event{At: at, ord: w.seq<<8 | uint64(kind), A: a, B: b})
}

// Reserve takes a place in the sequence for an event that PushReserved adds later.
func (w *Wheel) Reserve() uint64 {
	w.seq++
	return w.seq
}

// PushReserved adds an event that leaves the wheel, among those of its time, as if it had been
// pushed when its place was reserved.
func (w *Wheel) PushReserved(at quantity.Picoseconds, place uint64, kind uint8, a, b int32) {
	w.n++
	w.file(Event{At: at, ord: place<<8 | uint64(kind), A: a, B: b})
}

// Pop removes and returns the earliest event; ok is false when the wheel is empty.
func (w *Wheel) Pop() (ev Event, ok bool) { return w.PopUntil(Never) }

// PopUntil removes and returns the earliest event if it is due at t or before. It never
// advances the wheel beyond t.
func (w *Wheel) PopUntil(t quantity.Picoseconds) (ev Event, ok bool) {
	for len(w.near.heap) == 0 && len(w.run) == 0 {
		i := nextSlot(w.fineUsed[:], int(w.slot&(fineSlots-1))+1)
		if i < 0 {
			if !w.approach(t) {
				return Event{}, false
			}
			continue
		}
		s := w.slot&^(fineSlots-1) | int64(i)
		k := w.fine[i]
		nd := &w.nodes[k]
		if s > int64(t)>>slotWidth || nd.next == 0 && nd.ev.At > t {
			return Event{}, false
		}
		w.slot = s
		w.fineUsed[i>>6] &^= 1 << (i & 63)
		w.fine[i] = 0
		if nd.next == 0 { // alone in its slot, as most events are: no order to find
			w.n--
			nd.next = w.free
			w.free = k
			return nd.ev, true
		}
		w.serve(k)
	}
	return w.popNear(t)
}

// popNear is PopUntil among the events of the slot served now; there are some.
func (w *Wheel) popNear(t quantity.Picoseconds) (ev Event, ok bool) {
	if k := len(w.run); k > 0 {
		if next := &w.run[k-1]; len(w.near.heap) == 0 || next.before(&w.near.heap[0]) {
			if next.At > t {
				return Event{}, false
			}
			w.n--
			w.run = w.run[:k-1]
			return *next, true
		}
	}
	if w.near.heap[0].At > t {
		return Event{}, false
	}
	w.n--
	return w.near.Pop()
}

// NextAt returns the time of the earliest event, or Never when there is none. It looks through
// the events of one slot.
func (w *Wheel) NextAt() quantity.Picoseconds {
	if k := len(w.run); k > 0 {
		return min(w.run[k-1].At, w.near.NextAt())
	}
	if len(w.near.heap) > 0 {
		return w.near.heap[0].At
	}
	if i := nextSlot(w.fineUsed[:], int(w.slot&(fineSlots-1))+1); i >= 0 {
		return w.earliest(w.fine[i])
	}
	if i := nextSlot(w.coarseUsed[:], int(w.slot>>fineBits&(coarseSlots-1))+1); i >= 0 {
		return w.earliest(w.coarse[i])
	}
	return w.far.NextAt()
}

// earliest returns the first time among the events of a list.
func (w *Wheel) earliest(i int32) quantity.Picoseconds {
	at := Never
	for ; i != 0; i = w.nodes[i].next {
		at = min(at, w.nodes[i].ev.At)
	}
	return at
}

// file puts an event where its instant belongs, as seen from the slot served now.
func (w *Wheel) file(ev Event) {
	s := int64(ev.At) >> slotWidth
	switch apart := uint64(s ^ w.slot); {
	case s <= w.slot:
		w.near.insert(ev)
	case apart < fineSlots:
		i := s & (fineSlots - 1)
		w.fineUsed[i>>6] |= 1 << (i & 63)
		w.link(&w.fine[i], ev)
	case apart < fineSlots*coarseSlots:
		i := s >> fineBits & (coarseSlots - 1)
		w.coarseUsed[i>>6] |= 1 << (i & 63)
		w.link(&w.coarse[i], ev)
	default:
		w.far.insert(ev)
	}
}

// link adds an event to a list.
func (w *Wheel) link(head *int32, ev Event) {
	i := w.free
	if i == 0 {
		i = w.grow()
	} else {
		w.free = w.nodes[i].next
	}
	w.nodes[i] = wheelNode{ev, *head}
	*head = i
}

// grow returns a new node.
func (w *Wheel) grow() int32 {
	if len(w.nodes) == 0 {
		w.nodes = append(w.nodes, wheelNode{})
	}
	w.nodes = append(w.nodes, wheelNode{})
	return int32(len(w.nodes) - 1)
}

// fewEvents is how many events of a slot are sorted by insertion. The list of a slot has the last one pushed
// first, so that events of one instant, the usual reason why a slot has several, are in order already.
const fewEvents = 48

// serve moves a list of events to run, which is empty.
func (w *Wheel) serve(k int32) {
	run := w.run[:0]
	for k != 0 {
		nd := &w.nodes[k]
		ev, next := nd.ev, nd.next
		nd.next = w.free
		w.free = k
		k = next
		run = append(run, ev)
		if i := len(run) - 1; i > 0 && i < fewEvents && run[i-1].before(&ev) {
			for ; i > 0 && run[i-1].before(&ev); i-- {
				run[i] = run[i-1]
			}
			run[i] = ev
		}
	}
	if len(run) > fewEvents {
		slices.SortFunc(run, func(a, b Event) int {
			if a.before(&b) {
				return 1
			}
			return -1 // no two events have one place
		})
	}
	w.run = run
}

// approach moves on to the next events beyond the fine level, unless they come after t, and
// files them closer by.
func (w *Wheel) approach(t quantity.Picoseconds) bool {
	i := nextSlot(w.coarseUsed[:], int(w.slot>>fineBits&(coarseSlots-1))+1)
	if i < 0 {
		return w.approachFar(t)
	}
	s := w.slot>>fineBits&^(coarseSlots-1) | int64(i)
	if s > int64(t)>>(slotWidth+fineBits) {
		return false
	}
	w.slot = s << fineBits
	w.spread(i)
	return true
}

// spread files the events of a coarse slot anew, now that it is the one served.
func (w *Wheel) spread(i int) {
	w.coarseUsed[i>>6] &^= 1 << (i & 63)
	k := w.coarse[i]
	w.coarse[i] = 0
	for k != 0 {
		nd := &w.nodes[k]
		ev, next := nd.ev, nd.next
		nd.next = w.free
		w.free = k
		w.file(ev)
		k = next
	}
}

// approachFar moves on to the earliest of the far events, unless it comes after t, and files
// all that the levels then cover.
func (w *Wheel) approachFar(t quantity.Picoseconds) bool {
	if w.far.Len() == 0 || w.far.NextAt() > t {
		return false
	}
	w.slot = int64(w.far.NextAt()) >> slotWidth
	const span = slotWidth + fineBits + coarseBits
	for turn := int64(w.far.NextAt()) >> span; w.far.Len() > 0 && int64(w.far.NextAt())>>span == turn; {
		ev, _ := w.far.Pop()
		w.file(ev)
	}
	return true
}

// nextSlot returns the first slot from i on whose bit is set, or -1.
func nextSlot(used []uint64, i int) int {
	k := i >> 6
	if k >= len(used) {
		return -1
	}
	if m := used[k] >> (i & 63); m != 0 {
		return i + bits.TrailingZeros64(m)
	}
	for k++; k < len(used); k++ {
		if used[k] != 0 {
			return k<<6 + bits.TrailingZeros64(used[k])
		}
	}
	return -1
}
