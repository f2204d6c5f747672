package plot

import (
	"fmt"
	"slices"

	"fairlane/internal/quantity"
	"fairlane/internal/stats"
)

// Rate is the rate of a tenant or flow over time.
type Rate struct {
	Name string
	// Bps are the rates in consecutive intervals from the start of the run.
	Bps []quantity.BitRate
	// Entitled is drawn as a dashed line of the same colour; 0: no line.
	Entitled quantity.BitRate
}

// RatesOverTime draws rates in consecutive intervals of equal length. For an interval that is not positive, Render
// rejects the chart.
func RatesOverTime(title string, interval quantity.Picoseconds, rates []Rate) Chart {
	longest := 0
	for _, r := range rates {
		longest = max(longest, len(r.Bps))
	}
	unit, div := TimeUnit(interval * quantity.Picoseconds(longest))
	c := Chart{Title: title, X: Axis{Label: "time", Unit: unit}, Y: Axis{Label: "rate", Unit: "Gbit/s"}}
	at := func(i int) float64 { return float64(interval) * float64(i) / div }
	for _, r := range rates {
		s := Series{Name: r.Name, Kind: Steps, Group: r.Name}
		for i, bps := range r.Bps {
			s.Points = append(s.Points, Point{at(i), bps.Gbit()})
		}
		if n := len(r.Bps); n > 0 {
			s.Points = append(s.Points, Point{at(n), r.Bps[n-1].Gbit()})
		}
		c.Series = append(c.Series, s)
		if e := r.Entitled.Gbit(); e > 0 {
			c.Series = append(c.Series, Series{
				Name: r.Name + ", entitled", Group: r.Name, Dashed: true, Points: []Point{{0, e}, {at(len(r.Bps)), e}},
			})
		}
	}
	return c
}

// TimeUnit returns a readable unit for a span of time, and its number of picoseconds.
func TimeUnit(span quantity.Picoseconds) (name string, picoseconds float64) {
	switch {
	case span >= 2*quantity.Second:
		return "s", float64(quantity.Second)
	case span >= 2*quantity.Millisecond:
		return "ms", float64(quantity.Millisecond)
	case span >= 2*quantity.Microsecond:
		return "us", float64(quantity.Microsecond)
	}
	return "ns", float64(quantity.Nanosecond)
}

// CDF returns the distribution of values for a series of kind Steps: for each value, the fraction of values less than
// or equal to it. It returns nil without values.
func CDF(values []float64) []Point {
	sorted := slices.Sorted(slices.Values(values))
	var out []Point
	for i, v := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == v {
			continue
		}
		if len(out) == 0 {
			out = append(out, Point{v, 0})
		}
		out = append(out, Point{v, float64(i+1) / float64(len(sorted))})
	}
	return out
}

// HistogramCDF is CDF for a histogram, with its values divided by unit: for example 1e6 for microseconds if picoseconds
// were recorded.
func HistogramCDF(h *stats.Histogram, unit float64) []Point {
	var out []Point
	for b := range h.Buckets() {
		v := float64(min(max(b.Middle(), h.Min()), h.Max())) / unit
		if len(out) == 0 {
			out = append(out, Point{v, 0})
		}
		out = append(out, Point{v, float64(b.Cumulative) / float64(h.Count())})
	}
	return out
}

// Distribution is a named distribution, from CDF or HistogramCDF.
type Distribution struct {
	Name   string
	Points []Point
}

// CDFs draws distributions over an axis such as a queue length or a round-trip time.
func CDFs(title string, x Axis, of []Distribution) Chart {
	c := Chart{Title: title, X: x, Y: Axis{Label: "part at or below", Min: 0, Max: 1}}
	for _, d := range of {
		c.Series = append(c.Series, Series{Name: d.Name, Kind: Steps, Points: d.Points})
	}
	return c
}

// Comparison is a published figure and Fairlane's.
type Comparison struct {
	Name            string
	Published, Ours float64
}

// PublishedBesideOurs draws pairs of bars with a common axis.
func PublishedBesideOurs(title string, y Axis, rows []Comparison) Chart {
	c := Chart{Title: title, Y: y, Series: []Series{{Name: "published", Kind: Bars}, {Name: "ours", Kind: Bars}}}
	for i, r := range rows {
		c.Categories = append(c.Categories, r.Name)
		c.Series[0].Points = append(c.Series[0].Points, Point{float64(i), r.Published})
		c.Series[1].Points = append(c.Series[1].Points, Point{float64(i), r.Ours})
	}
	return c
}

// SlowdownSeries is the slowdown by flow size of one algorithm or tenant.
type SlowdownSeries struct {
	Name string
	Rows []stats.SlowdownRow
}

// SlowdownBySize draws a quantile of the slowdown - 50, 95 or 99 per cent - over the upper size of each bin, with two
// logarithmic axes. It omits bins without an upper bound, which have no place on the axis. Another quantile is an
// error.
func SlowdownBySize(title string, percent int, of []SlowdownSeries) (Chart, error) {
	value, ok := map[int]func(stats.SlowdownRow) float64{
		50: func(r stats.SlowdownRow) float64 { return r.P50 },
		95: func(r stats.SlowdownRow) float64 { return r.P95 },
		99: func(r stats.SlowdownRow) float64 { return r.P99 },
	}[percent]
	if !ok {
		return Chart{}, fmt.Errorf("chart %q: slowdown quantile %d: want 50, 95 or 99", title, percent)
	}
	c := Chart{
		Title: title, X: Axis{Label: "flow size", Unit: "B", Log: true},
		Y: Axis{Label: fmt.Sprintf("p%d slowdown", percent), Log: true},
	}
	for _, d := range of {
		s := Series{Name: d.Name, Kind: LinePoints}
		for _, r := range d.Rows {
			if r.UpTo > 0 {
				s.Points = append(s.Points, Point{float64(r.UpTo), value(r)})
			}
		}
		c.Series = append(c.Series, s)
	}
	return c, nil
}

// Table is a congestion-control table (CCT): the allowed rate of one flow for each index.
type Table struct {
	Name string
	Bps  []quantity.BitRate // by index, from 0
}

// CCTs draws congestion-control tables: the rate over the index. The rate axis is logarithmic because good tables
// decrease by a constant ratio.
func CCTs(title string, tables []Table) Chart {
	c := Chart{Title: title, X: Axis{Label: "CCT index"}, Y: Axis{Label: "rate of a flow", Unit: "Gbit/s", Log: true}}
	for _, t := range tables {
		s := Series{Name: t.Name, Kind: Steps}
		for i, bps := range t.Bps {
			s.Points = append(s.Points, Point{float64(i), bps.Gbit()})
		}
		c.Series = append(c.Series, s)
	}
	return c
}
