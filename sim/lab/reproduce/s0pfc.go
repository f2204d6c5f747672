package reproduce

import (
	"fmt"

	"fairlane/internal/stats"
)

// planS0PFC measures queues and pauses at the default load (figures 8 and 9). At any time most queues are empty, which S0's
// plots do not show. The distribution is therefore that of nonempty queues. S0 gives the reductions only in words: at least
// tenfold for pauses, 40 to 90 % for the 80th percentile of queues.
func planS0PFC(o Options) ([]job, func() Result) {
	var jobs []job
	var all []*s0Case
	scale := newS0Scale(o, s0Short)
	readings := s0Readings()[:2]
	for _, r := range readings {
		for _, c := range s0Controls(s0Period) {
			cs := &s0Case{control: c, traffic: scale.traffic(r, 60), seed: o.Seed}
			all = append(all, cs)
			jobs = append(jobs, cs.jobs(scale, 1)...)
		}
	}
	return jobs, func() Result {
		var rows []Row
		var figures []Figure
		for i, r := range readings {
			rows = append(rows, s0QueueRows(r, all[4*i:4*i+4], i == 0)...)
		}
		cdf := Figure{
			Name: "s0-pfc.queues", Title: "S0: queues at load 60 %", X: Axis{Label: "queue of a port that holds something", Unit: "KB", Log: true},
			Y: Axis{Label: "part of samples"},
		}
		for _, c := range all[:4] {
			cdf.Series = append(cdf.Series, Series{Name: c.control.label, Steps: true, Points: s0CDF(c.runs[0].standing(), 1e3)})
		}
		figures = append(figures, cdf)
		return Result{Rows: append(rows, s0Health(all)...), Figures: figures}
	}
}

// standing returns the samples of nonempty queues.
func (r *s0Run) standing() []int64 {
	for i, q := range r.queues {
		if q > 0 {
			return r.queues[i:]
		}
	}
	return nil
}

// s0QueueRows returns queues and pauses of the four controls in one reading.
func s0QueueRows(r s0Reading, cases []*s0Case, base bool) []Row {
	tail := "." + r.label
	if base {
		tail = ""
	}
	var rows []Row
	var p80, paused [4]float64
	for i, c := range cases {
		q, _ := stats.Quantile(c.runs[0].standing(), 0.8)
		p80[i], paused[i] = float64(q)/1e3, c.runs[0].paused.Seconds()*1e3
		rows = append(rows,
			unpublished(fmt.Sprintf("paused.%s%s", c.control.label, tail), paused[i], "ms", "all ports and classes together; "+r.note),
			unpublished(fmt.Sprintf("queue-p80.%s%s", c.control.label, tail), p80[i], "KB", r.note))
	}
	for i, c := range cases[1:] {
		rows = append(rows,
			published(fmt.Sprintf("paused-cut.%s%s", c.control.label, tail), 90, reduction(paused[0], paused[i+1]), "%", "published: at least tenfold"),
			unpublished(fmt.Sprintf("queue-p80-cut.%s%s", c.control.label, tail), reduction(p80[0], p80[i+1]), "%", "published: 40 to 90 %"))
	}
	return rows
}

// reduction returns the reduction of a value relative to a reference, in percent; it is 0 if the reference is 0.
func reduction(value, of float64) float64 {
	if of == 0 {
		return 0
	}
	return 100 * (1 - value/of)
}

// s0CDF returns the cumulative distribution of ascending samples at every percent, in units.
func s0CDF(sorted []int64, unit float64) []Point {
	var out []Point
	for p := 1; p <= 100 && len(sorted) > 0; p++ {
		q, _ := stats.Quantile(sorted, float64(p)/100)
		out = append(out, Point{X: float64(q) / unit, Y: float64(p) / 100})
	}
	return out
}
