package scenario

import (
	"errors"
	"maps"
	"slices"

	"fairlane/internal/stats"
)

// maxTagRows limits the number of tags per column with separate slowdowns, because each needs histograms.
const maxTagRows = 64

// otherTags represents the tags of a column beyond maxTagRows. No trace can contain it.
const otherTags = "(others)"

// TagSlowdown is the slowdown of the flows with one tag.
type TagSlowdown struct {
	Column string              `json:"column"` // tag column of the trace
	Tag    string              `json:"tag"`    // "(others)" combines all tags after the first 64
	All    stats.SlowdownRow   `json:"all"`
	BySize []stats.SlowdownRow `json:"by_size"`
}

// tagSlowdowns collects the slowdown of flows by tag.
type tagSlowdowns struct {
	columns []string
	bounds  []int64
	by      []map[string]*stats.Slowdowns // by column, then by tag
}

func newTagSlowdowns(columns []string, bounds []int64) *tagSlowdowns {
	t := &tagSlowdowns{columns: columns, bounds: bounds}
	for range columns {
		t.by = append(t.by, make(map[string]*stats.Slowdowns))
	}
	return t
}

// record adds a flow to each of its tags, except empty ones.
func (t *tagSlowdowns) record(tags []string, bytes int64, slowdown float64) error {
	var errs []error
	for i, tag := range tags {
		if tag == "" {
			continue
		}
		s, ok := t.by[i][tag]
		if !ok && len(t.by[i]) >= maxTagRows {
			tag = otherTags
			s, ok = t.by[i][tag]
		}
		if !ok {
			var err error
			if s, err = stats.NewSlowdowns(t.bounds); err != nil {
				return err
			}
			t.by[i][tag] = s
		}
		errs = append(errs, s.Record(bytes, slowdown))
	}
	return errors.Join(errs...)
}

// rows returns the slowdown of each tag, ordered by column and then by tag.
func (t *tagSlowdowns) rows() []TagSlowdown {
	var out []TagSlowdown
	for i, column := range t.columns {
		for _, tag := range slices.Sorted(maps.Keys(t.by[i])) {
			s := t.by[i][tag]
			out = append(out, TagSlowdown{Column: column, Tag: tag, All: s.Total(), BySize: s.Rows()})
		}
	}
	return out
}
