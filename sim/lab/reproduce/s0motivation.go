package reproduce

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/sim/ether"
	"fairlane/subnet/topogen"
)

// twoRun holds the results of S0's motivating experiment (2.2, figure 2): a flow from the other data centre and a flow from
// the receiver's own data centre contend at the receiver's port.
type twoRun struct {
	queues  []Point    // ms, MB, every s0TwoSample
	rates   [2][]Point // far and near flow: ms, Gbit/s of payload acknowledged in each s0TwoSlice
	acked   [2]int64   // acknowledged bytes so far, of the far and the near flow
	pauses  uint64
	dropped uint64
}

const (
	s0TwoSample = 10 * quantity.Microsecond
	s0TwoSlice  = 500 * quantity.Microsecond
)

// s0TwoSpans returns the lengths of the queue measurement, ms, which S0 does not give.
func s0TwoSpans() []int { return []int{10, 20, 40} }

// runTwo runs the two unlimited flows, which start together, for a time.
func runTwo(ctx context.Context, c s0Control, span quantity.Picoseconds) (*twoRun, error) {
	topo, err := topogen.S0DualDC()
	if err != nil {
		return nil, err
	}
	cfg, err := c.config(topo, 1, 1000)
	if err != nil {
		return nil, err
	}
	n, err := ether.New(topo, cfg)
	if err != nil {
		return nil, err
	}
	const receiver = 32 // first host of the second data centre; host 33 is at the same switch
	for i, src := range []int32{0, 33} {
		if err := n.Add(ether.FlowSpec{ID: int64(i), Src: src, Dst: receiver}); err != nil {
			return nil, err
		}
	}
	port, ok := topo.Peer(n.HostPort(receiver))
	if !ok {
		return nil, errors.New("the receiver's port is not linked")
	}
	r := &twoRun{}
	for n.Now() < span {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n.RunUntil(n.Now() + s0TwoSample)
		r.queues = append(r.queues, Point{n.Now().Seconds() * 1e3, float64(n.Queue(port)) / 1e6})
		if n.Now()%s0TwoSlice == 0 {
			n.Flows(r.progress(n.Now()))
		}
	}
	st := n.Stats()
	r.pauses, r.dropped = st.Pauses, st.DroppedPackets
	return r, nil
}

// progress records the bytes of the flows since the last slice.
func (r *twoRun) progress(now quantity.Picoseconds) func(ether.FlowState) bool {
	return func(s ether.FlowState) bool {
		rate := float64(s.Acked-r.acked[s.ID]) * 8 / s0TwoSlice.Seconds() / 1e9
		r.rates[s.ID] = append(r.rates[s.ID], Point{now.Seconds() * 1e3, rate})
		r.acked[s.ID] = s.Acked
		return true
	}
}

// above returns the fraction of the samples up to a time, ms, above a queue length, MB.
func (r *twoRun) above(mb float64, upTo int) float64 {
	k, all := 0, 0
	for _, q := range r.queues {
		if q.X <= float64(upTo) {
			all++
			if q.Y > mb {
				k++
			}
		}
	}
	return float64(k) / float64(max(1, all))
}

// largest returns the longest queue, MB.
func (r *twoRun) largest() float64 {
	most := 0.0
	for _, q := range r.queues {
		most = max(most, q.Y)
	}
	return most
}

// s0TwoControls returns the controls of the experiment: S0's four; WRCC with IncreaseAsk; WRCC whose switches send fast
// notifications only for a rate a tenth above theirs; and the two of the published figure on switches whose ports may use the
// whole free buffer. S0 mentions "dynamic thresholds". Its queue of 12 MB in a buffer of 16 MB contradicts the limit of an
// eighth in its simulator's scripts.
func s0TwoControls() []s0Control {
	c := append(s0Controls(s0Period), s0Variants()[0])
	margin, dcqcn, hpcc := c[0], c[1], c[2]
	margin.label, margin.margin = "wrcc.margin", 0.1
	dcqcn.label, dcqcn.alpha = "dcqcn.alpha1", 1
	hpcc.label, hpcc.alpha = "hpcc.alpha1", 1
	return append(c, margin, dcqcn, hpcc)
}

// planS0Motivation repeats figure 2: the distribution of the queue, and the rates over time.
func planS0Motivation(Options) ([]job, func() Result) {
	controls := s0TwoControls()
	runs := make([]*twoRun, len(controls))
	var jobs []job
	for i, c := range controls {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			runs[i], err = runTwo(ctx, c, quantity.Picoseconds(slices.Max(s0TwoSpans()))*quantity.Millisecond)
			return err
		})
	}
	return jobs, func() Result {
		var rows []Row
		dropped := uint64(0)
		for i, c := range controls {
			rows = append(rows, s0TwoRows(c, runs[i])...)
			dropped += runs[i].dropped
		}
		rows = append(rows, unpublished("dropped-packets", float64(dropped), "", "all runs together"))
		return Result{Rows: rows, Figures: s0TwoFigures(controls, runs)}
	}
}

// s0TwoRows compares a run with S0's figure 2(c).
func s0TwoRows(c s0Control, r *twoRun) []Row {
	var rows []Row
	limit, paper := 1.0, c.name == "dcqcn-peer" && !c.bicc
	if c.name == "hpcc" {
		limit, paper = 1.8, true
	}
	for _, ms := range s0TwoSpans() {
		metric := fmt.Sprintf("above-%gMB.%s.%dms", limit, c.label, ms)
		note := fmt.Sprintf("part of samples in the first %d ms", ms)
		if paper {
			rows = append(rows, published(metric, 0.7, r.above(limit, ms), "", note))
		} else {
			rows = append(rows, unpublished(metric, r.above(limit, ms), "", note))
		}
	}
	if c.name == "hpcc" {
		rows = append(rows, published("largest-queue."+c.label, 12, r.largest(), "MB", ""))
	} else {
		rows = append(rows, unpublished("largest-queue."+c.label, r.largest(), "MB", ""))
	}
	far, near := r.late()
	return append(rows,
		unpublished("far-rate."+c.label, far, "Gbit/s", "payload, over the last 10 ms"),
		unpublished("near-rate."+c.label, near, "Gbit/s", "payload, over the last 10 ms"),
		unpublished("pauses."+c.label, float64(r.pauses), "", ""))
}

// late returns the mean rates of the two flows over the last 10 ms.
func (r *twoRun) late() (far, near float64) {
	slices10 := int(10 * quantity.Millisecond / s0TwoSlice)
	mean := func(p []Point) float64 {
		p = p[max(0, len(p)-slices10):]
		sum := 0.0
		for _, x := range p {
			sum += x.Y
		}
		return sum / float64(max(1, len(p)))
	}
	return mean(r.rates[0]), mean(r.rates[1])
}

func s0TwoFigures(controls []s0Control, runs []*twoRun) []Figure {
	cdf := Figure{
		Name: "s0-motivation.queue", Title: "S0, figure 2(c): queue where a far and a near flow meet",
		X: Axis{Label: "queue", Unit: "MB"}, Y: Axis{Label: "part of samples in 20 ms, at or below"},
	}
	rates := Figure{
		Name: "s0-motivation.rates", Title: "S0, figures 2(a) and 2(b): rates of a far and a near flow",
		X: Axis{Label: "time", Unit: "ms"}, Y: Axis{Label: "rate", Unit: "Gbit/s"},
	}
	for i, c := range controls {
		var q []int64
		for _, p := range runs[i].queues {
			if p.X <= 20 {
				q = append(q, int64(p.Y*1e6))
			}
		}
		slices.Sort(q)
		cdf.Series = append(cdf.Series, Series{Name: c.label, Steps: true, Points: s0CDF(q, 1e6)})
		if c.alpha == 0 {
			rates.Series = append(rates.Series,
				Series{Name: c.label + ", far", Group: c.label, Points: runs[i].rates[0]},
				Series{Name: c.label + ", near", Group: c.label, Points: runs[i].rates[1]})
		}
	}
	return []Figure{cdf, rates}
}
