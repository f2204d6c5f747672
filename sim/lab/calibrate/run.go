// Package calibrate measures by simulation how the DCQCN registers of a kind of NIC divide a link, and generates the device
// profile for the compiler.
package calibrate

import (
	"context"
	"fmt"

	"fairlane/ccconfig/dcqcn"
	"fairlane/ccconfig/ecn"
	"fairlane/internal/quantity"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet/topogen"
)

// Group is a group of equal flows of a run: equal settings on Ports NIC ports with Flows flows each.
type Group struct {
	Ports    int
	Flows    int // flows on each port
	Settings dcqcn.Settings
}

// Run is one run of the packet simulator: all groups send unlimited flows through one link.
type Run struct {
	Rate    quantity.BitRate     // rate of every link
	Delay   quantity.Picoseconds // delay of every link; a round trip has four links
	Marking ecn.Marking          // marking of the switch
	Payload int                  // payload bytes of a packet
	Groups  []Group
	Settle  quantity.Picoseconds // settling time before the counted time
	Counted quantity.Picoseconds
	Seed    uint64
}

// Measured holds the results of a run over the counted time.
type Measured struct {
	Rates  []float64 `json:"rates_bps"`   // mean rate of a flow of each group, bit/s of payload
	Use    float64   `json:"use"`         // utilization of the link, including headers, 0 to 1
	Queue  float64   `json:"queue_bytes"` // mean queue length, bytes
	Pauses uint64    `json:"pauses"`      // PFC frames
	Marked float64   `json:"marked"`      // fraction of the packets that were marked
}

// headers is the header size of a data packet, in bytes.
const headers = 48

// Do simulates the run. It returns an error for settings out of range, and when ctx ends.
func (r *Run) Do(ctx context.Context) (*Measured, error) {
	hosts := 1
	for _, g := range r.Groups {
		hosts += g.Ports
	}
	topo, err := topogen.Star(hosts, topogen.Wire{Rate: r.Rate, Delay: r.Delay})
	if err != nil {
		return nil, err
	}
	cfg := ether.Config{
		Seed: r.Seed, CNPs: true, Payload: r.Payload, Headers: ether.Headers{Data: headers},
		ECN: ether.ECN{Min: r.Marking.Min, Max: r.Marking.Max, PMax: float64(r.Marking.PMaxPct) / 100, RatePer: r.Rate},
	}
	for i := range r.Groups {
		alg, err := cc.NewMlx(&r.Groups[i].Settings)
		if err != nil {
			return nil, fmt.Errorf("group %d: %w", i, err)
		}
		cfg.Algorithms = append(cfg.Algorithms, alg)
		cfg.CNPGap = quantity.Picoseconds(r.Groups[i].Settings.CNPGap) * quantity.Microsecond
	}
	n, err := ether.New(topo, cfg)
	if err != nil {
		return nil, err
	}
	if err := r.addFlows(n, int32(hosts-1)); err != nil {
		return nil, err
	}
	port, _ := topo.Peer(n.HostPort(int32(hosts - 1)))
	return r.measure(ctx, n, func() (float64, ether.PortStats) { return float64(n.Queue(port)), n.Port(port) })
}

func (r *Run) addFlows(n *ether.Network, sink int32) error {
	host, id := int32(0), int64(0)
	for g, group := range r.Groups {
		for range group.Ports {
			for range group.Flows {
				if err := n.Add(ether.FlowSpec{ID: id, Src: host, Dst: sink, Algorithm: uint16(g), Tenant: uint16(g)}); err != nil {
					return err
				}
				id++
			}
			host++
		}
	}
	return nil
}

// sampling is the interval of queue samples and of checks of the context.
const sampling = 100 * quantity.Microsecond

// settle runs a network to a time, unless ctx ends before.
func settle(ctx context.Context, n *ether.Network, until quantity.Picoseconds) error {
	for n.Now() < until {
		if err := ctx.Err(); err != nil {
			return err
		}
		n.RunUntil(min(n.Now()+sampling, until))
	}
	return nil
}

func (r *Run) measure(ctx context.Context, n *ether.Network, port func() (float64, ether.PortStats)) (*Measured, error) {
	acked := func() []float64 {
		sum := make([]float64, len(r.Groups))
		n.Flows(func(f ether.FlowState) bool { sum[f.Tenant] += float64(f.Acked); return true })
		return sum
	}
	out := &Measured{Rates: make([]float64, len(r.Groups))}
	if err := settle(ctx, n, r.Settle); err != nil {
		return nil, err
	}
	before, samples := acked(), 0.0
	_, first := port()
	for n.Now() < r.Settle+r.Counted {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n.RunUntil(n.Now() + sampling)
		q, _ := port()
		out.Queue += q
		samples++
	}
	total, after, counted := 0.0, acked(), n.Now()-r.Settle // time actually counted, in whole sampling intervals
	for g, x := range after {
		rate := (x - before[g]) * 8 / counted.Seconds()
		total += rate
		out.Rates[g] = rate / float64(r.Groups[g].Ports*r.Groups[g].Flows)
	}
	_, last := port()
	out.Use = total * float64(r.Payload+headers) / float64(r.Payload) / float64(r.Rate)
	out.Queue /= samples
	out.Pauses = n.Stats().Pauses
	out.Marked = float64(last.Marks-first.Marks) / float64(last.TxPackets-first.TxPackets)
	return out, n.Err()
}
