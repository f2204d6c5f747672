package dci

import "fairlane/internal/quantity"

// readyHeap orders the VOQs that hold packets by the earliest departure of their first packet, then by number. It is a binary
// heap with the position of each VOQ, so any VOQ can be removed.
type readyHeap struct {
	heap  []readyVOQ
	place []int32 // position of each VOQ in the heap
}

type readyVOQ struct {
	at    quantity.Picoseconds
	queue int32
}

func newReadyHeap(n int) readyHeap {
	return readyHeap{heap: make([]readyVOQ, 0, n), place: make([]int32, n)}
}

func (h *readyHeap) top() (queue int32, at quantity.Picoseconds, ok bool) {
	if len(h.heap) == 0 {
		return -1, 0, false
	}
	return h.heap[0].queue, h.heap[0].at, true
}

func (h *readyHeap) push(queue int32, at quantity.Picoseconds) {
	h.heap = append(h.heap, readyVOQ{at, queue})
	h.place[queue] = int32(len(h.heap) - 1)
	h.up(len(h.heap) - 1)
}

// remove removes a queue that is in the heap.
func (h *readyHeap) remove(queue int32) {
	i := int(h.place[queue])
	last := len(h.heap) - 1
	h.swap(i, last)
	h.heap = h.heap[:last]
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h *readyHeap) less(i, j int) bool {
	a, b := h.heap[i], h.heap[j]
	return a.at < b.at || a.at == b.at && a.queue < b.queue
}

func (h *readyHeap) swap(i, j int) {
	h.heap[i], h.heap[j] = h.heap[j], h.heap[i]
	h.place[h.heap[i].queue], h.place[h.heap[j].queue] = int32(i), int32(j)
}

func (h *readyHeap) up(i int) {
	for i > 0 && h.less(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (h *readyHeap) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(h.heap) {
			return
		}
		if c+1 < len(h.heap) && h.less(c+1, c) {
			c++
		}
		if !h.less(c, i) {
			return
		}
		h.swap(i, c)
		i = c
	}
}
