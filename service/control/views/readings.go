package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"fairlane/service/series"
)

// SeriesState says whether the stored series could be read.
type SeriesState string

// States of the series.
const (
	SeriesRead    SeriesState = "read"
	SeriesPartial SeriesState = "partial" // those of a manager that does not answer are missing
	SeriesAway    SeriesState = "away"    // they do not answer
	SeriesOff     SeriesState = "off"     // the service keeps none
)

// maxSelector bounds the text of names in a query, below series.MaxQueryBytes.
const maxSelector = 8 << 10

// reader reads current values of series at one time, within a scope. Its state is the worst of its queries.
type reader struct {
	from  series.Reader // nil without series
	scope series.Scope
	at    time.Time
	state SeriesState
}

// read returns a reader of the series within a scope, at the present time.
func (v *Views) read(s series.Scope) *reader {
	r := &reader{from: v.Series, scope: s, at: v.Now().Truncate(time.Millisecond), state: SeriesRead}
	if r.from == nil {
		r.state = SeriesOff
	}
	return r
}

// value is the value of a series at the time of its reader.
type value struct {
	labels map[string]string // with __name__
	v      float64
}

func (x *value) family() string           { return x.labels["__name__"] }
func (x *value) label(name string) string { return x.labels[name] }

// all evaluates a query. A query that series do not answer returns nothing, and the state of the reader says so: a page shows what the
// store has all the same.
func (r *reader) all(ctx context.Context, query string) ([]value, error) {
	if r.state == SeriesOff || r.state == SeriesAway {
		return nil, nil
	}
	a, err := r.from.Instant(ctx, r.scope, query, r.at)
	switch {
	case errors.Is(err, series.ErrAway), errors.Is(err, series.ErrCost):
		r.state = SeriesAway
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read series: %w", err)
	case len(a.Warnings) > 0:
		r.state = SeriesPartial
	}
	return decodeVector(a.Data)
}

// one evaluates a query with at most one result; nil without a result.
func (r *reader) one(ctx context.Context, query string) (*float64, error) {
	list, err := r.all(ctx, query)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0].v, nil
}

// decodeVector decodes an instant vector in Prometheus's form. Values that are no numbers are left out.
func decodeVector(data []byte) ([]value, error) {
	var answer struct {
		Result []struct {
			Metric map[string]string  `json:"metric"`
			Value  [2]json.RawMessage `json:"value"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("decode series: %w", err)
	}
	out := make([]value, 0, len(answer.Result))
	for i := range answer.Result {
		x := &answer.Result[i]
		v, err := strconv.ParseFloat(strings.Trim(string(x.Value[1]), `"`), 64)
		if err != nil {
			return nil, fmt.Errorf("decode series: %w", err)
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, value{x.Metric, v})
		}
	}
	return out, nil
}

// selector returns the selector of families on a fabric, with further matchers such as `tenant="red"`.
func selector(fabric string, families []string, more ...string) string {
	ms := []string{series.LabelFabric + "=" + strconv.Quote(fabric)}
	if len(families) == 1 {
		return families[0] + "{" + strings.Join(append(ms, more...), ",") + "}"
	}
	return "{" + strings.Join(append(append([]string{`__name__=~"` + strings.Join(families, "|") + `"`}, ms...), more...), ",") + "}"
}

// named calls do with matchers of a label that together name the values, each short enough for a query.
func named(label string, values []string, do func(matcher string) error) error {
	for len(values) > 0 {
		n, size := 0, 0
		for n < len(values) && (n == 0 || size+2*len(values[n]) < maxSelector) {
			size += 2 * len(values[n])
			n++
		}
		quoted := make([]string, n)
		for i := range quoted {
			quoted[i] = regexp.QuoteMeta(values[i])
		}
		if err := do(label + "=~" + strconv.Quote(strings.Join(quoted, "|"))); err != nil {
			return err
		}
		values = values[n:]
	}
	return nil
}

// measuredAt returns the time of the latest current measurement of tenants that a reader sees; zero without one.
func (r *reader) measuredAt(ctx context.Context, fabric string, more ...string) (time.Time, error) {
	v, err := r.one(ctx, "max(timestamp("+selector(fabric, []string{series.TenantState}, more...)+"))")
	if err != nil || v == nil {
		return time.Time{}, err
	}
	return time.UnixMilli(int64(math.Round(*v * 1000))).UTC(), nil
}
