package sim

import (
	"math/bits"
	"slices"

	"fairlane/internal/quantity"
)

// Sizes of the Wheel, chosen by measurement (BenchmarkWheel and the packet models). A fine slot is a tenth of the transmission
// time of a small packet, the fine level covers the round trip of a link, and the coarse level covers the timers of all models.
const (
	slotWidth  = 9  // log2 of the picoseconds of a fine slot: 0.512 ns
	fineBits   = 13 // log2 of the number of fine slots: 4.2 us in total
	coarseBits = 10 // log2 of the number of coarse slots: 4.3 ms in total

	fineSlots   = 1 << fineBits
	coarseSlots = 1 << coarseBits
)

// Wheel is a priority queue of events with exactly the order of Queue: time, then sequence of Push. The zero value is an empty
// wheel. It is a hierarchical timing wheel (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 7)
// of two levels. Push files an event by its time without comparing it with others; only the few events of the current slot are
// kept in order. Events filed before the slot became current are sorted once; later ones go into a small heap. Push and Pop
// take constant time as long as few events share half a nanosecond. A wheel takes about 38 KB plus 32 bytes for each pending
// event, and does not allocate once it has reached its working size.
//
// Events beyond the 4.3 ms of the coarse level wait in a separate heap. Each level covers the aligned span that contains the
// current slot, so an event moves inwards at most twice.
//
// Push is fastest for events later than the last popped event, as in an Engine; the order is exact for any sequence of pushes.
type Wheel struct {
	slot int64   // the current fine slot; run and near hold every event up to its end
	run  []Event // events filed before the slot became current, last event first
	near Queue   // events filed since the slot became current
	far  Queue   // events beyond the coarse level
	n    int
	seq  uint64

	free   int32 // list of unused nodes; 0 ends it
	nodes  []wheelNode
	fine   [fineSlots]int32 // unordered lists of nodes; 0 ends a list
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

// Reserve reserves a sequence number for an event that PushReserved adds later.
func (w *Wheel) Reserve() uint64 {
	w.seq++
	return w.seq
}

// PushReserved adds an event. Among events of the same time, it leaves the wheel as if it had been pushed when its sequence
// number was reserved.
func (w *Wheel) PushReserved(at quantity.Picoseconds, place uint64, kind uint8, a, b int32) {
	w.n++
	w.file(Event{At: at, ord: place<<8 | uint64(kind), A: a, B: b})
}

// Pop removes and returns the earliest event; ok is false when the wheel is empty.
func (w *Wheel) Pop() (ev Event, ok bool) { return w.PopUntil(Never) }

// PopUntil removes and returns the earliest event if it is due at or before t. It never advances the wheel beyond t.
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
		if nd.next == 0 { // the slot's only event, the usual case: no sorting needed
			w.n--
			nd.next = w.free
			w.free = k
			return nd.ev, true
		}
		w.serve(k)
	}
	return w.popNear(t)
}

// popNear is PopUntil for the events of the current slot, which must not be empty.
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

// NextAt returns the time of the earliest event, or Never when the wheel is empty. It searches the events of one slot.
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

// earliest returns the earliest time in a list of events.
func (w *Wheel) earliest(i int32) quantity.Picoseconds {
	at := Never
	for ; i != 0; i = w.nodes[i].next {
		at = min(at, w.nodes[i].ev.At)
	}
	return at
}

// file puts an event into its level and slot, relative to the current slot.
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

// fewEvents is the largest number of events in a slot that are sorted by insertion. The list of a slot starts with the event
// pushed last, so events of the same instant, the usual reason for several events in a slot, are already in order.
const fewEvents = 48

// serve moves a list of events to run, which must be empty.
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
			return -1 // sequence numbers are unique
		})
	}
	w.run = run
}

// approach advances to the next events beyond the fine level, unless they are later than t, and files them at a finer level.
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

// spread files the events of a coarse slot in the fine level when the slot becomes current.
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

// approachFar advances to the earliest event of the far heap, unless it is later than t, and files all far events that the
// levels then cover.
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

// nextSlot returns the first slot at or after i whose bit is set, or -1.
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
