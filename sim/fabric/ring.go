package fabric

import "fairlane/internal/quantity"

// ring is a FIFO queue of values in a circular buffer that grows by doubling.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

func (r *ring[T]) front() *T { return &r.buf[r.head] }

func (r *ring[T]) at(i int) *T { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *ring[T]) push(v T) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = v
	r.n++
}

func (r *ring[T]) pop() T {
	v := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return v
}

func (r *ring[T]) grow() {
	buf := make([]T, max(8, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = *r.at(i)
	}
	r.buf, r.head = buf, 0
}

func (r *ring[T]) clear() { r.head, r.n = 0, 0 }

// flight is a packet on a link, and the time at which the peer has received it completely.
type flight struct {
	at  quantity.Picoseconds
	pkt int32
}

// credit is buffer space that returns to the sender.
type credit struct {
	at     quantity.Picoseconds
	blocks int32
	vl     uint8
}

// insertCredit inserts a credit into a ring sorted by time. Outputs of different speeds free the buffers of one input out of
// order, but seldom by more than one or two positions.
func insertCredit(r *ring[credit], c credit) {
	r.push(c)
	for i := r.n - 1; i > 0; i-- {
		prev, cur := r.at(i-1), r.at(i)
		if prev.at <= cur.at {
			return
		}
		*prev, *cur = *cur, *prev
	}
}
