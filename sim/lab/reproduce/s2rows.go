package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
)

// table4 holds the printed values in and below S2's table 4: the minimum rate and the mean throughput in Gbit/s, the completion
// time of the incast in us, and the variance of the shares.
type table4 struct{ least, mean, completion, variance float64 }

func publishedTable4() map[string]table4 {
	p := map[string]table4{
		"dcqcn":   {10.76, 18.74, 5000, 0.15},
		"timely":  {8.95, 23.48, 200, 2.16},
		"dctcp":   {10.78, 25.08, 1400, 1.91},
		"dcqcn-p": {13.28, 23.69, 479, 0.65},
	}
	p["dcqcn-p-limited"] = p["dcqcn-p"]
	return p
}

// table4Labels returns the algorithms of table 4 in the order of the table, with their names in figures.
func table4Labels() [][2]string {
	return [][2]string{{"dcqcn", "DCQCN"}, {"timely", "TIMELY"}, {"dctcp", "DCTCP"}, {"dcqcn-p", "DCQCN-p"}}
}

// s2Done is a run of table 4 with its case.
type s2Done struct {
	s2Case
	run *s2Run
}

// planTable4 runs table 4 for both rates of the receiver, with one flow for each sender and with 4,000.
func planTable4(o Options) ([]job, func() Result) {
	var all []*s2Done
	for _, receiver := range []quantity.BitRate{25 * quantity.Gbps, 100 * quantity.Gbps} {
		for _, flows := range []int{s2Senders, s2Flows} {
			for _, c := range s2Cases(receiver, flows) {
				all = append(all, &s2Done{s2Case: c})
			}
		}
	}
	jobs := []job{}
	for _, d := range all {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			d.run, err = d.s2Case.run(ctx, o.Seed)
			return err
		})
	}
	return jobs, func() Result {
		var out Result
		for _, d := range all {
			out.Rows = append(out.Rows, d.rows()...)
		}
		out.Figures = table4Figures(all)
		return out
	}
}

// rows compares a column of table 4 in the readings that S2's text allows.
func (d *s2Done) rows() []Row {
	p, f := publishedTable4()[d.label], d.run.figures()
	at := fmt.Sprintf(".%s-%dflows-%dg", d.label, d.flows, d.receiver/quantity.Gbps)
	loss := fmt.Sprintf("%d PFC pauses, largest queue %.1f MiB", d.run.pauses, float64(d.run.peak)/mib)
	rows := []Row{
		published("least-rate-link"+at, p.least, f.minLink, "Gbit/s", fmt.Sprintf("payload into the receiver, least of all windows of %s but the first", s2Window)),
		published("least-rate-flow"+at, p.least, f.minFlow, "Gbit/s", "a flow's bytes by its completion time, least of all flows"),
		published("mean-throughput-link"+at, p.mean, f.meanLink, "Gbit/s", "all bytes by the completion time of the last flow; "+loss),
		published("mean-throughput-flow"+at, p.mean, f.meanFlow, "Gbit/s", "a flow's bytes by its completion time, mean of all flows"),
		published("completion-queue"+at, p.completion, f.drained, "us", "until the queue of the receiver's port is below K_min again"),
		published("completion-all"+at, p.completion, f.last, "us", "until the last flow is complete"),
		published("variance-whole"+at, p.variance, f.cv*f.cv, "", "variance of the flows' bytes by completion time, by the square of their mean"),
		published("variance-early"+at, p.variance, f.cvEarly*f.cvEarly, "", fmt.Sprintf("the same of what each flow has had after %s, when none is complete", s2Early)),
	}
	if d.run.fitted > 0 {
		return append(rows, published("completion-rates"+at, p.completion, f.fitted, "us", "until the sum of the senders' rates is no more than the receiver's link"))
	}
	return rows
}

// table4Figures returns charts of the throughput compared with the published one, and over time.
func table4Figures(all []*s2Done) []Figure {
	bars := Figure{Name: "s2-table4.throughput", Title: "S2 table 4: mean throughput of an 80-to-1 incast", Y: Axis{Label: "throughput of the receiver's link", Unit: "Gbit/s"},
		Series: []Series{{Name: "published", Published: true}, {Name: "80 flows"}, {Name: "4,000 flows"}}}
	lines := Figure{Name: "s2-table4.time", Title: "80-to-1 incast, 80 flows into a link of 25 Gbit/s", X: Axis{Label: "time", Unit: "ms"}, Y: Axis{Label: "payload received", Unit: "Gbit/s"}}
	for i, l := range table4Labels() {
		bars.Categories = append(bars.Categories, l[1])
		bars.Series[0].Points = append(bars.Series[0].Points, Point{float64(i), publishedTable4()[l[0]].mean})
		for _, d := range all {
			if d.label != l[0] || d.receiver != 25*quantity.Gbps {
				continue
			}
			k := 1 + slices.Index([]int{s2Senders, s2Flows}, d.flows)
			bars.Series[k].Points = append(bars.Series[k].Points, Point{float64(i), d.run.figures().meanLink})
			if d.flows == s2Senders {
				lines.Series = append(lines.Series, Series{Name: l[1], Steps: true, Points: averaged(d.run.windows, s2Window, 5*quantity.Millisecond)})
			}
		}
	}
	return []Figure{bars, lines}
}

// averaged combines windows of a rate into longer windows; the last window may be shorter. Times are in ms and rates in
// Gbit/s.
func averaged(windows []float64, window, longer quantity.Picoseconds) []Point {
	var out []Point
	for part := range slices.Chunk(windows, int(longer/window)) {
		out = append(out, Point{float64(len(out)) * longer.Seconds() * 1e3, gbit(meanOf(part))})
	}
	return out
}
