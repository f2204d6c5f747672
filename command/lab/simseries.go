package lab

import (
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"fairlane/internal/phrase"
	"fairlane/internal/plot"
	"fairlane/internal/quantity"
	"fairlane/sim/record"
	"fairlane/sim/scenario"
)

// seriesFlags adds the flags for time series.
func (a *app) seriesFlags(cmd *cobra.Command, t *scenario.SeriesText) {
	cmd.Flags().StringVar(&t.Values, "series", "", a.T("sim.run.flag.series"))
	cmd.Flags().StringVar(&t.Every, "series-every", "", a.T("sim.run.flag.series.every"))
	cmd.Flags().StringVar(&t.Flows, "series-flows", "", a.T("sim.run.flag.series.flows"))
	cmd.Flags().StringVar(&t.Ports, "series-ports", "", a.T("sim.run.flag.series.ports"))
}

// chooseSeries replaces the series of the scenario by those of the flags.
func (f *simRunFlags) chooseSeries(s *scenario.Scenario) error {
	given := f.series != scenario.SeriesText{}
	if given && f.out == "" && !f.dryRun {
		return &phrase.Error{Text: phrase.Of("usage.series-out")}
	}
	if given || s.Ethernet != nil && s.Ethernet.Series != nil {
		return s.SetSeries(f.series)
	}
	return nil
}

// simSeries writes the time series of a run to files. It is a scenario.SeriesRecorder.
type simSeries struct {
	cfg    *scenario.Series
	flows  *record.FlowSeries
	queues *record.QueueSeries
	pauses *record.Pauses
	values []seriesColumn // of flows
	row    []float64
	charts []*seriesChart // of values
	queue  *seriesChart
}

// seriesColumn defines how a value of flows is written and drawn.
type seriesColumn struct {
	column, title string
	y             plot.Axis
	scale         float64 // of the drawn value
	of            func(*scenario.FlowSample) float64
}

func seriesColumns() map[scenario.SeriesValue]seriesColumn {
	some := func(v float64) float64 { // 0 means unknown
		if v == 0 {
			return math.NaN()
		}
		return v
	}
	gbit := plot.Axis{Label: "on the wire", Unit: "Gbit/s"}
	return map[scenario.SeriesValue]seriesColumn{
		scenario.SeriesRate:   {"rate_bps", "Rate of the pacer", gbit, 1e-9, func(s *scenario.FlowSample) float64 { return math.Round(s.Rate) }},
		scenario.SeriesTarget: {"target_bps", "Target rate", gbit, 1e-9, func(s *scenario.FlowSample) float64 { return math.Round(s.Target) }},
		scenario.SeriesAlpha:  {"alpha", "Alpha", plot.Axis{Label: "alpha"}, 1, func(s *scenario.FlowSample) float64 { return s.Alpha }},
		scenario.SeriesRTT: {"rtt_us", "Round trip of the last acknowledgement", plot.Axis{Label: "round trip", Unit: "us"}, 1,
			func(s *scenario.FlowSample) float64 { return some(s.RTT.Seconds() * 1e6) }},
		scenario.SeriesWindow: {"window_bytes", "Window", plot.Axis{Label: "window", Unit: "KB"}, 1e-3, func(s *scenario.FlowSample) float64 { return some(float64(s.Window)) }},
	}
}

// newSimSeries creates the files for the series that a scenario requests; nil if there are none.
func newSimSeries(dir *record.Dir, s *scenario.Scenario) (*simSeries, error) {
	if s.Ethernet.Series == nil {
		return nil, nil
	}
	out := &simSeries{cfg: s.Ethernet.Series}
	var columns []string
	for _, v := range scenario.FlowSeries() {
		if c := seriesColumns()[v]; out.cfg.Has(v) {
			out.values, columns = append(out.values, c), append(columns, c.column)
			out.charts = append(out.charts, &seriesChart{name: "series-" + string(v), title: c.title, y: c.y, scale: c.scale})
		}
	}
	var errs [3]error
	if len(columns) > 0 {
		out.flows, errs[0] = dir.FlowSeries(columns...)
	}
	if out.cfg.Has(scenario.SeriesQueue) {
		out.queues, errs[1] = dir.QueueSeries()
		out.queue = &seriesChart{name: "series-queue", title: "Queues", y: plot.Axis{Label: "queue", Unit: "KB"}, scale: 1e-3}
	}
	if out.cfg.Has(scenario.SeriesPFC) {
		out.pauses, errs[2] = dir.Pauses()
	}
	return out, errors.Join(errs[:]...)
}

var _ scenario.SeriesRecorder = (*simSeries)(nil)

func (s *simSeries) FlowSample(f scenario.FlowSample) error {
	name, traceFlow := fmt.Sprintf("flow %d", f.ID), int64(-1)
	if f.Origin != nil {
		traceFlow = f.Origin.Flow
		name = fmt.Sprintf("flow %d", traceFlow)
	}
	s.row = s.row[:0]
	for i := range s.values {
		value := s.values[i].of(&f)
		s.row = append(s.row, value)
		s.charts[i].add(f.ID, name, f.At, value)
	}
	return s.flows.Write(f.At, f.ID, traceFlow, s.row)
}

func (s *simSeries) QueueSample(at quantity.Picoseconds, port string, bytes int64) error {
	s.queue.add(port, port, at, float64(bytes))
	return s.queues.Write(at, port, bytes)
}

func (s *simSeries) Pause(at quantity.Picoseconds, port string, class uint8, begin bool) error {
	return s.pauses.Write(at, port, class, begin)
}

// missing reports which files lack rows, and which have none.
func (s *simSeries) missing(a *app) []string {
	var out []string
	say := func(f *record.File, from quantity.Picoseconds, cut bool) {
		if cut {
			out = append(out, a.T("sim.run.series.cut", "file", f.Name(), "rows", record.MaxSeriesRows, "from", from))
		}
	}
	if s.flows != nil {
		at, cut := s.flows.Cut()
		say(s.flows.File(), at, cut)
		if s.flows.File().Rows() == 0 {
			out = append(out, a.T("sim.run.series.none", "file", s.flows.File().Name()))
		}
	}
	if s.queues != nil {
		at, cut := s.queues.Cut()
		say(s.queues.File(), at, cut)
	}
	if s.pauses != nil {
		at, cut := s.pauses.Cut()
		say(s.pauses.File(), at, cut)
	}
	return out
}

// seriesChart draws one value of the first flows or ports that have it.
type seriesChart struct {
	name, title string
	y           plot.Axis
	scale       float64
	place       map[any]int // of flows by number, of ports by name
	lines       []plot.Series
}

func (c *seriesChart) add(key any, name string, at quantity.Picoseconds, v float64) {
	i, ok := c.place[key]
	if !ok {
		if len(c.lines) == plot.MaxSeries || math.IsNaN(v) {
			return
		}
		if c.place == nil {
			c.place = make(map[any]int)
		}
		i = len(c.lines)
		c.place[key] = i
		c.lines = append(c.lines, plot.Series{Name: name})
	}
	if l := &c.lines[i]; len(l.Points) < chartedPoints && !math.IsNaN(v) {
		l.Points = append(l.Points, plot.Point{X: at.Seconds() * 1e3, Y: v * c.scale})
	}
}

// all returns the charts with data.
func (s *simSeries) all() []*seriesChart {
	if s.queue != nil {
		return append(s.charts, s.queue)
	}
	return s.charts
}

func (c *seriesChart) chart() plot.Chart {
	return plot.Chart{Title: c.title, X: plot.Axis{Label: "time", Unit: "ms"}, Y: c.y, Series: c.lines}
}
