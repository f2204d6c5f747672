package embedded

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// past holds the series of a fabric that rules need from the time before this manager measured it: those of other managers, and the alerts
// that this manager itself recorded earlier. It is in memory alone, so a manager reads it again after a restart.
type past struct {
	since    time.Time // this manager measures the fabric
	list     []pastSeries
	complete bool      // every other manager answered
	retry    time.Time // not before then, unless complete
}

// pastSeries is a series in compressed chunks, since counters of 28 days have 8,000 samples.
type pastSeries struct {
	labels labels.Labels
	chunks []pastChunk
	keep   time.Duration // after the latest sample
}

type pastChunk struct {
	mint, maxt int64
	chunk      chunkenc.Chunk
}

// alertsFor is the series in which rules record since when alerts are pending or firing.
const alertsFor = "ALERTS_FOR_STATE"

// Bounds of reading the past.
const (
	pastTimeout = 10 * time.Second // of a request; nothing waits for it
	pastRetry   = 5 * time.Minute  // after a manager did not answer
	pastSpan    = 7 * 24 * time.Hour
	chunkLength = 120 // samples, as in the folder
)

// pastRead is a request for series of a fabric.
type pastRead struct {
	names string // a regular expression
	keep  time.Duration
	mint  time.Time
	maxt  time.Time
}

// pastReads returns the requests for what rules need at a time: the most important first, and long ones in parts, since answers are bounded.
func pastReads(at time.Time) []pastRead {
	raw, copies := rules.History()
	list := []pastRead{{
		series.TenantBad + "|" + series.TenantContended + "|" + series.FabricLoop + "|" + alertsFor, raw, at.Add(-raw), at,
	}}
	for end, first := at, at.Add(-copies); end.After(first); end = end.Add(-pastSpan) {
		list = append(list, pastRead{series.RecordedBadCopy + "|" + series.RecordedContendedCopy, copies, end.Add(-pastSpan), end.Add(-time.Millisecond)})
	}
	return list
}

// pastOf reads the series of a fabric from before a manager took it over. The series of managers that do not answer are missing.
func (d *DB) pastOf(ctx context.Context, fabric string, since, at time.Time) *past {
	p := &past{since: since, complete: true}
	all := gathered{}
	var others []Peer
	own, err := d.ownAlerts(ctx, fabric, since)
	if err == nil && d.peers != nil {
		others, err = d.peers.o.List(ctx)
	}
	if err != nil {
		d.o.Log.Warn("the rules lack earlier series of a fabric", "fabric", fabric, "error", err.Error())
		p.complete = false
	}
	all.add(own, outageTolerance)
	for _, other := range others {
		for _, one := range pastReads(at) {
			if !other.Until.IsZero() && other.Until.Before(one.mint) {
				continue
			}
			list, err := d.readPast(ctx, other, fabric, one)
			if err != nil { // the log has it
				p.complete = false
				break
			}
			all.add(list, one.keep)
		}
	}
	for _, s := range all {
		p.list = append(p.list, pack(s))
	}
	p.retry = at.Add(pastRetry)
	return p
}

// gathered are series by their labels.
type gathered map[string]*keptSeries

type keptSeries struct {
	remoteSeries

	keep time.Duration
}

func (g gathered) add(list []remoteSeries, keep time.Duration) {
	for i := range list {
		key := list[i].labels.String()
		if g[key] == nil {
			g[key] = &keptSeries{remoteSeries{labels: list[i].labels}, keep}
		}
		g[key].samples = append(g[key].samples, list[i].samples...)
	}
}

// ownAlerts reads the alerts about a fabric that this manager recorded before a time.
func (d *DB) ownAlerts(ctx context.Context, fabric string, before time.Time) (list []remoteSeries, err error) {
	q, err := d.db.Querier(before.Add(-outageTolerance).UnixMilli(), before.UnixMilli()-1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	set := q.Select(ctx, true, nil, labels.MustNewMatcher(labels.MatchEqual, metricName, alertsFor), labels.MustNewMatcher(labels.MatchEqual, series.LabelFabric, fabric))
	for set.Next() {
		samples, err := samplesOf(set.At().Iterator(nil))
		if err != nil {
			return nil, err
		}
		list = append(list, remoteSeries{set.At().Labels(), samples})
	}
	return list, set.Err()
}

func (d *DB) readPast(ctx context.Context, other Peer, fabric string, one pastRead) ([]remoteSeries, error) {
	scope := series.Scope{Fabrics: []string{fabric}}
	deadline := time.Now().Add(pastTimeout)
	q := newRemoteQuerier(func(ctx context.Context, queries []remoteQuery) ([][]remoteSeries, error) {
		return d.peers.read(ctx, other, deadline, queries, scope)
	}, scope, one.mint.UnixMilli(), one.maxt.UnixMilli())
	set := q.ask(ctx, nil, labels.MustNewMatcher(labels.MatchRegexp, metricName, one.names))
	err := set.Err() // waits for the answer
	return set.list, err
}

// pack compresses samples. If two managers stored a sample of the same time, it keeps one, as queries do.
func pack(s *keptSeries) pastSeries {
	slices.SortStableFunc(s.samples, func(a, b remoteSample) int { return cmp.Compare(a.t, b.t) })
	s.samples = slices.CompactFunc(s.samples, func(a, b remoteSample) bool { return a.t == b.t })
	out := pastSeries{labels: s.labels, keep: s.keep}
	for part := range slices.Chunk(s.samples, chunkLength) {
		c := chunkenc.NewXORChunk()
		app, err := c.Appender()
		if err != nil { // never, of a new chunk
			continue
		}
		for _, x := range part {
			app.Append(0, x.t, x.v)
		}
		c.Compact()
		out.chunks = append(out.chunks, pastChunk{part[0].t, part[len(part)-1].t, c})
	}
	return out
}

// trim drops series that are older than every window of the rules.
func (p *past) trim(at time.Time) {
	p.list = slices.DeleteFunc(p.list, func(s pastSeries) bool {
		return len(s.chunks) == 0 || s.chunks[len(s.chunks)-1].maxt < at.Add(-s.keep).UnixMilli()
	})
}

// pastQuerier selects from pasts of different fabrics.
type pastQuerier struct {
	pasts      []*past
	mint, maxt int64
}

var _ storage.Querier = (*pastQuerier)(nil)

func (q *pastQuerier) Select(_ context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	set := &remoteSet{done: make(chan struct{}), at: -1}
	close(set.done)
	var it chunkenc.Iterator
	for _, p := range q.pasts {
		for _, s := range p.list {
			if !matchesAll(ms, s.labels) {
				continue
			}
			one := remoteSeries{labels: s.labels}
			for _, c := range s.chunks {
				if c.maxt < mint || c.mint > maxt {
					continue
				}
				for it = c.chunk.Iterator(it); it.Next() != chunkenc.ValNone; {
					if t, v := it.At(); t >= mint && t <= maxt {
						one.samples = append(one.samples, remoteSample{t, v})
					}
				}
			}
			if len(one.samples) > 0 {
				set.list = append(set.list, one)
			}
		}
	}
	slices.SortFunc(set.list, func(a, b remoteSeries) int { return labels.Compare(a.labels, b.labels) })
	return set
}

// LabelValues returns none: no rule asks for labels.
func (q *pastQuerier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames returns none.
func (q *pastQuerier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *pastQuerier) Close() error { return nil }
