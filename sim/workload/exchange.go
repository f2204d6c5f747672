package workload

import "slices"

// exchange is the schedule of an all-to-all exchange: rank r sends to r+1, r+2 and so on, with a limited number of messages in
// flight. Flow r·(n-1) + k-1 is the message to rank r+k.
type exchange struct {
	n, window int
	bytes     int64
	next      []int32 // next k of each rank
	flying    []int32 // values of k in flight: window entries per rank, 0 means free
}

func newExchange(n int, bytes int64, window int) *exchange {
	return &exchange{n: n, window: window, bytes: bytes, next: make([]int32, n), flying: make([]int32, n*window)}
}

func (x *exchange) flows() int64 { return int64(x.n) * int64(x.n-1) }

func (x *exchange) numbers() int64 { return x.flows() }

func (x *exchange) reset() {
	for r := range x.next {
		x.next[r] = 1
	}
	clear(x.flying)
}

func (x *exchange) start(out *emitter) {
	for range x.window {
		for r := range x.n {
			x.try(r, out)
		}
	}
}

func (x *exchange) done(flow int64, out *emitter) bool {
	r, k := int(flow/int64(x.n-1)), int32(flow%int64(x.n-1))+1
	places := x.flying[r*x.window : (r+1)*x.window]
	i := slices.Index(places, k)
	if i < 0 {
		return false
	}
	places[i] = 0
	x.try(r, out)
	return true
}

// try starts the next message of a rank if it has a free entry.
func (x *exchange) try(r int, out *emitter) {
	k := x.next[r]
	free := slices.Index(x.flying[r*x.window:(r+1)*x.window], 0)
	if int(k) == x.n || free < 0 {
		return
	}
	x.next[r]++
	x.flying[r*x.window+free] = k
	to := (r + int(k)) % x.n
	out.emit(int64(r)*int64(x.n-1)+int64(k)-1, r, to, part(x.bytes, to, x.n))
}
