package scenario

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// Limits of series.
const (
	maxSeriesFlows = 10_000
	maxSeriesPorts = 1_000 // patterns
	// defaultSeriesFlows is the number of flows, the first by number, with series if none are named.
	defaultSeriesFlows = 16
	defaultSeriesEvery = 10 * quantity.Microsecond
)

// SeriesValue is the quantity of a series.
type SeriesValue string

// Values of series: of a flow, of a switch port, and the pauses of ports.
const (
	SeriesRate   SeriesValue = "rate"
	SeriesTarget SeriesValue = "target"
	SeriesAlpha  SeriesValue = "alpha"
	SeriesRTT    SeriesValue = "rtt"
	SeriesWindow SeriesValue = "window"
	SeriesQueue  SeriesValue = "queue"
	SeriesPFC    SeriesValue = "pfc"
)

// FlowSeries returns the quantities of flows in the order of their columns.
func FlowSeries() []SeriesValue {
	return []SeriesValue{SeriesRate, SeriesTarget, SeriesAlpha, SeriesRTT, SeriesWindow}
}

// Series selects the time series of a run.
type Series struct {
	Values []SeriesValue
	Every  quantity.Picoseconds // interval of samples; pauses are not sampled
	// Flows are flow numbers, those in the trace for flows of a trace. Empty means the first 16.
	Flows    []int64
	AllFlows bool // overrides Flows
	// Ports are patterns of node names, or of port names if they contain a slash. Empty means all.
	Ports []string
}

// Has reports whether any of the values is requested.
func (s *Series) Has(values ...SeriesValue) bool {
	return slices.ContainsFunc(s.Values, func(v SeriesValue) bool { return slices.Contains(values, v) })
}

// SeriesText is a Series in command-line form: lists with commas. Empty fields do not change the value.
type SeriesText struct{ Values, Every, Flows, Ports string }

// SetSeries changes the series of the scenario. An error names the flag.
func (s *Scenario) SetSeries(t SeriesText) error {
	if s.Ethernet == nil {
		return fmt.Errorf("--series: plane %s has no series: want a scenario of plane %s", s.Plane(), PlaneEthernet)
	}
	series := Series{Every: defaultSeriesEvery}
	if s.Ethernet.Series != nil {
		series = *s.Ethernet.Series
	}
	var err error
	if t.Values != "" {
		if series.Values, err = seriesValues(strings.Split(t.Values, ",")); err != nil {
			return fmt.Errorf("--series: %w", err)
		}
	}
	if t.Every != "" {
		if series.Every, err = quantity.ParsePicoseconds(t.Every); err != nil {
			return fmt.Errorf("--series-every: %w", err)
		}
	}
	if t.Flows != "" {
		if series.Flows, series.AllFlows, err = seriesFlows(strings.Split(t.Flows, ",")); err != nil {
			return fmt.Errorf("--series-flows: %w", err)
		}
	}
	if t.Ports != "" {
		series.Ports = strings.Split(t.Ports, ",")
		if err = seriesPorts(s.Fabric, series.Ports); err != nil {
			return fmt.Errorf("--series-ports: %w", err)
		}
	}
	if len(series.Values) == 0 {
		return fmt.Errorf("--series: no value: want some of %s", seriesWords())
	}
	if err := series.checkEvery(s.Duration); err != nil {
		return fmt.Errorf("--series-every: %w", err)
	}
	s.Ethernet.Series = &series
	return nil
}

func (s *Series) checkEvery(duration quantity.Picoseconds) error {
	if s.Every <= 0 || duration/s.Every > maxSampled {
		return fmt.Errorf("found %s: want more than 0 and at least 1/%d of the duration, %s", s.Every, maxSampled, duration)
	}
	return nil
}

func seriesWords() string {
	var words []string
	for _, v := range append(FlowSeries(), SeriesQueue, SeriesPFC) {
		words = append(words, string(v))
	}
	return strings.Join(words, ", ")
}

func seriesValues(words []string) ([]SeriesValue, error) {
	all := append(FlowSeries(), SeriesQueue, SeriesPFC)
	var out []SeriesValue
	for _, w := range words {
		v := SeriesValue(w)
		if !slices.Contains(all, v) || slices.Contains(out, v) {
			return nil, fmt.Errorf("found %q: want some of %s, each once", w, seriesWords())
		}
		out = append(out, v)
	}
	return out, nil
}

func seriesFlows(words []string) (flows []int64, all bool, err error) {
	if len(words) == 1 && words[0] == "all" {
		return nil, true, nil
	}
	if len(words) > maxSeriesFlows {
		return nil, false, fmt.Errorf("found %d flows: want at most %d, or all", len(words), maxSeriesFlows)
	}
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return nil, false, fmt.Errorf("found %q: want numbers from 0 to %d, or all", w, int64(math.MaxInt64))
		}
		flows = append(flows, n)
	}
	return flows, false, nil
}

// seriesPorts rejects patterns that match no port.
func seriesPorts(f *subnet.Fabric, patterns []string) error {
	if len(patterns) > maxSeriesPorts {
		return fmt.Errorf("found %d patterns: want at most %d", len(patterns), maxSeriesPorts)
	}
	for _, p := range patterns {
		hit := false
		for i := range f.Links {
			hit = hit || portMatches(f, f.Links[i].A, p) || portMatches(f, f.Links[i].B, p)
		}
		if !hit {
			return fmt.Errorf("found %q: want a pattern that the name of some node with links, or of some port such as %s, matches", p, f.PortName(f.Links[0].A))
		}
	}
	return nil
}

// portMatches matches a pattern with the name of a port if it contains a slash, otherwise with the name of the port's node.
func portMatches(f *subnet.Fabric, ref subnet.PortRef, pattern string) bool {
	name := f.Nodes[ref.Node].Name
	if strings.Contains(pattern, "/") {
		name = f.PortName(ref)
	}
	ok, _ := path.Match(pattern, name)
	return ok
}

// series reads the time series of a run.
func (d *document) series(f fields, s *Scenario) *Series {
	n := f.m["series"]
	if n == nil || d.err != nil {
		return nil
	}
	k := d.mapping(n, "series", "values", "every", "flows", "ports")
	k.need("values")
	words := func(key string, most int) (out []string) {
		for _, w := range k.words(key, most) {
			out = append(out, w.Value)
		}
		return out
	}
	out := &Series{Every: k.span("every", defaultSeriesEvery), Ports: words("ports", maxSeriesPorts)}
	at := func(key string, err error) {
		if err != nil {
			d.failWith(k.at(key), fmt.Errorf("series.%s: %w", key, err))
		}
	}
	var err error
	out.Values, err = seriesValues(words("values", 16))
	at("values", err)
	if k.has("flows") {
		out.Flows, out.AllFlows, err = seriesFlows(words("flows", maxSeriesFlows))
		at("flows", err)
	}
	at("ports", seriesPorts(s.Fabric, out.Ports))
	at("every", out.checkEvery(s.Duration))
	return out
}
