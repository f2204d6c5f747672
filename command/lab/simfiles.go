package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"fairlane/internal/buildinfo"
	"fairlane/internal/plot"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/record"
	"fairlane/sim/scenario"
)

// Limits of the chart of single flows.
const (
	chartedFlows  = 16
	chartedPoints = 20_000 // of one flow
)

// simFiles writes the results of a run to a directory during the run. It is a scenario.Recorder.
type simFiles struct {
	dir    *record.Dir
	flows  *record.Flows
	rates  *record.Rates
	queues *record.Queues
	series *simSeries // nil: no time series
	// perFlow are the rates of the first flows, for a chart; nil if there are too many.
	perFlow []plot.Series
}

func newSimFiles(path string, s *scenario.Scenario) (*simFiles, error) {
	dir, err := record.NewDir(path, record.Header{Scenario: s.Name, Seed: s.Config.Seed, Version: buildinfo.Version()})
	if err != nil {
		return nil, err
	}
	f := &simFiles{dir: dir}
	var errs [4]error
	f.flows, errs[0] = dir.FlowsCSV(traceColumns(s)...)
	f.rates, errs[1] = dir.Rates()
	f.queues, errs[2] = dir.Queues()
	f.series, errs[3] = newSimSeries(dir, s)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, dir.Finish(err))
	}
	if s.Estimate().Flows <= chartedFlows {
		f.perFlow = make([]plot.Series, chartedFlows)
	}
	return f, nil
}

var _ scenario.Recorder = (*simFiles)(nil)

func (f *simFiles) Flow(r scenario.FlowRecord) error {
	return f.flows.Write(flowRow(&r))
}

// traceColumns lists the columns of flows.csv that come from traces: numbers and tags of flows.
func traceColumns(s *scenario.Scenario) []string {
	if !s.HasTraces() {
		return nil
	}
	return append([]string{"flow_id"}, s.TagColumns()...)
}

// flowRow returns the row of a flow in flows.csv.
func flowRow(r *scenario.FlowRecord) record.Flow {
	row := record.Flow{
		ID: uint64(r.ID), Tenant: r.Tenant, Src: r.Src, Dst: r.Dst, Size: r.Bytes, Start: r.Start, FCT: r.FCT, Ideal: r.Ideal,
	}
	if r.Origin != nil {
		row.Extra = append([]string{strconv.FormatInt(r.Origin.Flow, 10)}, r.Origin.Tags...)
	}
	return row
}

func (f *simFiles) Rate(at quantity.Picoseconds, tenant string, flow int64, rate quantity.BitRate) error {
	if flow < 0 {
		return f.rates.Write(at, tenant, "", rate)
	}
	if int(flow) < len(f.perFlow) && len(f.perFlow[flow].Points) < chartedPoints {
		s := &f.perFlow[flow]
		s.Name = fmt.Sprintf("flow %d (%s)", flow, tenant)
		s.Points = append(s.Points, plot.Point{X: at.Seconds() * 1e3, Y: rate.Gbit()})
	}
	return f.rates.Write(at, tenant, strconv.FormatInt(flow, 10), rate)
}

func (f *simFiles) Queue(at quantity.Picoseconds, port string, bytes int64) error {
	return f.queues.Write(at, port, 0, bytes)
}

// finish writes the result and the charts, and gives the files their final names. An interrupted run also has a result,
// which is marked; without a result, the files keep their temporary names.
func (f *simFiles) finish(r *scenario.EtherResult, cause error) error {
	if r == nil {
		return f.dir.Finish(cause)
	}
	if err := errors.Join(writeResult(f.dir, r), writeSlowdowns(f.dir, r)); err != nil {
		return errors.Join(err, f.dir.Finish(err))
	}
	if err := f.dir.Finish(nil); err != nil {
		return err
	}
	return f.charts(r)
}

// writeSlowdowns writes the tables of slowdowns: that of all flows, with empty column and tag, and that of each tag.
func writeSlowdowns(dir *record.Dir, r *scenario.EtherResult) error {
	rows := [][]string{{"column", "tag", "above_bytes", "up_to_bytes", "flows", "mean", "p50", "p95", "p99", "max"}}
	add := func(column, tag string, of ...stats.SlowdownRow) {
		for _, s := range of {
			rows = append(rows, []string{
				column, tag, strconv.FormatInt(s.Above, 10), strconv.FormatInt(s.UpTo, 10), strconv.FormatUint(s.Flows, 10),
				number(s.Mean), number(s.P50), number(s.P95), number(s.P99), number(s.Max),
			})
		}
	}
	add("", "", append(r.BySize, r.Slowdown)...)
	for _, t := range r.ByTag {
		add(t.Column, t.Tag, append(t.BySize, t.All)...)
	}
	return writeCSV(dir, "slowdown.csv", r.Scenario, rows)
}

func writeResult(dir *record.Dir, r any) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	file, err := dir.Create("result.json")
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	return err
}

// charts draws the charts that have data.
func (f *simFiles) charts(r *scenario.EtherResult) error {
	from := fmt.Sprintf("scenario %s, seed %d, fairlane %s", r.Scenario, r.Seed, buildinfo.Version())
	var errs []error
	save := func(name string, c plot.Chart) {
		c.Subtitle = from
		c.Series = drawable(c.Series)
		if len(c.Series) > 0 {
			errs = append(errs, c.Save(f.dir.Path(), name))
		}
	}
	save("rates", tenantRates(r))
	if f.series != nil {
		for _, c := range f.series.all() {
			save(c.name, c.chart())
		}
	}
	save("flow-rates", plot.Chart{
		Title: "Rate of flows", X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "payload", Unit: "Gbit/s"}, Series: f.perFlow,
	})
	slow, err := slowdowns(r.BySize)
	errs = append(errs, err)
	save("slowdown", slow)
	save("fct", cdf("Flow completion time", plot.Axis{Label: "completion time", Unit: "us", Log: true}, r.Curves.FCT, 1e6))
	save("rtt", cdf("Round-trip time", plot.Axis{Label: "round trip", Unit: "us", Log: true}, r.Curves.RTT, 1e6))
	save("queues", cdf("Queues of switch ports that hold something", plot.Axis{Label: "queue", Unit: "KB", Log: true}, r.Curves.Queue, 1e3))
	return errors.Join(errs...)
}

// slowdowns draws the slowdown over the sizes of flows; if there is only one bin, as bars.
func slowdowns(rows []stats.SlowdownRow) (plot.Chart, error) {
	if len(rows) == 1 {
		s := plot.Series{Kind: plot.Bars}
		for i, v := range []float64{rows[0].P50, rows[0].P95, rows[0].P99, rows[0].Max} {
			s.Points = append(s.Points, plot.Point{X: float64(i), Y: v})
		}
		return plot.Chart{
			Title: fmt.Sprintf("Slowdown of %d flows", rows[0].Flows), Y: plot.Axis{Label: "slowdown"}, Series: []plot.Series{s},
			Categories: []string{"p50", "p95", "p99", "max"},
		}, nil
	}
	slow, err := plot.SlowdownBySize("Slowdown by flow size", 95, []plot.SlowdownSeries{{Name: "p95", Rows: rows}})
	if err != nil {
		return plot.Chart{}, err
	}
	median, _ := plot.SlowdownBySize("", 50, []plot.SlowdownSeries{{Name: "p50", Rows: rows}})
	tail, _ := plot.SlowdownBySize("", 99, []plot.SlowdownSeries{{Name: "p99", Rows: rows}})
	slow.Series = append(append(median.Series, slow.Series...), tail.Series...)
	slow.Y.Label = "slowdown"
	return slow, nil
}

func cdf(title string, x plot.Axis, h *stats.Histogram, unit float64) plot.Chart {
	return plot.CDFs(title, x, []plot.Distribution{{Points: plot.HistogramCDF(h, unit)}})
}

// drawable omits series without points, and those beyond the limit of a chart.
func drawable(all []plot.Series) []plot.Series {
	var out []plot.Series
	for _, s := range all {
		if len(s.Points) > 0 && len(out) < plot.MaxSeries {
			out = append(out, s)
		}
	}
	return out
}

// tenantRates draws the payload rate of each tenant.
func tenantRates(r *scenario.EtherResult) plot.Chart {
	c := plot.Chart{Title: "Rate of tenants", X: plot.Axis{Label: "time", Unit: "ms"}, Y: plot.Axis{Label: "payload", Unit: "Gbit/s"}}
	for _, t := range r.Tenants {
		s := plot.Series{Name: t.Name, Kind: plot.Steps}
		if len(r.Tenants) == 1 {
			s.Name = "" // a single series needs no legend
		}
		from := 0.0
		for i, rate := range t.RateBps {
			s.Points = append(s.Points, plot.Point{X: from, Y: rate.Gbit()})
			from = r.TimesS[i] * 1e3
		}
		if n := len(t.RateBps); n > 0 {
			s.Points = append(s.Points, plot.Point{X: from, Y: t.RateBps[n-1].Gbit()})
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// saveInfiniBand writes the results of an InfiniBand run.
func saveInfiniBand(path string, r *scenario.Result) error {
	dir, err := record.NewDir(path, record.Header{Scenario: r.Scenario, Seed: r.Seed, Version: buildinfo.Version()})
	if err != nil {
		return err
	}
	err = writeInfiniBand(dir, r)
	if err = errors.Join(err, dir.Finish(err)); err != nil {
		return err
	}
	interval := quantity.Picoseconds(r.IntervalS * 1e12)
	var rates []plot.Rate
	for _, t := range r.Tenants[:min(len(r.Tenants), plot.MaxSeries)] {
		rates = append(rates, plot.Rate{Name: t.Name, Bps: t.RateBps})
	}
	if len(rates) == 0 {
		return nil
	}
	c := plot.RatesOverTime("Rate of tenants", interval, rates)
	c.Subtitle = fmt.Sprintf("scenario %s, seed %d, fairlane %s", r.Scenario, r.Seed, buildinfo.Version())
	return c.Save(path, "rates")
}

func writeInfiniBand(dir *record.Dir, r *scenario.Result) error {
	if err := writeResult(dir, r); err != nil {
		return err
	}
	rates, err := dir.Rates()
	if err != nil {
		return err
	}
	at := func(i int) quantity.Picoseconds {
		return quantity.Picoseconds(min(float64(i+1)*r.IntervalS, r.SimulatedS) * 1e12)
	}
	for _, t := range r.Tenants {
		for i, v := range t.RateBps {
			if err := rates.Write(at(i), t.Name, "", v); err != nil {
				return err
			}
		}
	}
	for n, f := range r.Flows {
		for i, v := range f.RateBps {
			if err := rates.Write(at(i), f.Tenant, strconv.Itoa(n), v); err != nil {
				return err
			}
		}
	}
	return nil
}
