package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
)

// noSeriesError reports that the service has no series to answer from.
type noSeriesError struct {
	text string
	off  bool // it keeps none; otherwise the server that has them does not answer
}

// Error returns the text.
func (e *noSeriesError) Error() string { return e.text }

// keptSeries asks the service for the series of one fabric. What the caller's rights hide is absent from the answers.
type keptSeries struct {
	c      *cli
	cmd    *cobra.Command
	client *apiclient.ClientWithResponses
	fabric string
	// period is the time between two measurements.
	period time.Duration
	warned map[string]bool // warnings that were printed
}

// pickSeries returns the series of the command's fabric.
func (c *cli) pickSeries(cmd *cobra.Command) (*keptSeries, error) {
	client, fabric, err := c.pick(cmd)
	if err != nil {
		return nil, err
	}
	return c.openSeries(cmd, client, fabric)
}

// openSeries returns the series of a fabric; it fails with *noSeriesError if there are none.
func (c *cli) openSeries(cmd *cobra.Command, client *apiclient.ClientWithResponses, fabric string) (*keptSeries, error) {
	k := &keptSeries{c: c, cmd: cmd, client: client, fabric: fabric, warned: map[string]bool{}}
	// A subquery without a step has that of the service, which is the period.
	const times = "_over_time(vector(time())[1h:])"
	list, err := k.at("(max"+times+" - min"+times+") / (count"+times+" - 1)", time.Now())
	if err != nil {
		return nil, err
	}
	if len(list) != 1 || !(list[0].Value.number() > 0) { // not a number is not, either
		return nil, errors.New(c.t("err.no-period"))
	}
	k.period = time.Duration(math.Round(list[0].Value.number()*1000)) * time.Millisecond
	return k, nil
}

// at evaluates a query at one time.
func (k *keptSeries) at(query string, t time.Time) ([]seriesResult, error) {
	body := gen.QueryInstantByFormFormdataRequestBody{Query: query, Time: new(t.UTC().Format(time.RFC3339Nano))}
	r, err := k.client.QueryInstantByFormWithFormdataBodyWithResponse(k.cmd.Context(), body)
	return k.results(r, err)
}

// over evaluates a query at every step from first to last, both included.
func (k *keptSeries) over(query string, first, last time.Time, step time.Duration) ([]seriesResult, error) {
	r, err := k.client.QueryRangeByFormWithFormdataBodyWithResponse(k.cmd.Context(), gen.QueryRangeByFormFormdataRequestBody{
		Query: query, Start: first.UTC().Format(time.RFC3339Nano), End: last.UTC().Format(time.RFC3339Nano), Step: strconv.FormatFloat(step.Seconds(), 'f', -1, 64),
	})
	return k.results(r, err)
}

func (k *keptSeries) results(r answer200[gen.PrometheusAnswer], err error) ([]seriesResult, error) {
	if err == nil {
		err = k.c.refusedQuery(r.StatusCode(), r.GetBody())
	}
	a, err := found[gen.PrometheusAnswer](k.c)(r, err)
	if err != nil {
		return nil, err
	}
	for _, w := range a.Warnings { // such as managers that do not answer, whose measurements are missing
		if !k.warned[w] {
			k.warned[w] = true
			k.c.say(k.cmd, "warning", "text", w)
		}
	}
	var q queryResult
	var list []seriesResult
	if err := decodeData(a, &q); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(q.Result, &list); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return list, nil
}

// number returns the value of a point; not a number when there is none.
func (p point) number() float64 {
	v, err := strconv.ParseFloat(p.text(), 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// time returns when a point is.
func (p point) time() time.Time {
	s, err := strconv.ParseFloat(string(p[0]), 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(s * 1000))).UTC()
}

// selector selects series of a family on the fabric, and of one tenant unless it is empty.
func (k *keptSeries) selector(family, tenant string) string {
	s := family + "{fabric=" + strconv.Quote(k.fabric)
	if tenant != "" {
		s += ",tenant=" + strconv.Quote(tenant)
	}
	return s + "}"
}

// duration writes a duration for PromQL.
func duration(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) + "ms" }

// shareCell holds the measurements of a tenant in one time step. Rates are averages over the measurements, each of which stands for a
// period.
type shareCell struct {
	entitled, delivered *float64 // nil: not measured
	measured            float64  // number of measurements with a rate
	received, links     map[string]float64
	states              map[string]float64 // number of measurements by state
	bad, contended      *float64           // number of measurements by the counters; nil: unknown
	objective           *float64           // the last one; nil: unknown
}

// shareSteps holds measurements in time steps of equal length.
type shareSteps struct {
	from    time.Time
	step    time.Duration
	n       int
	period  time.Duration
	now     time.Time
	tenants map[string][]shareCell
	// coverage is the part of each step in which counters were read; nil for callers who may not see it.
	coverage []*float64
}

// steps reads what was measured from a time on, in n steps.
func (k *keptSeries) steps(from time.Time, step time.Duration, n int, tenant string) (*shareSteps, error) {
	s := &shareSteps{from: from, step: step, n: n, period: k.period, now: time.Now(), tenants: map[string][]shareCell{}, coverage: make([]*float64, n)}
	span := "[" + duration(step) + "]"
	err := k.fill(s, []cellQuery{
		{"avg_over_time(" + k.selector("fairlane_tenant_entitled_bits_per_second", tenant) + span + ")", func(_ map[string]string, x *shareCell, v float64) { x.entitled = &v }},
		{"avg_over_time(" + k.selector("fairlane_tenant_delivered_bits_per_second", tenant) + span + ")", func(_ map[string]string, x *shareCell, v float64) { x.delivered = &v }},
		{"count_over_time(" + k.selector("fairlane_tenant_delivered_bits_per_second", tenant) + span + ")", func(_ map[string]string, x *shareCell, v float64) { x.measured = v }},
		{"count_over_time(" + k.selector("fairlane_tenant_state", tenant) + span + ")", func(l map[string]string, x *shareCell, v float64) { add(&x.states, l["state"], v) }},
		{"sum_over_time(" + k.selector("fairlane_tenant_received_ratio", tenant) + span + ")", func(l map[string]string, x *shareCell, v float64) { add(&x.received, l["link"], v) }},
		{"count_over_time(" + k.selector("fairlane_tenant_received_ratio", tenant) + span + ")", func(l map[string]string, x *shareCell, v float64) { add(&x.links, l["link"], v) }},
	})
	if err != nil {
		return nil, err
	}
	return s, k.coverage(s)
}

// totals reads objectives, and counts by the counters of contended and bad seconds in which measurements they rose: increase() would
// extrapolate each of them in another way. A change that is a reset does not count. Each step includes the period before it, whose value the
// first change is against.
func (k *keptSeries) totals(s *shareSteps, tenant string) error {
	rises := func(family string) string {
		of := "(" + k.selector(family, tenant) + "[" + duration(s.step+k.period) + "])"
		return "changes" + of + " - resets" + of
	}
	return k.fill(s, []cellQuery{
		{rises("fairlane_tenant_contended_seconds_total"), func(_ map[string]string, x *shareCell, v float64) { x.contended = &v }},
		{rises("fairlane_tenant_share_bad_seconds_total"), func(_ map[string]string, x *shareCell, v float64) { x.bad = &v }},
		{"last_over_time(" + k.selector("fairlane_tenant_objective_ratio", tenant) + "[" + duration(s.step) + "])", func(_ map[string]string, x *shareCell, v float64) { x.objective = &v }},
	})
}

// cellQuery is a query with a value for each step, and where the values go.
type cellQuery struct {
	query string
	put   func(labels map[string]string, cell *shareCell, v float64)
}

func (k *keptSeries) fill(s *shareSteps, all []cellQuery) error {
	for _, q := range all {
		list, err := k.over(q.query, s.from.Add(s.step), s.from.Add(time.Duration(s.n)*s.step), s.step)
		if err != nil {
			return err
		}
		for _, x := range list {
			name := x.Metric["tenant"]
			if s.tenants[name] == nil {
				s.tenants[name] = make([]shareCell, s.n)
			}
			s.each(x.Values, func(i int, v float64) { q.put(x.Metric, &s.tenants[name][i], v) })
		}
	}
	return nil
}

// coverage reads the part of each step in which counters were read.
func (k *keptSeries) coverage(s *shareSteps) error {
	list, err := k.over("sum_over_time("+k.selector("fairlane_measured_ratio", "")+"["+duration(s.step)+"])", s.from.Add(s.step), s.from.Add(time.Duration(s.n)*s.step), s.step)
	if err != nil || len(list) != 1 {
		return err
	}
	s.each(list[0].Values, func(i int, v float64) { s.coverage[i] = new(min(v/s.due(i), 1)) })
	return nil
}

// each passes the values of a series, with the number of their step.
func (s *shareSteps) each(values []point, f func(i int, v float64)) {
	for _, p := range values {
		i, v := int(math.Round(float64(p.time().Sub(s.from))/float64(s.step)))-1, p.number() // times of answers are rounded
		if i >= 0 && i < s.n && !math.IsNaN(v) && !math.IsInf(v, 0) {
			f(i, v)
		}
	}
}

// begin returns when a step begins.
func (s *shareSteps) begin(i int) time.Time { return s.from.Add(time.Duration(i) * s.step) }

// passed returns how much of a step is past.
func (s *shareSteps) passed(i int) time.Duration {
	return min(max(s.now.Sub(s.begin(i)), 0), s.step)
}

// due returns the number of measurements that the past part of a step should have.
func (s *shareSteps) due(i int) float64 { return max(float64(s.passed(i))/float64(s.period), 1) }

// secondsEach returns the seconds that each measurement of a tenant in a step represents: the period, or less where more were made than are due,
// such as before the period became longer.
func (s *shareSteps) secondsEach(i int, x *shareCell) float64 {
	made, due := 0.0, s.due(i)
	for _, n := range x.states {
		made += n
	}
	if made = max(made, x.measured); made <= due+1 { // the times of measurements vary
		return s.period.Seconds()
	}
	return s.period.Seconds() * due / made
}

// names returns the tenants, sorted.
func (s *shareSteps) names() []string { return slices.Sorted(maps.Keys(s.tenants)) }

// add adds to a value of a map, which it makes if there is none.
func add(to *map[string]float64, key string, v float64) {
	if *to == nil {
		*to = map[string]float64{}
	}
	(*to)[key] += v
}

// most returns the key with the largest value, the first of equal ones; "" for an empty map.
func most(of map[string]float64) (key string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		if key == "" || of[k] > of[key] {
			key = k
		}
	}
	return key
}

// receivedRatio returns the average of delivered over what the tenant might have while it contended; nil when it did not, or for
// callers who may not see it.
func (x *shareCell) receivedRatio() *float64 {
	sum, n := 0.0, 0.0
	for link, v := range x.received {
		sum, n = sum+v, n+x.links[link]
	}
	if n == 0 {
		return nil
	}
	return new(sum / n)
}
