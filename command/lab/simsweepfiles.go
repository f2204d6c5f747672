package lab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"fairlane/internal/buildinfo"
	"fairlane/internal/plot"
	"fairlane/internal/quantity"
	"fairlane/sim/record"
	"fairlane/sim/scenario"
)

// saveSweep writes the runs, the means and, if exactly one path has several values, charts.
func saveSweep(path, name string, sweep *scenario.Sweep, points []scenario.SweepPoint) error {
	dir, err := record.NewDir(path, record.Header{Scenario: name, Version: buildinfo.Version()})
	if err != nil {
		return err
	}
	err = errors.Join(
		writeCSV(dir, "runs.csv", name, runRows(sweep, points)),
		writeCSV(dir, "settings.csv", name, meanRows(sweep, points)),
		writeResult(dir, points),
	)
	if err = errors.Join(err, dir.Finish(err)); err != nil {
		return err
	}
	varied := -1
	for i, x := range sweep.Axes {
		switch {
		case len(x.Values) == 1:
		case varied >= 0:
			return nil
		default:
			varied = i
		}
	}
	if varied < 0 {
		return nil
	}
	return saveSweepCharts(path, name, sweep, points, varied)
}

// sweepFlows writes the flows of each Ethernet run of a sweep to a separate directory, named by the number of the run.
func sweepFlows(path string, sweep *scenario.Sweep) scenario.RunRecorder {
	return func(n int, s *scenario.Scenario) (scenario.Recorder, func(error) error, error) {
		dir, err := record.NewDir(filepath.Join(path, fmt.Sprintf("run-%05d", n)), record.Header{
			Scenario: settingsText(sweep.Settings(n)) + s.Name, Seed: s.Config.Seed, Version: buildinfo.Version(),
		})
		if err != nil {
			return nil, nil, err
		}
		flows, err := dir.FlowsCSV(traceColumns(s)...)
		if err != nil {
			return nil, nil, errors.Join(err, dir.Finish(err))
		}
		return flowsOnly{flows}, dir.Finish, nil
	}
}

// flowsOnly records only the flows of a run.
type flowsOnly struct{ flows *record.Flows }

var _ scenario.Recorder = flowsOnly{}

func (f flowsOnly) Flow(r scenario.FlowRecord) error { return f.flows.Write(flowRow(&r)) }

func (f flowsOnly) Rate(quantity.Picoseconds, string, int64, quantity.BitRate) error { return nil }

func (f flowsOnly) Queue(quantity.Picoseconds, string, int64) error { return nil }

func writeCSV(dir *record.Dir, file, name string, rows [][]string) error {
	f, err := dir.Create(file)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, "# scenario: "+strconv.Quote(name)+"\n# version: "+buildinfo.Version()+"\n"); err != nil {
		return err
	}
	return csv.NewWriter(f).WriteAll(rows)
}

// number returns a figure for a file: with all digits, or empty.
func number(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func runRows(sweep *scenario.Sweep, points []scenario.SweepPoint) [][]string {
	var head []string
	for _, x := range sweep.Axes {
		head = append(head, x.Path)
	}
	head = append(head, "seed", "finished")
	for _, m := range scenario.AllMeasures() {
		head = append(head, m.String())
	}
	rows := [][]string{append(head, "digest", "error", "run")}
	for i := range points {
		for k := range points[i].Runs {
			r := &points[i].Runs[k]
			row := append(valuesOf(points[i].Settings), strconv.FormatUint(r.Seed, 10), strconv.FormatBool(r.Finished))
			for _, v := range r.Measures {
				row = append(row, number(v))
			}
			rows = append(rows, append(row, r.Digest, r.Error, strconv.Itoa(r.Number)))
		}
	}
	return rows
}

func meanRows(sweep *scenario.Sweep, points []scenario.SweepPoint) [][]string {
	var head []string
	for _, x := range sweep.Axes {
		head = append(head, x.Path)
	}
	head = append(head, "runs")
	for _, m := range scenario.AllMeasures() {
		head = append(head, m.String()+"_mean", m.String()+"_sd")
	}
	rows := [][]string{head}
	for i := range points {
		p := &points[i]
		row := append(valuesOf(p.Settings), strconv.Itoa(goodRuns(p)))
		for m := range p.Mean {
			row = append(row, number(p.Mean[m]), number(p.Deviation[m]))
		}
		rows = append(rows, row)
	}
	return rows
}

func valuesOf(settings []scenario.Setting) []string {
	var out []string
	for _, s := range settings {
		out = append(out, s.Value)
	}
	return out
}

// sweepChart is the content of one chart of a sweep.
type sweepChart struct {
	file, title string
	y           plot.Axis
	measures    []scenario.Measure
	names       []string
}

func sweepCharts() []sweepChart {
	return []sweepChart{
		{"fct", "Mean flow completion time", plot.Axis{Label: "completion time", Unit: "us"}, []scenario.Measure{scenario.FCTMean}, []string{"mean of the flows"}},
		{"slowdown", "Slowdown", plot.Axis{Label: "slowdown"}, []scenario.Measure{scenario.SlowdownP50, scenario.SlowdownP99}, []string{"p50", "p99"}},
		{"fairness", "Use and fairness", plot.Axis{Label: "part of 1"},
			[]scenario.Measure{scenario.Utilisation, scenario.Jain, scenario.ShareError}, []string{"use of the busiest link", "Jain index by weight", "largest share error"}},
	}
}

// saveSweepCharts draws each figure over the values of the only axis with several: the mean over the seeds between
// minimum and maximum.
func saveSweepCharts(path, name string, sweep *scenario.Sweep, points []scenario.SweepPoint, varied int) error {
	values := valuesOfPoints(points, varied)
	axis, xs := valueAxis(sweep.Axes[varied].Path, values)
	var errs []error
	for _, c := range sweepCharts() {
		chart := plot.Chart{
			Title: c.title, Subtitle: fmt.Sprintf("scenario %s, %d seeds, fairlane %s", name, len(sweep.Seeds), buildinfo.Version()), X: axis, Y: c.y,
		}
		if xs == nil {
			chart.Categories = values
		}
		for i, m := range c.measures {
			ranges := len(sweep.Seeds) > 1 && (xs != nil || len(c.measures) == 1) // with bars of several figures there is no room for ranges
			chart.Series = append(chart.Series, sweepSeries(points, m, c.names[i], xs, ranges)...)
		}
		if chart.Series = drawable(chart.Series); len(chart.Series) > 0 && len(chart.Categories) <= plot.MaxCategories {
			errs = append(errs, chart.Save(path, c.file))
		}
	}
	return errors.Join(errs...)
}

func valuesOfPoints(points []scenario.SweepPoint, axis int) []string {
	var out []string
	for i := range points {
		out = append(out, points[i].Settings[axis].Value)
	}
	return out
}

// sweepSeries returns the mean, the minimum and the maximum of a figure; without xs, as bars.
func sweepSeries(points []scenario.SweepPoint, m scenario.Measure, name string, xs []float64, ranges bool) []plot.Series {
	kind := plot.LinePoints
	if xs == nil {
		kind = plot.Bars
	}
	mean := plot.Series{Name: name, Kind: kind, Group: name}
	least := plot.Series{Name: name + ", least of the seeds", Kind: kind, Group: name, Dashed: true}
	most := plot.Series{Name: name + ", greatest of the seeds", Kind: kind, Group: name, Dashed: true}
	for i := range points {
		x := float64(i)
		if xs != nil {
			x = xs[i]
		}
		low, high := math.Inf(1), math.Inf(-1)
		for k := range points[i].Runs {
			if r := &points[i].Runs[k]; r.Error == "" && !math.IsNaN(r.Measures[m]) {
				low, high = min(low, r.Measures[m]), max(high, r.Measures[m])
			}
		}
		if low > high {
			continue
		}
		mean.Points = append(mean.Points, plot.Point{X: x, Y: points[i].Mean[m]})
		least.Points = append(least.Points, plot.Point{X: x, Y: low})
		most.Points = append(most.Points, plot.Point{X: x, Y: high})
	}
	if xs != nil {
		for _, s := range []*plot.Series{&mean, &least, &most} {
			slices.SortFunc(s.Points, func(a, b plot.Point) int {
				if a.X < b.X {
					return -1
				}
				return 1
			})
		}
	}
	switch {
	case !ranges:
		return []plot.Series{mean}
	case xs == nil: // adjacent bars: each with its own colour
		mean.Group, least.Group, most.Group = "", "", ""
		return []plot.Series{least, mean, most}
	}
	least.Kind, most.Kind = plot.Line, plot.Line
	return []plot.Series{mean, least, most}
}

// valueAxis returns the positions of the values on a linear axis if they are numbers of one kind; otherwise it returns
// no positions, and the values are names.
func valueAxis(path string, values []string) (plot.Axis, []float64) {
	kinds := []struct {
		unit  string
		parse func(string) (float64, error)
	}{
		{"", func(s string) (float64, error) { v, err := strconv.ParseFloat(s, 64); return v, err }},
		{"us", func(s string) (float64, error) { v, err := quantity.ParsePicoseconds(s); return v.Seconds() * 1e6, err }},
		{"Gbit/s", func(s string) (float64, error) { v, err := quantity.ParseBitRate(s); return v.Gbit(), err }},
	}
	for _, k := range kinds {
		var xs []float64
		low, high := math.Inf(1), math.Inf(-1)
		for _, text := range values {
			v, err := k.parse(text)
			if err != nil || math.IsNaN(v) || math.Abs(v) > plot.MaxValue {
				break
			}
			xs, low, high = append(xs, v), min(low, v), max(high, v)
		}
		if len(xs) == len(values) && len(xs) > 0 {
			return plot.Axis{Label: path, Unit: k.unit, Log: low > 1/plot.MaxValue && high >= 30*low}, xs
		}
	}
	return plot.Axis{Label: path}, nil
}
