package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
)

// series are the verbs for stored time series.
func (c *cli) series() *cobra.Command {
	list := c.verb("series", "list", "  fairlane series list", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return c.seriesList(cmd) })
	var at, since, until string
	var step time.Duration
	query := c.verb("series", "query QUERY", "  fairlane series query fairlane_tenant_delivered_bits_per_second\n"+
		"  fairlane series query 'max by (tenant) (fairlane_tenant_share_error_ratio)' --since 1h --step 5m", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		if since == "" {
			return c.queryInstant(cmd, args[0], at)
		}
		return c.queryRange(cmd, args[0], since, until, step)
	})
	f := query.Flags()
	f.StringVar(&at, "at", "", c.t("flag.series-at"))
	f.StringVar(&since, "since", "", c.t("flag.series-since"))
	f.StringVar(&until, "until", "", c.t("flag.series-until"))
	f.DurationVar(&step, "step", time.Minute, c.t("flag.series-step"))
	query.MarkFlagsMutuallyExclusive("at", "since")
	c.long("", query)
	return c.noun("series", list, query)
}

// family describes a metric, as the service's metadata have it.
type family struct {
	Type string `json:"type"`
	Help string `json:"help"`
}

func (c *cli) seriesList(cmd *cobra.Command) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	a, err := found[gen.PrometheusAnswer](c)(client.GetSeriesMetadataWithResponse(cmd.Context(), &gen.GetSeriesMetadataParams{}))
	if err != nil {
		return err
	}
	var all map[string][]family
	if err := decodeData(a, &all); err != nil {
		return err
	}
	return c.print(cmd, all, func() *table {
		t := c.newTable("metric", "kind", "meaning")
		for _, name := range slices.Sorted(maps.Keys(all)) {
			for _, f := range all[name] {
				t.add(name, f.Type, f.Help)
			}
		}
		return t
	})
}

// queryResult is the result of a query in the form of Prometheus's HTTP API.
type queryResult struct {
	Type   string          `json:"resultType"` // "vector", "matrix", "scalar" or "string"
	Result json.RawMessage `json:"result"`
}

// seriesResult is one series of a result.
type seriesResult struct {
	Metric map[string]string `json:"metric"`
	Value  point             `json:"value"`
	Values []point           `json:"values"`
}

// point is a time in seconds and a value as text.
type point [2]json.RawMessage

// text returns the value, which is written as a string; "-" when there is none.
func (p point) text() string {
	var s string
	if json.Unmarshal(p[1], &s) != nil {
		return "-"
	}
	return s
}

func (c *cli) queryInstant(cmd *cobra.Command, query, at string) error {
	t, err := c.instant("at", at)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	body := gen.QueryInstantByFormFormdataRequestBody{Query: query}
	if t != nil {
		body.Time = new(t.Format(time.RFC3339Nano))
	}
	return c.showResult(cmd)(client.QueryInstantByFormWithFormdataBodyWithResponse(cmd.Context(), body))
}

func (c *cli) queryRange(cmd *cobra.Command, query, since, until string, step time.Duration) error {
	from, err := c.instant("since", since)
	if err != nil {
		return err
	}
	to, err := c.instant("until", until)
	if err != nil {
		return err
	}
	if to == nil {
		to = new(time.Now().UTC())
	}
	if step < time.Millisecond {
		return c.usage("err.step", "found", step)
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	return c.showResult(cmd)(client.QueryRangeByFormWithFormdataBodyWithResponse(cmd.Context(), gen.QueryRangeByFormFormdataRequestBody{
		Query: query, Start: from.Format(time.RFC3339Nano), End: to.Format(time.RFC3339Nano), Step: strconv.FormatFloat(step.Seconds(), 'f', -1, 64),
	}))
}

// refusedQuery returns the error of a query in Prometheus's form; nil for other answers.
func (c *cli) refusedQuery(status int, body []byte) error {
	var a gen.PrometheusAnswer
	if json.Unmarshal(body, &a) == nil && a.Error != nil {
		if status == http.StatusBadRequest || status == http.StatusUnprocessableEntity {
			return c.usage("err.query", "error", *a.Error)
		}
		if a.ErrorType != nil && *a.ErrorType == gen.PrometheusAnswerErrorTypeUnavailable {
			if status == http.StatusNotFound {
				return &noSeriesError{c.t("err.no-series"), true}
			}
			return &noSeriesError{c.t("err.series-away"), false}
		}
		return errors.New(*a.Error)
	}
	return nil
}

// decodeData decodes the data of an answer.
func decodeData(a *gen.PrometheusAnswer, into any) error {
	if a.Data == nil {
		return nil
	}
	if err := json.Unmarshal(*a.Data, into); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// showResult prints the result of a query: a row for each series with its value, or with its first, smallest, largest and last value over
// a range.
func (c *cli) showResult(cmd *cobra.Command) func(answer200[gen.PrometheusAnswer], error) error {
	return func(r answer200[gen.PrometheusAnswer], err error) error {
		if err == nil {
			err = c.refusedQuery(r.StatusCode(), r.GetBody())
		}
		a, err := found[gen.PrometheusAnswer](c)(r, err)
		if err != nil {
			return err
		}
		return c.printResult(cmd, a)
	}
}

func (c *cli) printResult(cmd *cobra.Command, a *gen.PrometheusAnswer) error {
	var q queryResult
	if err := decodeData(a, &q); err != nil {
		return err
	}
	var list []seriesResult
	var single point // of a scalar or a string
	into := any(&list)
	if q.Type == "scalar" || q.Type == "string" {
		into = &single
	}
	if len(q.Result) > 0 {
		if err := json.Unmarshal(q.Result, into); err != nil {
			return fmt.Errorf("read the answer: %w", err)
		}
	}
	for _, w := range a.Warnings {
		_, _ = fmt.Fprintln(cmd.ErrOrStderr(), c.t("warning", "text", w)) // a broken terminal does not affect the result
	}
	return c.print(cmd, &q, func() *table {
		if q.Type == "matrix" {
			t := c.newTable("series", "samples>", "first>", "smallest>", "largest>", "last>")
			for _, s := range list {
				t.add(append([]any{s.name()}, rangeCells(s.Values)...)...)
			}
			return t
		}
		t := c.newTable("series", "value>")
		if single[1] != nil {
			t.add(q.Type, single.text())
		}
		for _, s := range list {
			t.add(s.name(), shortValue(s.Value.text()))
		}
		return t
	})
}

// name returns the labels in PromQL's notation: metric{fabric="lab"}; {} without labels.
func (s seriesResult) name() string {
	var labels []string
	for _, n := range slices.Sorted(maps.Keys(s.Metric)) {
		if n != "__name__" {
			labels = append(labels, n+"="+strconv.Quote(s.Metric[n]))
		}
	}
	if metric := s.Metric["__name__"]; metric != "" && labels == nil {
		return metric
	}
	return s.Metric["__name__"] + "{" + strings.Join(labels, ",") + "}"
}

// rangeCells are the columns of a series over a range.
func rangeCells(points []point) []any {
	if len(points) == 0 {
		return []any{0, "-", "-", "-", "-"}
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		if v, err := strconv.ParseFloat(p.text(), 64); err == nil {
			low, high = min(low, v), max(high, v)
		}
	}
	return []any{len(points), shortValue(points[0].text()), shortFloat(low), shortFloat(high), shortValue(points[len(points)-1].text())}
}

// shortValue writes a value with six digits, for people; -o json has all.
func shortValue(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return shortFloat(v)
}

func shortFloat(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
