package embedded

import (
	"context"
	"errors"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"fairlane/service/series"
)

// answerRead answers a read request about the series of this folder, within the scope in it.
func (d *DB) answerRead(ctx context.Context, body []byte) ([]byte, error) {
	queries, scope, err := decodeRead(body)
	if err != nil {
		return nil, err
	}
	var out []byte
	samples := 0
	for i := range queries {
		result, err := d.selectRemote(ctx, scope, &queries[i], &samples, maxAnswerBytes-len(out))
		if err != nil {
			return nil, err
		}
		out = appendBytes(out, 1, result)
	}
	return snappy.Encode(nil, out), nil
}

// selectRemote encodes the series of a query. samples counts those of the whole answer.
func (d *DB) selectRemote(ctx context.Context, scope series.Scope, q *remoteQuery, samples *int, room int) (out []byte, err error) {
	if len(q.matchers) == 0 {
		q.matchers = []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, metricName, "")}
	}
	querier, err := within(scope, d.db).Querier(q.mint, q.maxt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, querier.Close()) }()
	set := querier.Select(ctx, true, &storage.SelectHints{Start: q.mint, End: q.maxt, Func: q.only}, q.matchers...)
	var it chunkenc.Iterator
	for set.Next() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s := remoteSeries{labels: set.At().Labels()}
		if q.only == "" {
			it = set.At().Iterator(it)
			if s.samples, err = samplesOf(it); err != nil {
				return nil, err
			}
		}
		*samples += len(s.samples)
		out = appendSeries(out, &s)
		if *samples > maxSamples || len(out) > room {
			return nil, errTooLarge
		}
	}
	return out, set.Err()
}

func samplesOf(it chunkenc.Iterator) (list []remoteSample, err error) {
	for it.Next() == chunkenc.ValFloat {
		t, v := it.At()
		list = append(list, remoteSample{t, v})
	}
	return list, it.Err()
}
