package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

// The network of S2's table 4. The text gives links of 100 and 25 Gbit/s, but not the rate of each host. Its numbers give
// more information: a largest round trip time of 4654 ns and a largest bandwidth-delay product of 52025 (section 3.1). By the
// rule of the HPCC paper's simulator, these are the values of two links of 1 us with 1024-byte packets, at 25 and at 100
// Gbit/s: 4·1000 + 2·327 ns, and 100 Gbit/s times 4·1000 + 2·81 ns. So every path has two links: one switch, with pairs of
// hosts of both speeds. Here half of the senders have 100 Gbit/s and half 25 Gbit/s. The speed of the receiver is open, so
// both are run.
const (
	s2Senders = 80
	s2Fast    = s2Senders / 2 // senders at 100 Gbit/s: those with the larger sizes
	s2Flows   = 4000          // flows of all senders together, S2 section 3.2
	s2VLs     = 4
	mib       = 1 << 20

	// s2Minimum is the sum of the minimum rates of all flows, bit/s, for all four algorithms. S2 gives no minimum rate. With 80
	// flows each flow has 100 Mbit/s, as in many scripts of the simulator. With that minimum, 4,000 flows would have 16 times
	// the receiver's 25 Gbit/s.
	s2Minimum = 8e9
)

// s2Bytes returns the size of each sender's data (S2, section 3.1), in bytes. 143.05 MiB is 150 MB.
func s2Bytes() []int64 {
	return slices.Concat([]int64{150e6, 200e6, 200e6}, slices.Repeat([]int64{10e6}, 17), slices.Repeat([]int64{5e6}, 60))
}

// s2Topology returns the star; the receiver is its last host.
func s2Topology(receiver quantity.BitRate) (*subnet.Fabric, error) {
	f, err := topogen.Star(s2Senders+1, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		return nil, err
	}
	links := slices.Clone(f.Links)
	for i := range links {
		rate := 100 * quantity.Gbps
		switch host := int(links[i].A.Port) - 1; {
		case host == s2Senders:
			rate = receiver
		case host >= s2Fast:
			rate = 25 * quantity.Gbps
		}
		links[i].Rate = rate
		links[i].Width, links[i].Speed, _ = subnet.WidthSpeedFor(rate)
	}
	g, err := subnet.New(f.Name, f.Nodes, links)
	if err != nil {
		return nil, err
	}
	return subnet.AssignAndRoute(g, 0)
}

// s2Case is one run of table 4.
type s2Case struct {
	label    string // label of the algorithm
	preset   string // preset in package cc; if empty, name is used
	name     string // algorithm with its defaults, except the minimum rate
	cnps     bool   // receivers answer marks with CNPs
	gap      quantity.Picoseconds
	limit    float64          // flows registered by a NIC; 0 means the default
	receiver quantity.BitRate // rate of the receiver's link
	flows    int              // number of all senders' flows
	divide   int64            // divisor of all sizes, for tests; normally 1
}

// s2Limited is DCQCN-p's limit of 512 out of 4,000 flows, scaled to a NIC with 50 of the 4,000.
const s2Limited = 512 * s2Flows / s2Senders / s2Flows

// s2Cases returns the columns of table 4 for one receiver and number of flows.
func s2Cases(receiver quantity.BitRate, flows int) []s2Case {
	cases := []s2Case{
		{label: "dcqcn", preset: "dcqcn-s2", cnps: true, gap: 50 * quantity.Microsecond},
		{label: "timely", name: "timely"},
		{label: "dctcp", name: "dctcp"},
		{label: "dcqcn-p", preset: "dcqcn-p", cnps: true},
	}
	if flows > s2Senders {
		cases = append(cases, s2Case{label: "dcqcn-p-limited", preset: "dcqcn-p", cnps: true, limit: s2Limited})
	}
	for i := range cases {
		cases[i].receiver, cases[i].flows, cases[i].divide = receiver, flows, 1
	}
	return cases
}

func (c *s2Case) algorithm() (cc.Algorithm, error) {
	if c.preset == "" {
		spec, err := cc.ByName(c.name)
		if err != nil {
			return nil, err
		}
		return spec.Build(cc.Values{"min_rate": s2Minimum / float64(c.flows)})
	}
	p, err := cc.DCQCNPreset(c.preset)
	if err != nil {
		return nil, err
	}
	p.Values["min_rate"] = s2Minimum / float64(c.flows)
	if c.limit > 0 {
		p.Values["registered_flows"] = c.limit
	}
	return p.Build()
}

// s2Run holds the results of one run.
type s2Run struct {
	receiver quantity.BitRate
	bytes    []float64            // bytes of each flow
	fct      []float64            // completion time of each flow, s
	windows  []float64            // payload that the receiver accepted in each s2Window, bit/s
	drained  quantity.Picoseconds // time at which the queue was first below K_min again; 0 means it never exceeded it
	fitted   quantity.Picoseconds // time at which the senders' rates first fitted the receiver's link
	first    quantity.Picoseconds // end of the first completed flow
	early    []float64            // acknowledged bytes by flow at s2Early
	pauses   uint64
	peak     int64 // largest queue length of the receiver's port, bytes
}

const (
	s2Window = 100 * quantity.Microsecond
	s2Early  = 5 * quantity.Millisecond // a time before the earliest possible end of a flow at its fair rate
	s2Slice  = 10 * quantity.Microsecond
	s2Limit  = 10 * quantity.Second
	s2KMin   = 100 << 10
	s2KMax   = 400 << 10
)

// run repeats the incast. The receiver's port has the K_min and K_max of S2 at any rate.
func (c *s2Case) run(ctx context.Context, seed uint64) (*s2Run, error) {
	topo, err := s2Topology(c.receiver)
	if err != nil {
		return nil, err
	}
	alg, err := c.algorithm()
	if err != nil {
		return nil, err
	}
	r := &s2Run{receiver: c.receiver, fct: make([]float64, c.flows), early: make([]float64, c.flows)}
	n, err := ether.New(topo, ether.Config{
		Seed: seed, Payload: 1024, Classes: make([]ether.Class, s2VLs), CNPs: c.cnps, CNPGap: c.gap,
		ECN:        ether.ECN{Min: s2KMin, Max: s2KMax, RatePer: c.receiver, PMax: 0.1},
		Buffer:     ether.Buffer{Bytes: 32 * mib},
		Algorithms: []cc.Algorithm{alg},
		OnDone: func(d ether.Done) {
			r.fct[d.ID] = d.FCT.Seconds()
			if r.first == 0 {
				r.first = d.FCT
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if err := c.addFlows(n, r); err != nil {
		return nil, err
	}
	port, _ := topo.Peer(n.HostPort(s2Senders))
	return r, r.watch(ctx, n, port)
}

// addFlows divides each sender's data among its flows, which all start together.
func (c *s2Case) addFlows(n *ether.Network, r *s2Run) error {
	each := c.flows / s2Senders
	for src, bytes := range s2Bytes() {
		for range each {
			b := bytes / c.divide / int64(each)
			id := len(r.bytes)
			r.bytes = append(r.bytes, float64(b))
			if err := n.Add(ether.FlowSpec{ID: int64(id), Src: int32(src), Dst: s2Senders, Bytes: b, Entropy: uint32(id)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// watch runs to the end and samples the queue of the receiver's port and the rates.
func (r *s2Run) watch(ctx context.Context, n *ether.Network, port subnet.PortRef) error {
	was, full, early := uint64(0), false, false
	for t := s2Slice; !n.Finished(); t += s2Slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t > s2Limit {
			return fmt.Errorf("%d flows have not completed after %s", n.Stats().Active, n.Now())
		}
		n.RunUntil(t)
		q := n.Queue(port)
		full = full || q >= s2KMin
		if r.drained == 0 && full && q < s2KMin {
			r.drained = t
		}
		if r.fitted == 0 && t <= s2Early && r.offered(n) <= float64(r.receiver) {
			r.fitted = t
		}
		if t%s2Window == 0 {
			now := n.Stats().AcceptedBytes
			r.windows = append(r.windows, float64(now-was)*8/s2Window.Seconds())
			was = now
		}
		if !early && t >= s2Early {
			early = true
			n.Flows(func(f ether.FlowState) bool { r.early[f.ID] = float64(f.Acked); return true })
		}
	}
	r.pauses, r.peak = n.Stats().Pauses, n.Port(port).PeakQueue
	return n.Err()
}

// offered returns the sum of the rates that the senders' congestion control allows.
func (r *s2Run) offered(n *ether.Network) float64 {
	sum := 0.0
	n.Flows(func(f ether.FlowState) bool { sum += f.Rate; return true })
	return sum
}

// s2Figures are the values of table 4, one for each reading.
type s2Figures struct {
	minLink, minFlow   float64 // Gbit/s
	meanLink, meanFlow float64 // Gbit/s
	drained, fitted    float64 // us
	last               float64 // us
	cv, cvEarly        float64 // coefficient of variation
}

func (r *s2Run) figures() s2Figures {
	rates := make([]float64, len(r.fct))
	bits, last := 0.0, slices.Max(r.fct)
	for i, b := range r.bytes {
		rates[i] = 8 * b / r.fct[i]
		bits += 8 * b
	}
	m, e := stats.MomentsOf(rates), stats.MomentsOf(r.early)
	f := s2Figures{
		minFlow: gbit(m.Min()), meanFlow: gbit(m.Mean()), meanLink: gbit(bits / last),
		drained: microseconds(r.drained), fitted: microseconds(r.fitted), last: 1e6 * last,
		cv: m.CoV(), cvEarly: e.CoV(),
	}
	if w := min(int(last/s2Window.Seconds()), len(r.windows)); w > 1 {
		f.minLink = gbit(slices.Min(r.windows[1:w]))
	}
	return f
}

func microseconds(t quantity.Picoseconds) float64 { return float64(t) / float64(quantity.Microsecond) }
