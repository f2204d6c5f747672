package embedded

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"fairlane/service/series"
)

// readFunc asks another server for series, a list for each query.
type readFunc func(ctx context.Context, queries []remoteQuery) ([][]remoteSeries, error)

// remoteQuerier selects series of another server. It asks for the visible series alone, and keeps only those of an answer.
type remoteQuerier struct {
	read       readFunc
	mint, maxt int64
	visible    [][]*labels.Matcher // nil: all
	partial    error               // the warning in place of an error; nil: errors are errors
	requests   sync.WaitGroup
}

var _ storage.Querier = (*remoteQuerier)(nil)

func newRemoteQuerier(read readFunc, s series.Scope, mint, maxt int64) *remoteQuerier {
	q := &remoteQuerier{read: read, mint: mint, maxt: maxt}
	if !s.All {
		q.visible = visible(s)
		if q.visible == nil {
			q.visible = [][]*labels.Matcher{}
		}
	}
	return q
}

// Select sends the request at once and waits for the answer when it is read, so that several servers are queried concurrently.
func (q *remoteQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	return q.ask(ctx, hints, ms...)
}

func (q *remoteQuerier) ask(ctx context.Context, hints *storage.SelectHints, ms ...*labels.Matcher) *remoteSet {
	base := remoteQuery{mint: q.mint, maxt: q.maxt, matchers: ms}
	if hints != nil {
		base.mint, base.maxt = max(q.mint, hints.Start), min(q.maxt, hints.End)
		if hints.Func == "series" {
			base.only = hints.Func
		}
	}
	queries := []remoteQuery{base}
	if q.visible != nil {
		queries = queries[:0]
		for _, v := range q.visible {
			one := base
			one.matchers = slices.Concat(ms, v)
			queries = append(queries, one)
		}
	}
	set := &remoteSet{done: make(chan struct{}), at: -1}
	if len(queries) == 0 {
		close(set.done)
		return set
	}
	q.requests.Go(func() {
		defer close(set.done)
		lists, err := q.read(ctx, queries)
		switch {
		case err != nil && q.partial != nil && ctx.Err() == nil:
			set.warnings.Add(q.partial)
		case err != nil:
			set.err = err
		default:
			set.list = q.keep(lists, ms)
		}
	})
	return set
}

// keep returns the series of an answer that were asked for and are visible, sorted, each once.
func (q *remoteQuerier) keep(lists [][]remoteSeries, ms []*labels.Matcher) []remoteSeries {
	list := slices.DeleteFunc(slices.Concat(lists...), func(s remoteSeries) bool {
		return !matchesAll(ms, s.labels) || q.visible != nil && !slices.ContainsFunc(q.visible, func(v []*labels.Matcher) bool { return matchesAll(v, s.labels) })
	})
	slices.SortFunc(list, func(a, b remoteSeries) int { return labels.Compare(a.labels, b.labels) })
	return slices.CompactFunc(list, func(a, b remoteSeries) bool { return labels.Equal(a.labels, b.labels) })
}

func matchesAll(ms []*labels.Matcher, ls labels.Labels) bool {
	return !slices.ContainsFunc(ms, func(m *labels.Matcher) bool { return !m.Matches(ls.Get(m.Name)) })
}

func (q *remoteQuerier) LabelValues(ctx context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.labels(ctx, ms, func(ls labels.Labels, found map[string]bool) {
		if v := ls.Get(name); v != "" {
			found[v] = true
		}
	})
}

func (q *remoteQuerier) LabelNames(ctx context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.labels(ctx, ms, func(ls labels.Labels, found map[string]bool) {
		ls.Range(func(l labels.Label) { found[l.Name] = true })
	})
}

// labels collects from the labels of the matching series: remote read has no request for labels.
func (q *remoteQuerier) labels(ctx context.Context, ms []*labels.Matcher, add func(labels.Labels, map[string]bool)) ([]string, annotations.Annotations, error) {
	if len(ms) == 0 { // the protocol requires one
		ms = []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, metricName, "")}
	}
	set := q.Select(ctx, true, &storage.SelectHints{Start: q.mint, End: q.maxt, Func: "series"}, ms...)
	found := map[string]bool{}
	for set.Next() {
		add(set.At().Labels(), found)
	}
	var out []string
	for v := range found {
		out = append(out, v)
	}
	slices.SortFunc(out, cmp.Compare[string])
	return out, set.Warnings(), set.Err()
}

// Close waits for requests, which end with the context of the query.
func (q *remoteQuerier) Close() error {
	q.requests.Wait()
	return nil
}

// remoteSet is the answer to a selection, once it is there.
type remoteSet struct {
	done     chan struct{}
	list     []remoteSeries
	err      error
	warnings annotations.Annotations
	at       int
}

var _ storage.SeriesSet = (*remoteSet)(nil)

func (s *remoteSet) Next() bool {
	<-s.done
	s.at++
	return s.at < len(s.list)
}

func (s *remoteSet) At() storage.Series { return &s.list[s.at] }

func (s *remoteSet) Err() error {
	<-s.done
	return s.err
}

func (s *remoteSet) Warnings() annotations.Annotations {
	<-s.done
	return s.warnings
}

var _ storage.Series = (*remoteSeries)(nil)

func (s *remoteSeries) Labels() labels.Labels { return s.labels }

func (s *remoteSeries) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIterator(remoteSamples(s.samples))
}

// remoteSamples are samples as the engine reads them.
type remoteSamples []remoteSample

func (s remoteSamples) Get(i int) chunks.Sample { return &s[i] } // a pointer needs no allocation
func (s remoteSamples) Len() int                { return len(s) }

func (s *remoteSample) T() int64                      { return s.t }
func (s *remoteSample) ST() int64                     { return 0 }
func (s *remoteSample) F() float64                    { return s.v }
func (s *remoteSample) H() *histogram.Histogram       { return nil }
func (s *remoteSample) FH() *histogram.FloatHistogram { return nil }
func (s *remoteSample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s *remoteSample) Copy() chunks.Sample           { c := *s; return &c }
