package reproduce

import (
	"context"
	"fmt"
	"slices"

	"fairlane/internal/quantity"
)

// s3ShortSpan is the time in which flows start in the default run. All runs together then take about one minute of processor
// time. Options.Full uses S3's 10 ms, which takes ten times as long.
const s3ShortSpan = 2 * quantity.Millisecond

// sizeClass is a row of table 8: the name of a bin of flow sizes, and its largest size.
type sizeClass struct {
	name string
	upTo float64
}

func s3SizeClasses() []sizeClass {
	return []sizeClass{
		{"300B", 300}, {"325B", 325}, {"351B", 351}, {"401B", 401}, {"451B", 451}, {"501B", 501}, {"550B", 550},
		{"602B", 602}, {"651B", 651}, {"704B", 704}, {"855B", 855}, {"1KB", 1e3}, {"2KB", 2e3}, {"7KB", 7e3}, {"36KB", 36e3},
		{"46KB", 46e3}, {"69KB", 69e3}, {"124KB", 124e3}, {"336KB", 336e3}, {"10MB", 10e6},
	}
}

// s3Selected returns the classes reported for alternative readings.
func s3Selected() []string { return []string{"300B", "1KB", "7KB", "36KB", "124KB", "336KB", "10MB"} }

// s3Table8 returns the p95 slowdown of S3's seven algorithms by class, the columns of table 8.
func s3Table8() map[string][]float64 {
	return map[string][]float64{
		"pidnn": {
			76.064, 70.922, 76.638, 78.706, 77.562, 81.183, 76.312, 76.632, 85.039, 84.354,
			68.754, 81.509, 82.972, 83.692, 69.164, 68.353, 61.281, 58.559, 71.712, 98.729,
		},
		"rttch": {
			89.064, 79.151, 86.132, 87.052, 88.801, 89.110, 82.280, 85.695, 91.107, 92.864,
			77.882, 84.753, 90.244, 93.057, 71.998, 72.304, 66.258, 56.103, 43.848, 24.493,
		},
		"rttch-win": {
			1.560, 1.505, 1.558, 1.553, 1.571, 1.603, 1.570, 1.543, 1.580, 1.576,
			1.561, 1.579, 1.630, 1.844, 3.892, 4.693, 6.095, 11.222, 28.547, 20.386,
		},
		"hpcc": {
			1.725, 1.777, 1.850, 1.842, 1.856, 1.934, 1.901, 1.730, 1.818, 1.914,
			1.826, 1.870, 1.900, 1.870, 2.094, 2.310, 2.412, 2.623, 3.428, 6.338,
		},
		"timely": {
			206.612, 195.293, 209.355, 203.374, 206.179, 204.360, 199.939, 201.974, 207.490, 201.339,
			202.429, 194.271, 205.625, 201.261, 171.223, 159.647, 145.350, 121.854, 84.506, 34.287,
		},
		"dctcp": {
			3.369, 3.265, 3.443, 3.433, 3.654, 3.415, 3.628, 3.280, 3.521, 3.573,
			3.207, 3.440, 3.474, 3.351, 3.234, 3.305, 3.367, 3.165, 3.869, 6.273,
		},
		"dcqcn": {
			182.315, 171.817, 181.984, 176.648, 176.273, 176.991, 174.634, 172.234, 178.379, 180.477,
			173.332, 172.369, 175.972, 172.856, 148.273, 139.570, 125.073, 108.084, 71.945, 27.963,
		},
	}
}

// fatControl is a run in the fat tree, with the column of table 8 for comparison.
type fatControl struct {
	s3Control
	column string
	note   string
}

// s3FatControls returns the seven algorithms of table 8 as described in the text.
func s3FatControls() []fatControl {
	neural := func(column string, values map[string]string) fatControl {
		return fatControl{s3Control{label: column, name: "pidnn", values: values}, column, "starts at 10 Gbit/s as in the incast; S3 gives no first rate here"}
	}
	out := []fatControl{
		neural("pidnn", nil),
		neural("rttch", map[string]string{"rttch": "both"}),
		neural("rttch-win", map[string]string{"rttch": "both", "window": "variable"}),
	}
	for _, c := range append(s3Peers(), s3Control{label: "dcqcn", name: "dcqcn-peer"}) {
		out = append(out, fatControl{c, c.label, ""})
	}
	return out
}

// s3FatReadings returns alternative readings of the neural control in the fat tree: the initial rate, which S3 gives only for
// its incast (10 Gbit/s); the mean deviation of RTTch, from the current target or from the target at the time of each sample;
// and the window, proportional to the rate or fixed. A short run includes only the first three.
func s3FatReadings() []fatControl {
	var out []fatControl
	add := func(column, suffix, note string, pairs ...string) {
		values := make(map[string]string)
		for i := 0; i+1 < len(pairs); i += 2 {
			values[pairs[i]] = pairs[i+1]
		}
		out = append(out, fatControl{s3Control{label: column + "-" + suffix, name: "pidnn", values: values}, column, note})
	}
	const line, running = "another reading: starts at 100 Gbit/s", "another reading: deviations from the target of each sample's time"
	add("pidnn", "line", line, "start_rate", "100Gbps")
	add("rttch", "line-running", "both other readings", "rttch", "both", "rttch_mean", "running", "start_rate", "100Gbps")
	add("rttch-win", "line", line, "rttch", "both", "window", "variable", "start_rate", "100Gbps")
	add("rttch", "line", line, "rttch", "both", "start_rate", "100Gbps")
	add("rttch", "running", running, "rttch", "both", "rttch_mean", "running")
	add("rttch-win", "running", running, "rttch", "both", "rttch_mean", "running", "window", "variable")
	add("rttch-win", "line-running", "both other readings", "rttch", "both", "rttch_mean", "running", "window", "variable", "start_rate", "100Gbps")
	add("rttch-win", "fixed", "another reading: a window of one bandwidth-delay product", "rttch", "both", "window", "fixed")
	return out
}

// planSlowdown repeats S3's table 8.
func planSlowdown(o Options) ([]job, func() Result) {
	if o.Full {
		return slowdownJobs(o.Seed, s3Span, s3FatControls(), s3FatReadings())
	}
	return slowdownJobs(o.Seed, s3ShortSpan, s3FatControls(), s3FatReadings()[:3])
}

// slowdownJobs runs base and readings over the same flows.
func slowdownJobs(seed uint64, span quantity.Picoseconds, base, readings []fatControl) ([]job, func() Result) {
	controls := slices.Concat(base, readings)
	runs := make([]*slowdownRun, len(controls))
	var jobs []job
	for i := range controls {
		jobs = append(jobs, func(ctx context.Context) error {
			flows, err := s3Traffic(seed, span)
			if err == nil {
				runs[i], err = runSlowdown(ctx, controls[i].s3Control, seed, flows)
			}
			if err != nil {
				return fmt.Errorf("fat tree, %s: %w", controls[i].label, err)
			}
			return nil
		})
	}
	return jobs, func() Result {
		var rows []Row
		bins := make([][]sizeBin, len(runs))
		for i, r := range runs {
			bins[i] = bySize(r.normal)
			rows = append(rows, slowdownRows(controls[i], r, bins[i], i >= len(base))...)
		}
		for _, name := range []string{"300B", "10MB"} {
			rows = append(rows, rankBySlowdown(base, bins, name)...)
		}
		rows = append(rows, trafficRows(runs[0], span)...)
		return Result{Rows: rows, Figures: []Figure{
			slowdownFigure("s3-slowdown.p95", fmt.Sprintf("S3, table 8: p95 slowdown by flow size, flows of %s (S3: %s)", span, s3Span), base, bins[:len(base)]),
			slowdownFigure("s3-slowdown.readings", fmt.Sprintf("S3, table 8: other readings of the neural control, flows of %s (S3: %s)", span, s3Span), readings, bins[len(base):]),
		}}
	}
}

// slowdownRows reports one run; for a reading, only the selected classes.
func slowdownRows(c fatControl, r *slowdownRun, bins []sizeBin, reading bool) []Row {
	var rows []Row
	column := s3Table8()[c.column]
	for i, class := range s3SizeClasses() {
		if i < len(bins) && (!reading || slices.Contains(s3Selected(), class.name)) {
			rows = append(rows, published("p95-"+class.name+"."+c.label, column[i], bins[i].p95, "", c.note))
		}
	}
	incasts := bySize(r.burst)
	if len(incasts) > 0 {
		rows = append(rows, unpublished("p95-incast."+c.label, incasts[0].p95, "", "flows of the incasts, which table 8 leaves out"))
	}
	return append(rows, unpublished("pauses."+c.label, float64(r.pauses), "", "PFC pause frames"))
}

// rankBySlowdown ranks the seven algorithms in one class of sizes; 1 is the lowest slowdown.
func rankBySlowdown(base []fatControl, bins [][]sizeBin, name string) []Row {
	at := slices.IndexFunc(s3SizeClasses(), func(c sizeClass) bool { return c.name == name })
	var printed, ours []float64
	for i := range base {
		printed = append(printed, s3Table8()[base[i].column][at])
		ours = append(ours, bins[i][at].p95)
	}
	var rows []Row
	for i := range base {
		rows = append(rows, published("rank-"+name+"."+base[i].label, rankOf(printed, i), rankOf(ours, i), "", "among the algorithms of table 8, 1 is best"))
	}
	return rows
}

// trafficRows describes the traffic.
func trafficRows(r *slowdownRun, span quantity.Picoseconds) []Row {
	note := fmt.Sprintf("S3: about 100,000 within %s; here within %s", s3Span, span)
	return []Row{
		unpublished("flows", float64(len(r.normal)), "", note),
		unpublished("incasts", float64(len(r.burst))/s3FanIn, "", fmt.Sprintf("S3: 34 within %s; here within %s", s3Span, span)),
	}
}

// slowdownFigure returns a chart of the runs and of their columns in table 8, without duplicate columns.
func slowdownFigure(name, title string, controls []fatControl, bins [][]sizeBin) Figure {
	f := Figure{
		Name: name, Title: title,
		X: Axis{Label: "flow size", Unit: "B", Log: true}, Y: Axis{Label: "p95 slowdown", Log: true},
	}
	shown := make(map[string]bool)
	for i, c := range controls {
		ours := Series{Name: c.label, Group: c.column}
		for _, b := range bins[i] {
			ours.Points = append(ours.Points, Point{float64(b.upTo), b.p95})
		}
		f.Series = append(f.Series, ours)
		if shown[c.column] {
			continue
		}
		shown[c.column] = true
		printed := Series{Name: c.column + ", published", Group: c.column, Published: true}
		for k, class := range s3SizeClasses() {
			printed.Points = append(printed.Points, Point{class.upTo, s3Table8()[c.column][k]})
		}
		f.Series = append(f.Series, printed)
	}
	return f
}
