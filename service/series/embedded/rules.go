package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"fairlane/service/series"
	"fairlane/service/series/rules"
)

// Bounds of the evaluation, as a Prometheus server has them by default but for the grace: there is no scrape to wait for after a restart.
const (
	outageTolerance = time.Hour        // an alert that was pending before a longer pause begins anew
	forGrace        = time.Minute      // shortest time from a restart until a restored alert fires
	resendDelay     = time.Minute      // until a firing alert is notified again
	restoreAfter    = 2                // evaluations of a group until pending alerts are restored
	slack           = time.Second / 10 // by which an evaluation may come early
	// After a pause evaluations wait this number of rounds for samples, without which rates are unknown and alerts would end.
	roundsAfterPause = 2
)

// Rules evaluates rules on the series of a DB. The state of alerts is that of Prometheus: for, keep_firing_for, and restoration after a
// restart from the series ALERTS_FOR_STATE. Its methods are safe for concurrent use.
type Rules struct {
	followed

	db     *DB
	notify series.Notify
	needed map[string][][]*labels.Matcher // selectors by metric name, of metrics that are neither families nor recorded

	mu     sync.Mutex // one evaluation at a time
	groups []*ruleGroup
	ended  time.Time // of the latest call of Evaluate
	wait   int       // rounds without evaluation
}

var _ series.Rules = (*Rules)(nil)

// ruleGroup is a group of rules and what is known of its evaluations.
type ruleGroup struct {
	*promrules.Group

	subject rules.Subject

	mu    sync.Mutex // of what follows
	at    time.Time  // of the latest evaluation
	took  time.Duration
	count int // evaluations, up to restoreAfter
	// paused means that time passed without evaluations. One evaluation is at a time, so it needs no lock.
	paused bool
	anew   bool // it is due whatever its interval
}

// NewRules returns an evaluator of rules; notify may be nil.
func (d *DB) NewRules(groups []rules.Group, notify series.Notify) (*Rules, error) {
	if notify == nil {
		notify = func(context.Context, []series.Alert) {}
	}
	r := &Rules{db: d, notify: notify}
	m := promrules.NewManager(&promrules.ManagerOptions{
		QueryFunc: promrules.EngineQueryFunc(d.engine, r), NotifyFunc: r.send, AppendableV2: r, Queryable: storage.QueryableFunc(r.restorable), Logger: d.o.Log, Parser: d.parser,
		OutageTolerance: outageTolerance, ForGracePeriod: forGrace, ResendDelay: resendDelay, GroupLoader: loader{d.parser, rules.File(groups)},
	})
	loaded, errs := m.LoadGroups(d.o.Interval, labels.EmptyLabels(), "", nil, false, "")
	if len(errs) > 0 {
		return nil, fmt.Errorf("load the rules: %w", errors.Join(errs...))
	}
	for _, g := range groups {
		r.groups = append(r.groups, &ruleGroup{Group: loaded[promrules.GroupKey("", g.Name)], subject: g.Subject})
	}
	var err error
	r.needed, err = needed(d.parser, groups)
	return r, err
}

// loader loads the rules from a text, as another Prometheus server reads them from a file.
type loader struct {
	parser parser.Parser
	file   string
}

var _ promrules.GroupLoader = loader{}

func (l loader) Load(_ string, ignoreUnknown bool, scheme model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	return rulefmt.Parse([]byte(l.file), ignoreUnknown, scheme, l.parser, slog.New(slog.DiscardHandler))
}

func (l loader) Parse(query string) (parser.Expr, error) { return l.parser.ParseExpr(query) }

// needed returns the selectors of the metrics that rules read and that are neither families nor recorded by rules.
func needed(p parser.Parser, groups []rules.Group) (map[string][][]*labels.Matcher, error) {
	known := map[string]bool{}
	for _, f := range series.Families() {
		known[f.Name] = true
	}
	for _, g := range groups {
		for i := range g.Rules {
			known[g.Rules[i].Record] = true
		}
	}
	out := map[string][][]*labels.Matcher{}
	for _, g := range groups {
		for i := range g.Rules {
			e, err := p.ParseExpr(g.Rules[i].Expr)
			if err != nil {
				return nil, fmt.Errorf("rule %s%s: %w", g.Rules[i].Record, g.Rules[i].Alert, err)
			}
			for _, ms := range parser.ExtractSelectors(e) {
				for _, m := range ms {
					if m.Name == metricName && m.Type == labels.MatchEqual && !known[m.Value] {
						out[m.Value] = append(out[m.Value], ms)
					}
				}
			}
		}
	}
	return out, nil
}

// Needs reports whether a rule reads a series of the manager's own metrics, so that it must be appended. No labels stand for any.
func (r *Rules) Needs(name string, list []series.Label) bool {
	sets := r.needed[name]
	if len(list) == 0 {
		return len(sets) > 0
	}
	sample := series.Sample{Family: name, Labels: list}
	ls := labelsOf(&sample)
	for _, ms := range sets {
		if matchesAll(ms, ls) {
			return true
		}
	}
	return false
}

// Evaluate evaluates the groups that are due at a time, which must not be before that of an earlier call. Errors of rules are in their
// state, and in the log. When more time passed than samples are current, as when the clock jumped or the process was stopped, it first
// waits for new samples.
func (r *Rules) Evaluate(ctx context.Context, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	called := time.Now()
	defer func() { r.ended = at.Add(time.Since(called)) }()
	if !r.ended.IsZero() && at.Sub(r.ended) > currentPeriods*r.db.o.Interval {
		r.wait = roundsAfterPause
		for _, g := range r.groups {
			g.paused = true
		}
	}
	r.follow(ctx, at)
	if r.wait > 0 {
		r.wait--
		return
	}
	for _, g := range r.groups {
		if ctx.Err() != nil {
			return
		}
		if g.count > 0 && !g.anew && at.Sub(g.at) < g.Interval()-slack {
			continue
		}
		g.anew = false
		if g.paused {
			g.paused = false
			g.postpone(at.Sub(g.at) - g.Interval())
		}
		begin := time.Now()
		g.Eval(ctx, at)
		g.mu.Lock()
		g.at, g.took = at, time.Since(begin)
		g.count = min(g.count+1, restoreAfter+1)
		restore := g.count == restoreAfter
		g.mu.Unlock()
		if restore { // the first evaluation may lack recorded series
			g.RestoreForState(at)
		}
	}
	r.restoreAlerts(at)
}

// postpone keeps a pause from counting as time for which the conditions of pending alerts hold.
func (g *ruleGroup) postpone(by time.Duration) {
	g.eachAlert(func(a *promrules.Alert) {
		if a.State == promrules.StatePending {
			a.ActiveAt = a.ActiveAt.Add(by)
		}
	})
}

// eachAlert calls do for the alerts of the group, which do may change.
func (g *ruleGroup) eachAlert(do func(*promrules.Alert)) {
	for _, rule := range g.AlertingRules() {
		rule.ForEachActiveAlert(do)
	}
}

// send notifies the alerts of a rule that are due. Alerts about fabrics of other managers are theirs: that they end here says nothing.
func (r *Rules) send(ctx context.Context, _ string, list ...*promrules.Alert) {
	var out []series.Alert
	for _, a := range list {
		if r.lost == nil || r.lost.Matches(a.Labels.Get(series.LabelFabric)) {
			out = append(out, alertOf(a))
		}
	}
	if len(out) > 0 {
		r.notify(ctx, sortAlerts(out))
	}
}
