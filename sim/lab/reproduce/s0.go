package reproduce

import (
	"context"
	"slices"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/workload"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
	"fairlane/wrcc"
)

// S0 used the simulator of the HPCC paper (4.1.1), with two data centres connected by a long link. Where S0 gives no value,
// we use the value of that simulator: the constants and marking thresholds of its scripts and, for HPCC, one base round trip
// time for all flows, that of the longest path. The other open values are fields of s0Traffic. If there are two readings,
// both are run.

// Long link of S0's simulations.
const (
	s0LongRate  = 400 * quantity.Gbps
	s0LongDelay = quantity.Millisecond
	s0LocalRTT  = 12 * quantity.Microsecond // largest base round trip inside a data centre
	s0Period    = 2 * s0LocalRTT            // WRCCT unless varied
)

// Buffers of S0's switches (4.1.1). The threshold of a DCI switch must keep the long link busy for a round trip after a
// resume, and the buffer above it must hold the packets that arrive after a pause: 400 Gbit/s times 2 ms is 100 MB for each
// of the two. With a headroom of 1.5 times 100 MB, 95 MB remain for the threshold.
const (
	s0Buffer       = 16 << 20
	s0DCIBuffer    = 250_000_000
	s0DCIThreshold = 95_000_000
)

// s0Control is a congestion control in S0's configuration.
type s0Control struct {
	label  string // label of its rows
	name   string // name in package cc
	values map[string]string
	global bool                 // flows use the longest base round trip time instead of that of their path
	bicc   bool                 // DCI switches run BiCC
	margin float64              // margin of fast notifications
	period quantity.Picoseconds // WRCCT of WRCC's switches; 0 means no WRCC
	cnps   bool                 // receivers answer marks with CNPs, one per 50 us, instead of marked ACKs
	alpha  float64              // fraction of the free buffer that an ingress port may hold; 0 means 1/8
	flat   bool                 // marking thresholds of 100 and 400 KB at every rate instead of at 25 Gbit/s
}

// s0WRCC returns WRCC with a period.
func s0WRCC(period quantity.Picoseconds) s0Control {
	return s0Control{label: "wrcc", name: "wrcc", period: period, values: map[string]string{"t1": period.String()}}
}

// s0Controls returns the controls that S0 compares, WRCC first.
func s0Controls(period quantity.Picoseconds) []s0Control {
	return []s0Control{
		s0WRCC(period),
		{label: "dcqcn", name: "dcqcn-peer"},
		{label: "hpcc", name: "hpcc", global: true},
		{label: "bicc", name: "dcqcn-peer", bicc: true},
	}
}

// config returns the hardware of a run. payload is the payload of a full packet in bytes.
func (c *s0Control) config(topo *subnet.Fabric, seed uint64, payload int) (ether.Config, error) {
	alg, err := (&s3Control{name: c.name, values: c.values}).build()
	if err != nil {
		return ether.Config{}, err
	}
	cfg := ether.Config{
		Seed: seed, Payload: payload, GlobalRTT: c.global, Algorithms: []cc.Algorithm{alg},
		Buffer: ether.Buffer{Bytes: s0Buffer, Alpha: c.alpha}, Buffers: make(map[int32]ether.Buffer),
	}
	for i := range topo.Nodes {
		if strings.HasSuffix(topo.Nodes[i].Name, "-dci") {
			cfg.Buffers[int32(i)] = ether.Buffer{Bytes: s0DCIBuffer, Static: s0DCIThreshold}
		}
	}
	if c.period > 0 {
		cfg.FairRate = &ether.FairRate{Period: c.period, Margin: c.margin, Params: func(_ subnet.PortRef, rate quantity.BitRate) wrcc.Params {
			p := wrcc.DefaultParams(rate, c.period)
			p.Fmin, p.Fmax = 100*quantity.Mbps, 100*quantity.Gbps // S0, 4.1.1
			return p
		}}
	}
	if c.cnps {
		cfg.CNPs, cfg.CNPGap = true, 50*quantity.Microsecond
	}
	if c.flat {
		cfg.ECN.RatePer = 100 * quantity.Gbps
	}
	if c.bicc {
		cfg.DCI = &ether.DCI{Pace: func() (cc.Algorithm, error) { return (&s3Control{name: c.name}).build() }}
	}
	return cfg, nil
}

// s0Traffic is the traffic on S0's fabric. Comments state our choices for values that S0 does not give.
type s0Traffic struct {
	load float64
	// cross is the fraction of flows between data centres, and capacity the reference of load. S0 prints "cross-domain to
	// intra-domain 5:1", but follows a reference with the reverse ratio.
	cross    float64
	capacity quantity.BitRate
	// incast is the fan-in of the bursts of long flows, 0 for none. Bursts use half of the long link from the first data centre
	// to the second. Each burst starts at the expected end of the previous one.
	incast int
	long   int64                // bytes of a long flow
	warm   quantity.Picoseconds // flows that start earlier are not counted
	span   quantity.Picoseconds // flows start before this time
}

// s0LongFlow is one bandwidth-delay product of the long link (4.1.1): its rate times its delay, 50 MB.
const s0LongFlow = int64(s0LongRate / 8 / 1000)

// Kinds of flows.
const (
	s0Mixed = iota
	s0Long
)

// source returns the source of the flows.
func (t *s0Traffic) source(seed uint64) (workload.Source, error) {
	sites := [][]int32{workload.HostRange(0, 32), workload.HostRange(32, 32)}
	pairs, err := workload.GroupPairs(sites, t.cross)
	if err != nil {
		return nil, err
	}
	mixed, err := workload.NewPoisson(workload.PoissonOptions{
		Seed: seed, Pairs: pairs, Sizes: workload.WebSearch(), Capacity: t.capacity, Load: t.load, Until: t.span,
	})
	if err != nil || t.incast == 0 {
		return mixed, err
	}
	long, err := workload.NewList(t.bursts(seed))
	if err != nil {
		return nil, err
	}
	return workload.Merge(mixed, long), nil
}

// bursts returns the long flows, at equal gaps that use half of the long link. That is the rate of two receivers' ports, so
// from the second burst on two bursts are active.
func (t *s0Traffic) bursts(seed uint64) []workload.Arrival {
	gap := quantity.Picoseconds(float64(t.incast) * float64(t.long) * 8 * 1e12 / float64(s0LongRate/2))
	var out []workload.Arrival
	for b := 0; quantity.Picoseconds(b)*gap < t.span; b++ {
		for i := range t.incast {
			out = append(out, workload.Arrival{
				At: quantity.Picoseconds(b) * gap, Flow: int64(len(out)), Bytes: t.long,
				Src: int32((b*t.incast + i) * 5 % 32), Dst: int32(32 + (int(seed)+b*11)%32), Label: workload.Label{Tag: s0Long},
			})
		}
	}
	return out
}

// s0Run holds the results of a run.
type s0Run struct {
	slow    []float64            // slowdowns of counted flows, in the order of completion
	queues  []int64              // bytes of the switch ports of the data centres, at each sample
	paused  quantity.Picoseconds // paused time of all ports while flows started
	dropped uint64
	open    int // flows not completed at the time limit
}

// s0Sample is the interval of queue samples.
const s0Sample = 20 * quantity.Microsecond

// runS0 sends the traffic through S0's fabric until all flows have ended, or to limit.
func runS0(ctx context.Context, c s0Control, t s0Traffic, seed uint64, payload int, limit quantity.Picoseconds) (*s0Run, error) {
	topo, err := topogen.S0DualDC()
	if err != nil {
		return nil, err
	}
	cfg, err := c.config(topo, seed, payload)
	if err != nil {
		return nil, err
	}
	r := &s0Run{}
	cfg.OnDone = func(d ether.Done) { r.count(&t, &d) }
	n, err := ether.New(topo, cfg)
	if err != nil {
		return nil, err
	}
	src, err := t.source(seed)
	if err != nil {
		return nil, err
	}
	if err := n.SetSource(&streamed{src: src}); err != nil {
		return nil, err
	}
	ports := s0Ports(topo)
	for n.Now() < t.span {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n.RunUntil(n.Now() + s0Sample)
		if n.Now() >= t.warm {
			for _, p := range ports {
				r.queues = append(r.queues, n.Queue(p))
			}
		}
	}
	r.paused = n.Stats().PausedTime
	for !n.Finished() && n.Now() < limit {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n.RunUntil(n.Now() + s3Slice)
	}
	st := n.Stats()
	r.dropped, r.open = st.DroppedPackets, st.Active
	slices.Sort(r.queues)
	return r, n.Err()
}

// count adds a completed flow. The ideal time assumes full packets, so a flow shorter than one packet may be faster.
func (r *s0Run) count(t *s0Traffic, d *ether.Done) {
	if d.Start >= t.warm && d.Tenant == s0Mixed {
		r.slow = append(r.slow, max(1, d.Slowdown()))
	}
}

// s0Ports returns the ports of the switches of the data centres, without the DCI switches.
func s0Ports(topo *subnet.Fabric) []subnet.PortRef {
	var out []subnet.PortRef
	for i := range topo.Links {
		for _, e := range []subnet.PortRef{topo.Links[i].A, topo.Links[i].B} {
			nd := &topo.Nodes[e.Node]
			if nd.Kind == subnet.KindSwitch && !strings.HasSuffix(nd.Name, "-dci") {
				out = append(out, e)
			}
		}
	}
	return out
}

// streamed passes the flows of a workload to a network one by one.
type streamed struct {
	src workload.Source
	n   int64
}

func (s *streamed) Next() (ether.FlowSpec, bool) {
	a, ok := s.src.Next()
	if !ok {
		return ether.FlowSpec{}, false
	}
	s.n++
	return ether.FlowSpec{
		ID: s.n, Src: a.Src, Dst: a.Dst, Bytes: a.Bytes, Start: a.At, Tenant: uint16(a.Tag), Entropy: uint32(s.n),
	}, true
}
