package collect_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/collect"
	"fairlane/service/series"
)

// evaluator needs fairlane_ready and up, and counts evaluations.
type evaluator struct{ times []time.Time }

func (e *evaluator) Needs(name string, _ []series.Label) bool {
	return name == "fairlane_ready" || name == "up"
}

func (e *evaluator) Evaluate(_ context.Context, at time.Time) { e.times = append(e.times, at) }

// TestRulesSeeTheManagersOwnMetrics keeps the metrics that rules read with the labels of a scrape, ends those that vanish, and evaluates
// the rules even when nothing could be stored.
func TestRulesSeeTheManagersOwnMetrics(t *testing.T) {
	t.Parallel()
	ready, fault := true, error(nil)
	gather := func(wanted func(string) bool, add func(string, []series.Label, float64)) error {
		if wanted("fairlane_sessions") {
			t.Error("asked for a metric that no rule reads")
		}
		add("fairlane_sessions", nil, 3)
		if ready {
			add("fairlane_ready", []series.Label{{Name: "x", Value: "y"}}, 1)
		}
		return fault
	}
	k, e := &kept{}, &evaluator{}
	at := time.Unix(1000, 0)
	failures := 0
	l := collect.NewRuleLoop(k, e, gather, collect.RuleOptions{Instance: "m1", Now: func() time.Time { return at }, Failed: func() { failures++ }})
	if err := l.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("up m1 fairlane 1\nready y m1 fairlane 1\n", k.last(t)); d != "" {
		t.Error(d)
	}
	ready = false
	if err := l.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff("up m1 fairlane 1\nready y m1 fairlane gap\n", k.last(t)); d != "" {
		t.Error(d)
	}
	k.err, fault = errors.New("disk full"), errors.New("half")
	if err := l.Round(t.Context()); !errors.Is(err, k.err) || !errors.Is(err, fault) {
		t.Errorf("error %v", err)
	}
	if len(e.times) != 3 || failures != 1 {
		t.Errorf("%d evaluations and %d failures", len(e.times), failures)
	}
}
