package embedded

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"fairlane/service/series"
)

// Limits of a query in addition to those of package series.
const (
	maxSamples = 5_000_000
	maxNodes   = 1_000 // of the parsed query
	maxNotes   = 10    // warnings of an answer, and as many infos
)

// currentPeriods is how long a sample is current, in intervals.
const currentPeriods = 3

var _ series.Store = (*DB)(nil)

// reader answers queries about the series of a source.
type reader struct {
	engine *promql.Engine
	parser parser.Parser
	source func(context.Context, series.Scope) storage.Queryable // within the scope
}

func newReader(o *Options, source func(context.Context, series.Scope) storage.Queryable) reader {
	p := parser.NewParser(parser.Options{})
	return reader{parser: p, source: source, engine: promql.NewEngine(promql.EngineOpts{
		Logger: o.Log, MaxSamples: maxSamples, Timeout: series.QueryTimeout, LookbackDelta: currentPeriods * o.Interval, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return o.Interval.Milliseconds() }, Parser: p,
	})}
}

// Instant evaluates a query at one time.
func (r *reader) Instant(ctx context.Context, s series.Scope, query string, at time.Time) (series.Answer, error) {
	if _, err := r.parse(query); err != nil {
		return series.Answer{}, err
	}
	q, err := r.engine.NewInstantQuery(ctx, r.source(ctx, s), nil, query, at)
	if err != nil {
		return series.Answer{}, badQuery(err)
	}
	return run(ctx, q, query)
}

// Range evaluates a query at every step from start to end, both included.
func (r *reader) Range(ctx context.Context, s series.Scope, query string, start, end time.Time, step time.Duration) (series.Answer, error) {
	e, err := r.parse(query)
	switch {
	case err != nil:
		return series.Answer{}, err
	case e.Type() != parser.ValueTypeVector && e.Type() != parser.ValueTypeScalar:
		return series.Answer{}, fmt.Errorf("%w: found a query of type %q, want an instant vector or a scalar for a range", series.ErrBadQuery, parser.DocumentedType(e.Type()))
	case end.Before(start):
		return series.Answer{}, fmt.Errorf("%w: end %s is before start %s", series.ErrBadQuery, stamp(end), stamp(start))
	case step < time.Millisecond:
		return series.Answer{}, fmt.Errorf("%w: step %v: want at least 1 ms", series.ErrBadQuery, step)
	case end.Sub(start)/step >= series.MaxPoints:
		return series.Answer{}, fmt.Errorf("%w: %d steps for each series: want at most %d; increase step or shorten the range", series.ErrCost, end.Sub(start)/step+1, series.MaxPoints)
	}
	q, err := r.engine.NewRangeQuery(ctx, r.source(ctx, s), nil, query, start, end, step)
	if err != nil {
		return series.Answer{}, badQuery(err)
	}
	return run(ctx, q, query)
}

// stamp shows a time in an error.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func (r *reader) parse(query string) (parser.Expr, error) {
	if len(query) > series.MaxQueryBytes {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", series.ErrBadQuery, len(query), series.MaxQueryBytes)
	}
	e, err := r.parser.ParseExpr(query)
	if err != nil {
		return nil, badQuery(err)
	}
	nodes := 0
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if n != nil {
			nodes++
		}
		return nil
	})
	if nodes > maxNodes {
		return nil, fmt.Errorf("%w: %d parts, want at most %d", series.ErrCost, nodes, maxNodes)
	}
	return e, nil
}

func badQuery(err error) error { return fmt.Errorf("%w: %w", series.ErrBadQuery, err) }

// run evaluates a query and closes it.
func run(ctx context.Context, q promql.Query, text string) (a series.Answer, err error) {
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return series.Answer{}, failed(ctx, res.Err)
	}
	if a.Data, err = appendResult(nil, res.Value); err != nil {
		return series.Answer{}, err
	}
	warnings, infos := res.Warnings.AsStrings(text, 0, 0)
	a.Warnings, a.Infos = firstNotes(warnings), firstNotes(infos)
	return a, nil
}

// firstNotes returns the first notes in alphabetical order: the engine has them in none.
func firstNotes(list []string) []string {
	slices.Sort(list)
	return list[:min(len(list), maxNotes)]
}

// failed classes an error of the engine.
func failed(ctx context.Context, err error) error {
	var timeout promql.ErrQueryTimeout
	var samples promql.ErrTooManySamples
	var stored promql.ErrStorage
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, series.ErrAway):
		return series.ErrAway
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%w: %w", series.ErrCost, errTooLarge)
	case errors.As(err, &timeout):
		return fmt.Errorf("%w: it took longer than %v", series.ErrCost, series.QueryTimeout)
	case errors.As(err, &samples):
		return fmt.Errorf("%w: it needs more than %d samples; shorten the range or select fewer series", series.ErrCost, maxSamples)
	case errors.As(err, &stored):
		return fmt.Errorf("read the series: %w", err)
	}
	return badQuery(err) // such as vectors that match many to many
}

// LabelNames returns the names of labels, sorted.
func (r *reader) LabelNames(ctx context.Context, s series.Scope, l series.Lookup) ([]string, error) {
	return r.lookup(ctx, s, l, func(q storage.Querier, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelNames(ctx, nil, ms...)
	})
}

// LabelValues returns the values of a label, sorted.
func (r *reader) LabelValues(ctx context.Context, s series.Scope, name string, l series.Lookup) ([]string, error) {
	if name == "" {
		return nil, fmt.Errorf("%w: empty label name", series.ErrBadQuery)
	}
	return r.lookup(ctx, s, l, func(q storage.Querier, ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.LabelValues(ctx, name, nil, ms...)
	})
}

func (r *reader) lookup(ctx context.Context, s series.Scope, l series.Lookup, find func(storage.Querier, []*labels.Matcher) ([]string, annotations.Annotations, error)) (out []string, err error) {
	err = r.querier(ctx, s, &l, func(q storage.Querier, sets [][]*labels.Matcher) error {
		if len(sets) == 0 {
			sets = [][]*labels.Matcher{nil}
		}
		for _, ms := range sets {
			list, notes, err := find(q, ms)
			if err != nil {
				return failed(ctx, err)
			}
			warn(&l, notes)
			for _, v := range list { // valid only until the querier is closed
				out = append(out, string(append([]byte(nil), v...)))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), l.Limit)], nil
}

// warn passes the warnings of a lookup on.
func warn(l *series.Lookup, notes annotations.Annotations) {
	if l.Warn == nil {
		return
	}
	warnings, _ := notes.AsStrings("", 0, 0)
	for _, w := range firstNotes(warnings) {
		l.Warn(w)
	}
}

// Series returns the labels of series, the metric name as __name__, sorted. At least one selector is required.
func (r *reader) Series(ctx context.Context, s series.Scope, l series.Lookup) (out []map[string]string, err error) {
	if len(l.Selectors) == 0 {
		return nil, fmt.Errorf("%w: no match[] parameter provided", series.ErrBadQuery)
	}
	err = r.querier(ctx, s, &l, func(q storage.Querier, selectors [][]*labels.Matcher) error {
		hints := &storage.SelectHints{Start: millis(l.Start, math.MinInt64), End: millis(l.End, math.MaxInt64), Func: "series"}
		var sets []storage.SeriesSet
		for _, ms := range selectors {
			sets = append(sets, q.Select(ctx, true, hints, ms...))
		}
		set := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
		for len(out) < l.Limit && set.Next() {
			out = append(out, set.At().Labels().Map())
		}
		if err := set.Err(); err != nil {
			return failed(ctx, err)
		}
		warn(&l, set.Warnings())
		return nil
	})
	return out, err
}

// querier opens a querier within the scope for a lookup, which it completes.
func (r *reader) querier(ctx context.Context, s series.Scope, l *series.Lookup, use func(storage.Querier, [][]*labels.Matcher) error) (err error) {
	if l.Limit <= 0 || l.Limit > series.MaxResults {
		l.Limit = series.MaxResults
	}
	if len(l.Selectors) > series.MaxSelectors {
		return fmt.Errorf("%w: %d selectors, want at most %d", series.ErrCost, len(l.Selectors), series.MaxSelectors)
	}
	var sets [][]*labels.Matcher
	for _, sel := range l.Selectors {
		if len(sel) > series.MaxQueryBytes {
			return fmt.Errorf("%w: selector of %d bytes, want at most %d", series.ErrBadQuery, len(sel), series.MaxQueryBytes)
		}
		ms, err := r.parser.ParseMetricSelector(sel)
		if err != nil {
			return badQuery(err)
		}
		sets = append(sets, ms)
	}
	q, err := r.source(ctx, s).Querier(millis(l.Start, math.MinInt64), millis(l.End, math.MaxInt64))
	if err != nil {
		return fmt.Errorf("read the series: %w", err)
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	return use(q, sets)
}

// millis is a time in milliseconds, or none for the zero time.
func millis(t time.Time, none int64) int64 {
	if t.IsZero() {
		return none
	}
	return t.UnixMilli()
}
