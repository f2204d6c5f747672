package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fairlane/service/series"
)

// Job is the label job of the manager's own series: that of the scrape configuration in docs/operations.md.
const Job = "fairlane"

// Evaluator evaluates rules on series.
type Evaluator interface {
	// Needs reports whether a rule reads a series; no labels stand for any of the name.
	Needs(name string, labels []series.Label) bool
	// Evaluate evaluates the rules that are due.
	Evaluate(ctx context.Context, at time.Time)
}

// Gather calls add for every value of the manager's own metrics whose name is wanted. It returns those that it could read, and an error.
type Gather func(wanted func(name string) bool, add func(name string, labels []series.Label, value float64)) error

// RuleOptions configure a RuleLoop.
type RuleOptions struct {
	Instance string           // value of the label instance of the manager's own series
	Period   time.Duration    // between two evaluations
	Now      func() time.Time // never runs back
	Log      *slog.Logger     // nil discards
	Failed   func()           // as in Options; may be nil
}

// RuleLoop keeps the manager's own metrics that rules read as series, with the labels that a scrape adds, and evaluates the rules.
type RuleLoop struct {
	keep   series.Store
	rules  Evaluator
	gather Gather
	o      RuleOptions
	last   map[string]series.Sample // by series.Sample.AppendKey; values are not used
}

// NewRuleLoop returns a loop over rules.
func NewRuleLoop(keep series.Store, rules Evaluator, gather Gather, o RuleOptions) *RuleLoop {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Failed == nil {
		o.Failed = func() {}
	}
	return &RuleLoop{keep: keep, rules: rules, gather: gather, o: o}
}

// Run evaluates periodically until the context ends.
func (l *RuleLoop) Run(ctx context.Context) {
	tick := time.NewTicker(l.o.Period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.Round(ctx); err != nil && ctx.Err() == nil {
				l.o.Log.Warn("the manager's own series were not stored", "error", err.Error())
			}
		}
	}
}

// Round stores the metrics and evaluates the rules once. Rules are evaluated even when metrics could not be stored.
func (l *RuleLoop) Round(ctx context.Context) error {
	at := l.o.Now()
	batch, err := l.samples()
	batch, l.last = withGaps(batch, l.last)
	if err2 := l.keep.Append(ctx, at, batch); err2 != nil {
		l.o.Failed()
		err = errors.Join(err, fmt.Errorf("keep the manager's own series: %w", err2))
	}
	l.rules.Evaluate(ctx, at)
	return err
}

// samples returns the manager's own metrics that rules read.
func (l *RuleLoop) samples() (batch []series.Sample, err error) {
	add := func(name string, labels []series.Label, v float64) {
		labels = append(labels[:len(labels):len(labels)], series.Label{Name: "instance", Value: l.o.Instance}, series.Label{Name: "job", Value: Job})
		if l.rules.Needs(name, labels) {
			batch = append(batch, series.Sample{Family: name, Labels: labels, Value: v})
		}
	}
	add("up", nil, 1) // a scrape adds it
	err = l.gather(func(name string) bool { return l.rules.Needs(name, nil) }, add)
	return batch, err
}
