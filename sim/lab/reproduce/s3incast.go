package reproduce

import (
	"context"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/cc"
	"fairlane/sim/ether"
	"fairlane/subnet/topogen"
)

// s3Sizes returns the flow sizes of S3's incast (4.1.2, figure 14): one flow from each of 20 senders.
func s3Sizes() []int64 {
	return append([]int64{200e6, 200e6, 150e6}, slices.Repeat([]int64{5e6}, 17)...)
}

// incastRun holds S3's measurements of an incast (4.3.1).
type incastRun struct {
	tap    rttTap
	each   bool // whether the control reacts to every ACK
	sizes  []int64
	fct    []float64 // by flow, s
	pauses uint64
}

// runIncast sends one flow of each size under a control and records S3's measurements.
func runIncast(ctx context.Context, c s3Control, sizes []int64) (*incastRun, error) {
	alg, err := c.build()
	if err != nil {
		return nil, err
	}
	r := &incastRun{tap: rttTap{Algorithm: alg}, each: c.each, sizes: sizes, fct: make([]float64, len(sizes))}
	n, err := sendIncast(ctx, c, &r.tap, sizes, func(d ether.Done) { r.fct[d.ID] = d.FCT.Seconds() })
	if err != nil {
		return nil, err
	}
	r.pauses = n.Stats().Pauses
	return r, nil
}

// sendIncast sends one flow of each size to one receiver, all starting at the same time, and returns when all have completed.
// Links have 100 Gbit/s and 1 us. alg is the control's algorithm, which may be wrapped; done may be nil.
func sendIncast(ctx context.Context, c s3Control, alg cc.Algorithm, sizes []int64, done func(ether.Done)) (*ether.Network, error) {
	topo, err := topogen.Star(len(sizes)+1, topogen.Wire{Rate: 100 * quantity.Gbps, Delay: quantity.Microsecond})
	if err != nil {
		return nil, err
	}
	n, err := c.network(topo, 1, alg, done)
	if err != nil {
		return nil, err
	}
	for i, bytes := range sizes {
		if err := n.Add(ether.FlowSpec{ID: int64(i), Src: int32(i), Dst: int32(len(sizes)), Bytes: bytes}); err != nil {
			return nil, err
		}
	}
	return n, runToEnd(ctx, n)
}

// incastFigures are the values of one run in the units of S3's tables: us, Gbit/s and ms.
type incastFigures struct {
	mean, p99, most       float64 // RTT over all samples of all flows (equations 29 and 31)
	rate                  float64 // all bytes divided by the sum of all completion times (equation 30)
	fct, last             float64 // completion time: mean and largest (equations 32 and 33)
	meanEvery, p99Every   float64 // RTT over every ACK
	meanTaken             float64 // RTT over the samples to which the control reacts: every ACK, or one at a time
	meanByFlow, rateFlows float64 // means over flows: of a flow's mean RTT, and of its size divided by its time
	link                  float64 // all bytes divided by the time until the end of the last flow
	samples               int
}

func (r *incastRun) figures() incastFigures {
	f := incastFigures{}
	all := r.tap.all()
	f.samples = len(all)
	f.mean, f.meanEvery = meanOf(all), meanOf(r.tap.every)
	if f.meanTaken = f.mean; r.each {
		f.meanTaken = f.meanEvery
	}
	f.p99, _ = stats.Percentile(all, 99)
	f.most, _ = stats.Percentile(all, 100)
	f.p99Every, _ = stats.Percentile(r.tap.every, 99)
	bits, spans, n := 0.0, 0.0, float64(len(r.sizes))
	for i, bytes := range r.sizes {
		b := 8e-9 * float64(bytes)
		bits += b
		spans += r.fct[i]
		f.rateFlows += b / r.fct[i] / n
		f.meanByFlow += meanOf(r.tap.sampled[i]) / n
	}
	f.rate = bits / spans
	f.fct = 1e3 * spans / n
	f.last = 1e3 * slices.Max(r.fct)
	f.link = bits / slices.Max(r.fct)
	return f
}
