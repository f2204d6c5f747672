package scenario

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
)

// Limits of series.
const (
	maxSeriesFlows = 10_000
	maxSeriesPorts = 1_000 // patterns
	// defaultSeriesFlows is the number of flows with series if the scenario selects none: the first ones by number.
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
	// Flows are flow numbers; for flows of a trace, their numbers in the trace. Empty means the first 16.
	Flows    []int64
	AllFlows bool // all flows are recorded, regardless of Flows
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
		return fault(phrase.Of("scenario.series-plane", "plane", s.Plane(), "want", PlaneEthernet))
	}
	series := Series{Every: defaultSeriesEvery}
	if s.Ethernet.Series != nil {
		series = *s.Ethernet.Series
	}
	var err error
	if t.Values != "" {
		if series.Values, err = seriesValues(strings.Split(t.Values, ",")); err != nil {
			return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "series", "reason", err))
		}
	}
	if t.Every != "" {
		if series.Every, err = quantity.ParsePicoseconds(t.Every); err != nil {
			return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "series-every", "reason", err))
		}
	}
	if t.Flows != "" {
		if series.Flows, series.AllFlows, err = seriesFlows(strings.Split(t.Flows, ",")); err != nil {
			return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "series-flows", "reason", err))
		}
	}
	if t.Ports != "" {
		series.Ports = strings.Split(t.Ports, ",")
		if err = seriesPorts(s.Fabric, series.Ports); err != nil {
			return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "series-ports", "reason", err))
		}
	}
	if len(series.Values) == 0 {
		return fault(phrase.Of("scenario.series-none", "words", seriesWords()))
	}
	if err := series.checkEvery(s.Duration); err != nil {
		return phrase.Because(err, phrase.Of("usage.flag-reason", "flag", "series-every", "reason", err))
	}
	s.Ethernet.Series = &series
	return nil
}

func (s *Series) checkEvery(duration quantity.Picoseconds) error {
	if s.Every <= 0 || duration/s.Every > maxSampled {
		return fault(phrase.Of("scenario.series-every", "found", s.Every, "parts", maxSampled, "duration", duration))
	}
	return nil
}

func seriesWords() []string {
	var words []string
	for _, v := range append(FlowSeries(), SeriesQueue, SeriesPFC) {
		words = append(words, string(v))
	}
	return words
}

func seriesValues(words []string) ([]SeriesValue, error) {
	all := append(FlowSeries(), SeriesQueue, SeriesPFC)
	var out []SeriesValue
	for _, w := range words {
		v := SeriesValue(w)
		if !slices.Contains(all, v) || slices.Contains(out, v) {
			return nil, fault(phrase.Of("scenario.series-value", "found", strconv.Quote(w), "words", seriesWords()))
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
		return nil, false, fault(phrase.Of("scenario.series-flows-max", "n", len(words), "max", maxSeriesFlows))
	}
	for _, w := range words {
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || n < 0 {
			return nil, false, fault(phrase.Of("scenario.series-flows", "found", strconv.Quote(w), "max", int64(math.MaxInt64)))
		}
		flows = append(flows, n)
	}
	return flows, false, nil
}

// seriesPorts rejects patterns that match no port.
func seriesPorts(f *subnet.Fabric, patterns []string) error {
	if len(patterns) > maxSeriesPorts {
		return fault(phrase.Of("scenario.series-ports-max", "n", len(patterns), "max", maxSeriesPorts))
	}
	for _, p := range patterns {
		hit := false
		for i := range f.Links {
			hit = hit || portMatches(f, f.Links[i].A, p) || portMatches(f, f.Links[i].B, p)
		}
		if !hit {
			return fault(phrase.Of("scenario.series-ports", "found", strconv.Quote(p), "port", f.PortName(f.Links[0].A)))
		}
	}
	return nil
}

// portMatches matches a pattern with the name of a port if the pattern contains a slash, otherwise with the name of the
// port's node.
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
		for _, w := range k.values(key, most) {
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
