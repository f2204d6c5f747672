package reproduce

import (
	"cmp"
	"context"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
	"fairlane/subnet/topogen"
)

// S3's fat tree (4.4.2): the time in which flows start, the number of incasts in that time (a Poisson process with a mean of
// 26.67), the number of hosts, and the fan-in of an incast.
const (
	s3Span   = 10 * quantity.Millisecond
	s3Bursts = 34
	s3Hosts  = 320
	s3FanIn  = 60
)

// s3Traffic returns the flows that start within a time: Hadoop sizes at 30 % of the hosts' links between random hosts, and
// bursts of 60 hosts that send 500 KB each to one host. Bursts start at uniformly random times, which is a Poisson process
// with a known count.
func s3Traffic(seed uint64, span quantity.Picoseconds) ([]workload.Arrival, error) {
	all := workload.HostRange(0, s3Hosts)
	pairs, err := workload.AnyPair(all)
	if err != nil {
		return nil, err
	}
	normal, err := workload.NewPoisson(workload.PoissonOptions{
		Seed: seed, Pairs: pairs, Sizes: workload.FacebookHadoop(),
		Capacity: s3Hosts * 100 * quantity.Gbps, Load: 0.3, Until: span,
	})
	if err != nil {
		return nil, err
	}
	var out []workload.Arrival
	for a, ok := normal.Next(); ok; a, ok = normal.Next() {
		out = append(out, a)
	}
	rng := sim.NewRNG(sim.Hash(seed, s3FanIn))
	for range max(1, s3Bursts*int64(span)/int64(s3Span)) {
		at := quantity.Picoseconds(rng.Uint64n(uint64(span)))
		for i := range s3FanIn + 1 {
			j := i + int(rng.Uint64n(uint64(s3Hosts-i)))
			all[i], all[j] = all[j], all[i]
		}
		for _, src := range all[1 : s3FanIn+1] {
			out = append(out, workload.Arrival{At: at, Src: src, Dst: all[0], Bytes: 500e3, Label: workload.Label{Tag: tagBurst}})
		}
	}
	slices.SortStableFunc(out, func(a, b workload.Arrival) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// tagBurst is the tag of incast flows.
const tagBurst = 1

// finished holds the size and the slowdown of a completed flow.
type finished struct {
	bytes    int64
	slowdown float64
}

// slowdownRun holds the results of one algorithm in the fat tree.
type slowdownRun struct {
	normal, burst []finished
	pauses        uint64
	dropped       uint64
	hops          uint64
	end           quantity.Picoseconds
}

// runSlowdown sends the traffic through the fat tree. Slowdowns below 1 count as 1, as in the simulator's evaluation script:
// truncation of times to nanoseconds makes links slightly faster.
func runSlowdown(ctx context.Context, c s3Control, seed uint64, flows []workload.Arrival) (*slowdownRun, error) {
	topo, err := topogen.FatTree320()
	if err != nil {
		return nil, err
	}
	alg, err := c.build()
	if err != nil {
		return nil, err
	}
	r := &slowdownRun{}
	n, err := c.network(topo, seed, alg, func(d ether.Done) {
		f := finished{d.Bytes, max(1, d.Slowdown())}
		if d.Tenant == tagBurst {
			r.burst = append(r.burst, f)
		} else {
			r.normal = append(r.normal, f)
		}
	})
	if err != nil {
		return nil, err
	}
	if err := n.SetSource(&arrivals{flows}); err != nil {
		return nil, err
	}
	if err := runToEnd(ctx, n); err != nil {
		return nil, err
	}
	st := n.Stats()
	r.pauses, r.dropped, r.hops, r.end = st.Pauses, st.DroppedPackets, st.PacketHops, st.LastDone
	return r, nil
}

// arrivals passes flows to a network one by one.
type arrivals struct{ rest []workload.Arrival }

func (s *arrivals) Next() (ether.FlowSpec, bool) {
	if len(s.rest) == 0 {
		return ether.FlowSpec{}, false
	}
	a, id := s.rest[0], int64(len(s.rest))
	s.rest = s.rest[1:]
	return ether.FlowSpec{
		ID: id, Src: a.Src, Dst: a.Dst, Bytes: a.Bytes, Start: a.At, Tenant: uint16(a.Tag), Entropy: uint32(id),
	}, true
}

// sizeBin is one of twenty bins of flows by size.
type sizeBin struct {
	upTo int64   // largest size in the bin
	p95  float64 // p95 slowdown
}

// bySize divides the flows, in the order of their size, into twenty bins of equal number, as the evaluation script of the
// HPCC simulator does. S3's table 8 has these bins.
func bySize(flows []finished) []sizeBin {
	flows = slices.Clone(flows)
	slices.SortStableFunc(flows, func(a, b finished) int { return cmp.Compare(a.bytes, b.bytes) })
	const parts = 20
	var out []sizeBin
	for i := range parts {
		part := flows[i*len(flows)/parts : (i+1)*len(flows)/parts]
		if len(part) == 0 {
			continue
		}
		b := sizeBin{upTo: part[len(part)-1].bytes}
		slow := make([]float64, 0, len(part))
		for _, f := range part {
			slow = append(slow, f.slowdown)
		}
		slices.Sort(slow)
		b.p95 = slow[len(slow)*95/100]
		out = append(out, b)
	}
	return out
}
