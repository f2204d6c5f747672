package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/sim/predict"
	"fairlane/subnet"
)

// S3 used the simulator of the HPCC paper (4.1.1), so open values are those of that simulator: times truncated to whole
// nanoseconds, one base round trip time for all flows, packets of 1,000 bytes with 48 bytes of headers, an ACK for each packet,
// a buffer of 32 MiB with PFC, and each algorithm with the constants and the marking thresholds of that simulator's scripts.

// s3Slice is the simulated time between two checks of the context.
const s3Slice = 100 * quantity.Microsecond

// s3Limit is the simulated time at which a run ends if its flows have not completed.
const s3Limit = 2 * quantity.Second

// s3Control is a congestion control in S3's configuration.
type s3Control struct {
	label  string // label of its rows
	name   string // name in package cc
	values map[string]string
	step   bool // ECN marks every packet above 300 KB at 100 Gbit/s (DCTCP) instead of by DCQCN's ramp
	model  *predict.Model
	buffer int64 // buffer of the switches, bytes; 0 means the simulator's 32 MiB
	each   bool  // the control reacts to every ACK and measures no RTT; otherwise it reacts to one RTT at a time
}

// s3Peers returns the algorithms in S3's incast comparison, in the order of table 6.
func s3Peers() []s3Control {
	return []s3Control{
		{label: "hpcc", name: "hpcc", values: map[string]string{"int": "wire"}, each: true},
		{label: "timely", name: "timely"},
		{label: "dctcp", name: "dctcp", step: true, each: true},
	}
}

// build creates the algorithm.
func (c *s3Control) build() (cc.Algorithm, error) {
	spec, err := cc.ByName(c.name)
	if err != nil {
		return nil, err
	}
	if c.model != nil {
		spec = cc.PIDNN(c.model)
	}
	values := make(cc.Values)
	for name, text := range c.values {
		p, ok := spec.Param(name)
		if !ok {
			return nil, fmt.Errorf("%s has no parameter %q", spec.Name, name)
		}
		if values[name], err = p.Parse(text); err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Name, err)
		}
	}
	return spec.Build(values)
}

// network returns a fabric with the settings of that simulator and one algorithm, which may be wrapped.
func (c *s3Control) network(topo *subnet.Fabric, seed uint64, alg cc.Algorithm, done func(ether.Done)) (*ether.Network, error) {
	cfg := ether.Config{Seed: seed, TruncateNs: true, GlobalRTT: true, OnDone: done, Algorithms: []cc.Algorithm{alg}}
	cfg.Buffer.Bytes = c.buffer
	if c.step {
		cfg.ECN = ether.ECN{Min: 300_000, Max: 300_000, RatePer: 100 * quantity.Gbps, PMax: 1}
	}
	return ether.New(topo, cfg)
}

// runToEnd runs until every flow has completed.
func runToEnd(ctx context.Context, n *ether.Network) error {
	for !n.Finished() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n.Now() > s3Limit {
			return fmt.Errorf("%d flows have not completed after %s", n.Stats().Active, n.Now())
		}
		n.RunUntil(n.Now() + s3Slice)
	}
	return n.Err()
}

// rttTap is an algorithm that records the RTTs of its senders. Each slot is one flow, because the run reuses no slots.
type rttTap struct {
	cc.Algorithm
	marks   []int64     // by slot: byte of the probe; the first ACK beyond it acknowledges the probe
	sampled [][]float64 // by slot: one RTT at a time, sampled as in S3 (3.2), us
	every   []float64   // the RTT of each ACK, us
}

func (t *rttTap) Reserve(n int) {
	t.marks = append(t.marks, make([]int64, max(0, n-len(t.marks)))...)
	t.sampled = append(t.sampled, make([][]float64, max(0, n-len(t.sampled)))...)
	t.Algorithm.Reserve(n)
}

func (t *rttTap) Ack(slot int32, a *cc.Ack, c *cc.Control) {
	rtt := float64(a.RTT) / float64(quantity.Microsecond)
	t.every = append(t.every, rtt)
	if a.Seq > t.marks[slot] {
		t.marks[slot] = a.Next
		t.sampled[slot] = append(t.sampled[slot], rtt)
	}
	t.Algorithm.Ack(slot, a, c)
}

// all returns the samples of all flows together.
func (t *rttTap) all() []float64 { return slices.Concat(t.sampled...) }
