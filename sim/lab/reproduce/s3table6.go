package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/stats"
)

// s3Published are S3's values of one run of the incast: us, Gbit/s and ms. Zero means not given.
type s3Published struct{ mean, rate, p99, most, fct, last float64 }

// s3Incasts returns the runs of table 6 and of the controller without prediction (4.2.3), with the printed values.
func s3Incasts() ([]s3Control, []s3Published) {
	pid := []s3Control{
		{label: "pidnn", name: "pidnn"},
		{label: "pid", name: "pidnn", values: map[string]string{"predictor": "false"}},
	}
	return append(pid, s3Peers()...), []s3Published{
		{5.0302, 21.1789, 6.276, 21.144, 11.9930, 53.7560},
		{4.9616, 14.7977, 7.462, 24.552, 0, 0},
		{4.3223, 16.3949, 4.56, 90.48, 0, 0},
		{11.9797, 15.6302, 102.673, 165.244, 0, 0},
		{14.6578, 17.4700, 28.054, 86.32, 0, 0},
	}
}

// runIncasts returns a job for each control, and the runs in their order.
func runIncasts(controls []s3Control, sizes []int64) ([]job, []*incastRun) {
	runs := make([]*incastRun, len(controls))
	var jobs []job
	for i, c := range controls {
		jobs = append(jobs, func(ctx context.Context) (err error) {
			if runs[i], err = runIncast(ctx, c, sizes); err != nil {
				return fmt.Errorf("incast, %s: %w", c.label, err)
			}
			return nil
		})
	}
	return jobs, runs
}

// planTable6 repeats S3's table 6: five congestion controls in the 20-to-1 incast. The results are not random.
func planTable6(Options) ([]job, func() Result) {
	controls, printed := s3Incasts()
	base := len(controls)
	readings, of := s3IncastReadings()
	controls = append(controls, readings...)
	jobs, runs := runIncasts(controls, s3Sizes())
	return jobs, func() Result {
		var rows []Row
		figures := make([]incastFigures, base)
		for i, r := range runs[:base] {
			figures[i] = r.figures()
			rows = append(rows, incastRows(controls[i].label, printed[i], figures[i])...)
			rows = append(rows, readingRows(controls[i], printed[i], figures[i])...)
		}
		rows = append(rows, rankRows(controls[:base], printed, figures)...)
		rows = append(rows, unpublished("max-rtt-after-start.timely", runs[timelyAt].tap.largestAfter(4), "us", "without the first four samples of each flow"))
		for i, r := range runs[base:] {
			rows = append(rows, incastRows(readings[i].label, printed[of[i]], r.figures())[:4]...)
		}
		return Result{Rows: rows, Figures: table6Figures(controls[:base], runs[:base], rows)}
	}
}

// timelyAt is TIMELY's index in s3Incasts.
const timelyAt = 3

// s3IncastReadings returns alternative readings of S3's incast, each with the index in s3Incasts of its base: the largest
// change of a rate, 0.5 in equation 20 and 0.6 in table 3; and the switch's buffer, for TIMELY. TIMELY has no window, so PFC
// limits the growth of its queue at the start.
func s3IncastReadings() (controls []s3Control, of []int) {
	controls, of = []s3Control{{label: "pidnn-0.6", name: "pidnn", values: map[string]string{"delta_max": "0.6"}}}, []int{0}
	for _, mib := range []int64{4, 8, 16} {
		controls = append(controls, s3Control{label: fmt.Sprintf("timely-%dMiB", mib), name: "timely", buffer: mib << 20})
		of = append(of, timelyAt)
	}
	return controls, of
}

// incastRows compares our values, by S3's definitions, with those of S3's tables 4 to 6.
func incastRows(label string, p s3Published, f incastFigures) []Row {
	row := func(metric string, printed, ours float64, unit, note string) Row {
		if why := s3Misses()[metric+"."+label]; why != "" {
			note += "; " + why
		}
		if printed == 0 {
			return unpublished(metric+"."+label, ours, unit, note)
		}
		return published(metric+"."+label, printed, ours, unit, note)
	}
	return []Row{
		row("mean-rtt", p.mean, f.mean, "us", fmt.Sprintf("over %d samples of all flows, one at a time of each (equation 29)", f.samples)),
		row("p99-rtt", p.p99, f.p99, "us", "of the same samples"),
		row("max-rtt", p.most, f.most, "us", "of the same samples, the start included (equation 31)"),
		row("mean-rate", p.rate, f.rate, "Gbit/s", "all bytes by the sum of all completion times (equation 30)"),
		row("mean-fct", p.fct, f.fct, "ms", "equation 32"),
		row("last-fct", p.last, f.last, "ms", "equation 33"),
	}
}

// s3Misses returns explanations for measured values that differ by more than 10 % from the published ones.
func s3Misses() map[string]string {
	const weights = "depends on the predictor's weights, which S3 does not print: see s3-predictor"
	const start = "a flow's fourth sample, sent when it makes its first prediction: the same with any predictor and with none"
	return map[string]string{
		"mean-rtt.timely": "start-up: 12.2 to 12.5 with 4 to 16 MiB of buffer",
		"max-rtt.timely":  "start-up without a window: what PFC lets the first queue grow to, 206 with 4 MiB",
		"mean-rtt.dctcp":  "over every ACK it is 1.3 % below the published figure",
		"max-rtt.pidnn":   start, "max-rtt.5us": start, "max-rtt.6us": start,
		"mean-rate.pidnn": weights, "mean-rate.5us": weights, "mean-rate.6us": weights,
		"mean-fct.pidnn": weights, "mean-fct.5us": weights, "mean-fct.6us": weights,
	}
}

// readingRows reports alternative readings of the means.
func readingRows(c s3Control, p s3Published, f incastFigures) []Row {
	label, taken := c.label, "one RTT at a time of each flow, on which alone it acts"
	if c.each {
		taken = "every ACK, on any of which it may act; it measures no RTT"
	}
	return []Row{
		published("mean-rtt-every-ack."+label, p.mean, f.meanEvery, "us", "another reading: over every ACK"),
		published("p99-rtt-every-ack."+label, p.p99, f.p99Every, "us", "another reading: over every ACK"),
		published("mean-rtt-by-flow."+label, p.mean, f.meanByFlow, "us", "another reading: mean over flows of each flow's mean"),
		published("mean-rtt-as-taken."+label, p.mean, f.meanTaken, "us", "another reading, ours: over what the control itself takes, "+taken),
		published("mean-rate-by-flow."+label, p.rate, f.rateFlows, "Gbit/s", "another reading: mean over flows of size by completion time"),
		unpublished("link-rate."+label, f.link, "Gbit/s", "all bytes by the time of the last flow; 95.4 is all that headers leave"),
	}
}

// rankRows ranks the algorithms of table 6 by mean RTT, in three readings, by p99 RTT and by mean rate; 1 is the best.
func rankRows(controls []s3Control, printed []s3Published, ours []incastFigures) []Row {
	var rows []Row
	for _, m := range []struct {
		name    string
		printed func(s3Published) float64
		ours    func(incastFigures) float64
	}{
		{"mean-rtt", func(p s3Published) float64 { return p.mean }, func(f incastFigures) float64 { return f.mean }},
		{"mean-rtt-every-ack", func(p s3Published) float64 { return p.mean }, func(f incastFigures) float64 { return f.meanEvery }},
		{"mean-rtt-as-taken", func(p s3Published) float64 { return p.mean }, func(f incastFigures) float64 { return f.meanTaken }},
		{"p99-rtt", func(p s3Published) float64 { return p.p99 }, func(f incastFigures) float64 { return f.p99 }},
		{"mean-rate", func(p s3Published) float64 { return -p.rate }, func(f incastFigures) float64 { return -f.rate }},
	} {
		var a, b []float64
		for i := range controls {
			if controls[i].label != "pid" { // not in the table
				a, b = append(a, m.printed(printed[i])), append(b, m.ours(ours[i]))
			}
		}
		at := 0
		for i := range controls {
			if controls[i].label != "pid" {
				rows = append(rows, published("rank-"+m.name+"."+controls[i].label, rankOf(a, at), rankOf(b, at), "", "among the four of table 6, 1 is best"))
				at++
			}
		}
	}
	return rows
}

// rankOf returns the rank of an element in ascending order, from 1.
func rankOf(v []float64, i int) float64 {
	n := 1.0
	for _, x := range v {
		if x < v[i] {
			n++
		}
	}
	return n
}

// table6Figures returns bar charts of the means, and distributions of the samples.
func table6Figures(controls []s3Control, runs []*incastRun, rows []Row) []Figure {
	var names [3][]string
	for _, c := range controls {
		for i, m := range []string{"mean-rtt.", "p99-rtt.", "mean-rate."} {
			names[i] = append(names[i], m+c.label)
		}
	}
	cdf := Figure{
		Name: "s3-table6.rtt", Title: "S3, 20-to-1 incast: sampled RTT",
		X: Axis{Label: "RTT", Unit: "us", Log: true}, Y: Axis{Label: "part at or below"},
	}
	for i, c := range controls {
		cdf.Series = append(cdf.Series, Series{Name: c.label, Steps: true, Points: distribution(runs[i].tap.all())})
	}
	return []Figure{
		comparisonChart("s3-table6.mean-rtt", "S3, table 6: mean RTT", Axis{Label: "RTT", Unit: "us"}, rows, names[0]),
		comparisonChart("s3-table6.p99-rtt", "S3, table 6: p99 RTT", Axis{Label: "RTT", Unit: "us"}, rows, names[1]),
		comparisonChart("s3-table6.mean-rate", "S3, table 6: mean rate", Axis{Label: "rate", Unit: "Gbit/s"}, rows, names[2]),
		cdf,
	}
}

// distribution returns the quantiles of values in steps of 1/200, and of 1/10,000 above 0.99.
func distribution(values []float64) []Point {
	sorted := slices.Sorted(slices.Values(values))
	var out []Point
	add := func(q float64) {
		if v, ok := stats.Quantile(sorted, q); ok {
			out = append(out, Point{v, q})
		}
	}
	for i := range 198 {
		add(float64(i) / 200)
	}
	for i := range 101 {
		add(0.99 + float64(i)/10_000)
	}
	return out
}

// largestAfter returns the largest sample that is not among the first n of its flow.
func (t *rttTap) largestAfter(n int) float64 {
	most := 0.0
	for _, s := range t.sampled {
		for _, v := range s[min(n, len(s)):] {
			most = max(most, v)
		}
	}
	return most
}

// planTargets repeats S3's tables 4 and 5: the neural control with targets of 5, 6 and 7 us.
func planTargets(Options) ([]job, func() Result) {
	printed := []s3Published{
		{5.0302, 21.1789, 6.276, 21.144, 11.9930, 53.7560},
		{6.0611, 15.7269, 10.253, 23.986, 16.1507, 53.6880},
		{7.1478, 11.2404, 12.906, 48.699, 22.5970, 53.5559},
	}
	var controls []s3Control
	for _, target := range []string{"5us", "6us", "7us"} {
		controls = append(controls, s3Control{label: target, name: "pidnn", values: map[string]string{"target": target}})
	}
	jobs, runs := runIncasts(controls, s3Sizes())
	return jobs, func() Result {
		var rows []Row
		curve := Figure{
			Name: "s3-targets.rate", Title: "S3, tables 4 and 5: mean rate by mean RTT",
			X: Axis{Label: "mean RTT", Unit: "us"}, Y: Axis{Label: "mean rate", Unit: "Gbit/s"},
			Series: []Series{{Name: "published", Published: true}, {Name: "ours"}},
		}
		for i, r := range runs {
			f := r.figures()
			rows = append(rows, incastRows(controls[i].label, printed[i], f)...)
			curve.Series[0].Points = append(curve.Series[0].Points, Point{printed[i].mean, printed[i].rate})
			curve.Series[1].Points = append(curve.Series[1].Points, Point{f.mean, f.rate})
		}
		return Result{Rows: rows, Figures: []Figure{curve}}
	}
}
