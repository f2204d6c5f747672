package embedded

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// followed is what rules know of the fabrics of other managers. One evaluation is at a time, so it needs no lock.
type followed struct {
	holds func() map[string]bool // nil: there are no other managers
	lost  *labels.Matcher        // of series of all fabrics but those that others measure; nil: others measure none

	pasts    map[string]*past // by fabric that this manager measures
	reading  bool             // from other managers
	arrivals chan []arrival   // what was read
	restore  []*past          // whose alerts are to be restored
}

// arrival is what was read of a fabric.
type arrival struct {
	fabric  string
	instead *past // of this, unless the fabric was lost meanwhile
	past    *past
}

// Follow limits the rules to the fabrics that no other manager measures. holds returns true for those that this manager measures, and false
// for those of others. Of a fabric that this manager takes over, rules read what other managers stored before. Call it before Evaluate.
func (r *Rules) Follow(holds func() map[string]bool) {
	r.followed = followed{holds: holds, pasts: map[string]*past{}, arrivals: make(chan []arrival, 1)}
}

// follow updates what is known of fabrics. It waits for no other manager: what is read serves a later evaluation.
func (r *Rules) follow(ctx context.Context, at time.Time) {
	if r.holds == nil {
		return
	}
	holds := r.holds()
	r.lose(holds)
	maps.DeleteFunc(r.pasts, func(fabric string, _ *past) bool { return !holds[fabric] })
	var due []arrival
	for fabric, mine := range holds {
		if !mine {
			continue
		}
		p := r.pasts[fabric]
		if p == nil {
			p = &past{since: at}
			r.pasts[fabric] = p
		}
		p.trim(at)
		if !p.complete && !at.Before(p.retry) {
			due = append(due, arrival{fabric: fabric, instead: p})
		}
	}
	select {
	case list := <-r.arrivals:
		r.reading = false
		r.adopt(list)
	default:
		if len(due) > 0 && !r.reading {
			r.reading = true
			r.db.reads.Go(func() {
				for i := range due {
					due[i].past = r.db.pastOf(ctx, due[i].fabric, due[i].instead.since, at)
				}
				r.arrivals <- due
			})
		}
	}
}

// lose notes the fabrics that others measure.
func (r *Rules) lose(holds map[string]bool) {
	var names []string
	for fabric, mine := range holds {
		if !mine {
			names = append(names, regexp.QuoteMeta(fabric))
		}
	}
	if r.lost = nil; len(names) > 0 {
		slices.Sort(names)
		r.lost = labels.MustNewMatcher(labels.MatchNotRegexp, series.LabelFabric, strings.Join(names, "|"))
	}
}

// adopt evaluates all groups with what was read.
func (r *Rules) adopt(list []arrival) {
	for _, a := range list {
		if r.pasts[a.fabric] != a.instead {
			continue
		}
		r.pasts[a.fabric] = a.past
		if len(a.past.list) == 0 {
			continue
		}
		r.restore = append(r.restore, a.past)
		for _, g := range r.groups {
			g.anew = true
		}
	}
}

// restoreAlerts gives the alerts of fabrics that were taken over the state that they had before. An alert that is older here keeps its own.
func (r *Rules) restoreAlerts(at time.Time) {
	if len(r.restore) == 0 {
		return
	}
	for _, g := range r.groups {
		if g.subject == rules.Managers {
			continue
		}
		own := map[*promrules.Alert]time.Time{}
		g.eachAlert(func(a *promrules.Alert) { own[a] = a.ActiveAt })
		g.RestoreForState(at)
		g.eachAlert(func(a *promrules.Alert) {
			if own[a].Before(a.ActiveAt) {
				a.ActiveAt = own[a]
			}
		})
	}
	r.restore = nil
}

// Querier reads the series of this folder, without fabrics that others measure and with the past of those that were taken over.
func (r *Rules) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := r.db.db.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	if r.lost != nil {
		q = &scoped{Querier: q, visible: [][]*labels.Matcher{{r.lost}}}
	}
	var pasts []*past
	for _, p := range r.pasts {
		if len(p.list) > 0 {
			pasts = append(pasts, p)
		}
	}
	if len(pasts) > 0 {
		q = storage.NewMergeQuerier([]storage.Querier{q, &pastQuerier{pasts, mint, maxt}}, nil, storage.ChainedSeriesMerge)
	}
	return q, nil
}

// restorable are the series from which the state of alerts is restored: after a take-over only the past, since other alerts go on.
func (r *Rules) restorable(mint, maxt int64) (storage.Querier, error) {
	if len(r.restore) > 0 {
		return &pastQuerier{r.restore, mint, maxt}, nil
	}
	return r.Querier(mint, maxt)
}

// AppenderV2 appends what rules record. Rules about a fabric that another manager took over record nothing more, which does not end its
// series and alerts: the other one continues them.
func (r *Rules) AppenderV2(ctx context.Context) storage.AppenderV2 {
	app := r.db.db.AppenderV2(ctx)
	if r.lost == nil {
		return app
	}
	return &continued{app, r.lost}
}

type continued struct {
	storage.AppenderV2

	lost *labels.Matcher
}

func (c *continued) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o storage.AppendV2Options) (storage.SeriesRef, error) {
	if value.IsStaleNaN(v) && !c.lost.Matches(ls.Get(series.LabelFabric)) {
		return ref, nil
	}
	return c.AppenderV2.Append(ref, ls, st, t, v, h, fh, o)
}
