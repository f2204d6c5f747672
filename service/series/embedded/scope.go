package embedded

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"fairlane/service/series"
)

// tenantFamilies matches the names of the families that tenants may read.
var tenantFamilies = func() *labels.Matcher {
	names := ""
	for _, f := range series.Families() {
		if f.Tenant {
			names += "|" + f.Name // names are letters and underscores, so no quoting
		}
	}
	return labels.MustNewMatcher(labels.MatchRegexp, metricName, names[1:])
}()

// visible returns lists of matchers: a series is visible when all matchers of one list match it.
func visible(s series.Scope) (lists [][]*labels.Matcher) {
	for _, f := range s.Fabrics {
		lists = append(lists, []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, series.LabelFabric, f)})
	}
	for _, t := range s.Tenants {
		if slices.Contains(s.Fabrics, t.Fabric) {
			continue
		}
		lists = append(lists, []*labels.Matcher{
			labels.MustNewMatcher(labels.MatchEqual, series.LabelFabric, t.Fabric),
			labels.MustNewMatcher(labels.MatchEqual, series.LabelTenant, t.Tenant),
			tenantFamilies,
		})
	}
	return lists
}

// within limits a queryable to a scope.
func within(s series.Scope, q storage.Queryable) storage.Queryable {
	if s.All {
		return q
	}
	return storage.QueryableFunc(func(mint, maxt int64) (storage.Querier, error) {
		inner, err := q.Querier(mint, maxt)
		if err != nil {
			return nil, err
		}
		return &scoped{Querier: inner, visible: visible(s)}, nil
	})
}

// scoped is a querier limited to the visible series.
type scoped struct {
	storage.Querier

	visible [][]*labels.Matcher
}

var _ storage.Querier = (*scoped)(nil)

func (q *scoped) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	sets := make([]storage.SeriesSet, len(q.visible))
	for i, v := range q.visible {
		// Sorted always, so that no order of internal references shows. No series is in two of the sets: the merge only interleaves.
		sets[i] = q.Querier.Select(ctx, true, hints, slices.Concat(ms, v)...)
	}
	if len(sets) == 1 {
		return sets[0]
	}
	return storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
}

func (q *scoped) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.union(ms, func(ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.Querier.LabelValues(ctx, name, hints, ms...)
	})
}

func (q *scoped) LabelNames(ctx context.Context, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return q.union(ms, func(ms []*labels.Matcher) ([]string, annotations.Annotations, error) {
		return q.Querier.LabelNames(ctx, hints, ms...)
	})
}

// union merges the sorted results for each visible tenant.
func (q *scoped) union(ms []*labels.Matcher, find func([]*labels.Matcher) ([]string, annotations.Annotations, error)) ([]string, annotations.Annotations, error) {
	var all []string
	var notes annotations.Annotations
	for _, v := range q.visible {
		list, n, err := find(slices.Concat(ms, v))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, list...)
		notes = notes.Merge(n)
	}
	slices.SortFunc(all, cmp.Compare[string])
	return slices.Compact(all), notes, nil
}
