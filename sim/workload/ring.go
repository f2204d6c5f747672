package workload

// ring is the schedule of ring collectives. In step s, rank r sends one part of the vector to rank r+1, after it has received
// this part in step s-1 and after its own step s-1 is complete. Flow r·steps + s is step s of rank r.
type ring struct {
	n, steps  int
	bytes     int64
	started   []int32 // number of started steps, by rank
	delivered []int32
}

func newRing(kind CollectiveKind, n int, bytes int64) *ring {
	r := &ring{n: n, steps: n - 1, bytes: bytes, started: make([]int32, n), delivered: make([]int32, n)}
	if kind == RingAllReduce {
		r.steps = 2 * (n - 1)
	}
	return r
}

func (r *ring) flows() int64 { return int64(r.n) * int64(r.steps) }

func (r *ring) numbers() int64 { return r.flows() }

func (r *ring) reset() {
	clear(r.started)
	clear(r.delivered)
}

func (r *ring) start(out *emitter) {
	for rank := range r.n {
		r.try(rank, out)
	}
}

func (r *ring) done(flow int64, out *emitter) bool {
	rank, step := int(flow/int64(r.steps)), int32(flow%int64(r.steps))
	if r.delivered[rank] != step || r.started[rank] != step+1 {
		return false
	}
	r.delivered[rank]++
	r.try(rank, out)
	r.try((rank+1)%r.n, out)
	return true
}

// try starts the next step of a rank if it may start.
func (r *ring) try(rank int, out *emitter) {
	step := r.started[rank]
	before := (rank + r.n - 1) % r.n
	if int(step) == r.steps || r.delivered[rank] < step || r.delivered[before] < step {
		return
	}
	r.started[rank]++
	out.emit(int64(rank)*int64(r.steps)+int64(step), rank, (rank+1)%r.n, part(r.bytes, r.part(rank, int(step)), r.n))
}

// part returns the part of the vector that a rank sends in a step: its own part in step 0, and then the part received last.
// Parts move by one rank per step, so the index is rank - step, modulo n.
func (r *ring) part(rank, step int) int {
	return (rank + 2*r.n - step) % r.n
}
