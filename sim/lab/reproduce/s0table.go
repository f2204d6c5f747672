package reproduce

import (
	"context"
	"fmt"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
)

// s0Reading is one reading of S0's traffic: the fraction of cross-domain flows, and the reference of the load.
type s0Reading struct {
	label    string
	cross    float64
	capacity quantity.BitRate
	note     string
}

// s0Readings returns the readings, the base first. S0 prints a ratio of 5:1 of cross-domain to intra-domain traffic; its
// reference has the reverse ratio. In the traffic generator of S0's simulator, load is a fraction of the hosts' links. At 5:1
// and 60 %, that is four times the capacity of the long link, so in that reading load is a fraction of the long link. The
// links above the ToRs have half of the hosts' capacity, so 60 % of the hosts' links is 110 % of the links above the ToRs.
// The third reading uses these links as the reference.
func s0Readings() []s0Reading {
	return []s0Reading{
		{"hosts", 1.0 / 6, 64 * 100 * quantity.Gbps, "cross to intra 1:5, load of the hosts' links"},
		{"uplinks", 1.0 / 6, 32 * 100 * quantity.Gbps, "cross to intra 1:5, load of the links above the ToRs"},
		{"long", 5.0 / 6, 960 * quantity.Gbps, "cross to intra 5:1, load of the long link, each way"},
	}
}

// s0Scale is the length of our runs of S0's experiment, whose length the paper does not give.
type s0Scale struct {
	payload    int
	warm, span quantity.Picoseconds
	limit      quantity.Picoseconds
}

// Spans of table 3, and of experiments that need fewer flows.
const (
	s0Span  = 9 * quantity.Millisecond
	s0Short = 6 * quantity.Millisecond
)

func newS0Scale(o Options, span quantity.Picoseconds) s0Scale {
	if o.Full {
		return s0Scale{1000, 4 * quantity.Millisecond, 36 * quantity.Millisecond, 200 * quantity.Millisecond}
	}
	// Packets four times as long need a quarter of the computation. The effect on p50 and p99 is smaller than the variation
	// between seeds.
	return s0Scale{4000, min(span/2, 4*quantity.Millisecond), span, 80 * quantity.Millisecond}
}

func (s *s0Scale) traffic(r s0Reading, percent int) s0Traffic {
	return s0Traffic{load: float64(percent) / 100, cross: r.cross, capacity: r.capacity, incast: 2, long: s0LongFlow, warm: s.warm, span: s.span}
}

// s0Case is one control with one traffic, simulated with one or more seeds.
type s0Case struct {
	control s0Control
	traffic s0Traffic
	seed    uint64
	runs    []*s0Run
}

// jobs returns the simulations of the case, one for each seed.
func (c *s0Case) jobs(s s0Scale, seeds int) []job {
	c.runs = make([]*s0Run, seeds)
	var out []job
	for i := range c.runs {
		out = append(out, func(ctx context.Context) (err error) {
			if c.runs[i], err = runS0(ctx, c.control, c.traffic, c.seed+uint64(i), s.payload, s.limit); err != nil {
				return fmt.Errorf("%s at load %g: %w", c.control.label, c.traffic.load, err)
			}
			return nil
		})
	}
	return out
}

// slowdowns returns the two percentiles of S0's tables, over the flows of all runs.
func (c *s0Case) slowdowns() (p50, p99 float64) {
	var all []float64
	for _, r := range c.runs {
		all = append(all, r.slow...)
	}
	p50, _ = stats.Percentile(all, 50)
	p99, _ = stats.Percentile(all, 99)
	return p50, p99
}

// s0Figures are the p50 and p99 slowdowns of WRCC, DCQCN, HPCC and BiCC, in that order.
type s0Figures [4][2]float64

// s0Table3 returns S0's table 3 by load in percent.
func s0Table3(percent int) s0Figures {
	switch percent {
	case 30:
		return s0Figures{{1.96, 18.41}, {2.87, 33.33}, {2.14, 34.97}, {2.17, 20.38}}
	case 60:
		return s0Figures{{4.12, 25.46}, {6.56, 51.16}, {7.74, 83.81}, {5.84, 28.9}}
	default:
		return s0Figures{{8.82, 30.86}, {11.56, 72.64}, {15.51, 103.4}, {9.67, 50.46}}
	}
}

// s0Table4 returns S0's table 4 by WRCCT in microseconds.
func s0Table4(us int) s0Figures {
	switch us {
	case 24:
		return s0Table3(60)
	case 48:
		return s0Figures{{4.62, 21.52}, {6.77, 56.21}, {11.45, 62.73}, {5.19, 29.43}}
	default:
		return s0Figures{{4.43, 25.25}, {5.98, 43.38}, {8.6, 69.88}, {5.05, 25.43}}
	}
}

// s0Block holds the runs of the four controls with the same traffic.
type s0Block struct {
	reading s0Reading
	percent int
	cases   []*s0Case
}

// rows compares the block with published values. The metrics are p50.KEY.CONTROL and p99.KEY.CONTROL, followed by the reading
// unless it is the base. For the base they include the reduction by WRCC relative to each other control.
func (b *s0Block) rows(key string, paper s0Figures, base bool) []Row {
	var rows []Row
	tail, note := "."+b.reading.label, b.reading.note
	if base {
		tail = ""
	}
	p := make([][2]float64, len(b.cases))
	for i, c := range b.cases {
		p[i][0], p[i][1] = c.slowdowns()
		for k, name := range []string{"p50", "p99"} {
			rows = append(rows, published(fmt.Sprintf("%s.%s.%s%s", name, key, c.control.label, tail), paper[i][k], p[i][k], "", note))
		}
	}
	for i, c := range b.cases[1:] {
		for k, name := range []string{"p50", "p99"} {
			rows = append(rows, published(fmt.Sprintf("%s-cut.%s.%s%s", name, key, c.control.label, tail),
				100*(1-paper[0][k]/paper[i+1][k]), 100*(1-p[0][k]/p[i+1][k]), "%", "by how much WRCC is below; "+note))
		}
	}
	return rows
}

// s0Health returns the numbers of lost packets, which must be zero, of flows that have not completed, and of counted flows,
// over all runs.
func s0Health(cases []*s0Case) []Row {
	dropped, open, flows := uint64(0), 0, 0
	for _, c := range cases {
		for _, r := range c.runs {
			dropped += r.dropped
			open += r.open
			flows += len(r.slow)
		}
	}
	return []Row{
		unpublished("dropped-packets", float64(dropped), "", "all runs together: the fabric is lossless"),
		unpublished("unfinished-flows", float64(open), "", "all runs together, at the end of simulated time; long flows only"),
		unpublished("counted-flows", float64(flows), "", "all runs together"),
	}
}

// s0Variants returns alternatives to the base for open values, with one change each.
func s0Variants() []s0Control {
	ask := s0WRCC(s0Period)
	ask.label, ask.values["increase"] = "wrcc.ask", "ask"
	c := s0Controls(s0Period)
	dcqcn, hpcc, bicc := c[1], c[2], c[3]
	dcqcn.label, dcqcn.name, dcqcn.cnps = "dcqcn.cnps", "dcqcn", true
	hpcc.label, hpcc.global = "hpcc.path-rtt", false
	bicc.label, bicc.name, bicc.cnps = "bicc.cnps", "dcqcn", true
	return []s0Control{ask, dcqcn, hpcc, bicc}
}

func s0VariantNote(label string) string {
	switch label {
	case "wrcc.ask":
		return "packets request twice the rate instead of the increase timer"
	case "hpcc.path-rtt":
		return "HPCC knows the base round trip of each path, not only the longest"
	default:
		return "DCQCN as published: receivers send CNPs, one in 50 us"
	}
}

// planS0Table3 repeats table 3 in three readings, and at 60 % with the alternatives to the base.
func planS0Table3(o Options) ([]job, func() Result) {
	var jobs []job
	var blocks []*s0Block
	var all, variants []*s0Case
	scale := newS0Scale(o, s0Span)
	for _, r := range s0Readings() {
		for _, percent := range []int{30, 60, 90} {
			b := &s0Block{reading: r, percent: percent}
			blocks = append(blocks, b)
			if r.label == "uplinks" && percent == 60 {
				b.cases = blocks[0].cases // 60 % of the uplinks is the same bit rate as 30 % of the hosts' links
				continue
			}
			for _, c := range s0Controls(s0Period) {
				b.cases = append(b.cases, &s0Case{control: c, traffic: scale.traffic(r, percent), seed: o.Seed})
			}
			all = append(all, b.cases...)
		}
	}
	base := s0Readings()[0]
	for _, c := range s0Variants() {
		variants = append(variants, &s0Case{control: c, traffic: scale.traffic(base, 60), seed: o.Seed})
	}
	var asks []*s0Case
	for _, percent := range []int{30, 90} {
		asks = append(asks, &s0Case{control: s0Variants()[0], traffic: scale.traffic(base, percent), seed: o.Seed})
	}
	all = append(all, asks...)
	all = append(all, variants...)
	for _, c := range all {
		seeds := 1
		if c.traffic.load < 0.5 { // half as many flows
			seeds = 2
		}
		jobs = append(jobs, c.jobs(scale, seeds)...)
	}
	return jobs, func() Result {
		var rows []Row
		for _, b := range blocks {
			rows = append(rows, b.rows(fmt.Sprintf("load%d", b.percent), s0Table3(b.percent), b.reading.label == base.label)...)
		}
		paper := s0Table3(60)
		for i, c := range variants {
			p50, p99 := c.slowdowns()
			rows = append(rows,
				published("p50.load60."+c.control.label, paper[i][0], p50, "", s0VariantNote(c.control.label)),
				published("p99.load60."+c.control.label, paper[i][1], p99, "", s0VariantNote(c.control.label)))
		}
		for i, percent := range []int{30, 90} {
			paper := s0Table3(percent)
			p50, p99 := asks[i].slowdowns()
			rows = append(rows,
				published(fmt.Sprintf("p50.load%d.wrcc.ask", percent), paper[0][0], p50, "", s0VariantNote("wrcc.ask")),
				published(fmt.Sprintf("p99.load%d.wrcc.ask", percent), paper[0][1], p99, "", s0VariantNote("wrcc.ask")))
		}
		rows = append(rows, s0Health(all)...)
		return Result{Rows: rows, Figures: s0Bars("s0-table3", "load", []string{"load30", "load60", "load90"}, rows)}
	}
}

// planS0Table4 repeats table 4. WRCCT affects only WRCC's switches, so the other controls get different traffic in each row,
// with a different seed. The variation of their columns is therefore that between runs.
func planS0Table4(o Options) ([]job, func() Result) {
	var jobs []job
	var blocks []*s0Block
	var all []*s0Case
	scale := newS0Scale(o, s0Short)
	periods := []int{24, 48, 96}
	for i, us := range periods {
		b := &s0Block{reading: s0Readings()[0], percent: 60}
		for k, c := range s0Controls(quantity.Picoseconds(us) * quantity.Microsecond) {
			cs := &s0Case{control: c, traffic: scale.traffic(b.reading, 60), seed: o.Seed}
			if k > 0 {
				cs.seed += uint64(i)
			}
			b.cases = append(b.cases, cs)
		}
		blocks = append(blocks, b)
		all = append(all, b.cases...)
	}
	for _, c := range all {
		jobs = append(jobs, c.jobs(scale, 1)...)
	}
	return jobs, func() Result {
		var rows []Row
		for i, b := range blocks {
			rows = append(rows, b.rows(fmt.Sprintf("wrcct%d", periods[i]), s0Table4(periods[i]), true)...)
		}
		rows = append(rows, s0Health(all)...)
		return Result{Rows: rows, Figures: s0Bars("s0-table4", "WRCCT", []string{"wrcct24", "wrcct48", "wrcct96"}, rows)}
	}
}

// s0Bars draws the two percentiles of a table.
func s0Bars(name, what string, keys []string, rows []Row) []Figure {
	var out []Figure
	for _, p := range []string{"p50", "p99"} {
		var metrics []string
		for _, key := range keys {
			for _, c := range s0Controls(s0Period) {
				metrics = append(metrics, fmt.Sprintf("%s.%s.%s", p, key, c.label))
			}
		}
		title := fmt.Sprintf("S0: %s slowdown by %s and congestion control", p, what)
		f := comparisonChart(name+"."+p, title, Axis{Label: "slowdown", Log: true}, rows, metrics)
		for i := range f.Categories { // one category for each metric, because all have a published value
			f.Categories[i] += ", " + strings.Split(metrics[i], ".")[1]
		}
		out = append(out, f)
	}
	return out
}
