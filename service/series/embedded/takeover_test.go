package embedded_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
)

// handed is a minute of fabric lab, in which tenant red contends and half of its seconds are bad, and which cannot be measured from minute
// 117 on. The counters are those since the manager began to measure.
func handed(minute, since int) []series.Sample {
	n := float64((minute - since) * 60)
	coverage := series.Sample{Family: series.Coverage, Value: 1, Labels: []series.Label{{Name: series.LabelFabric, Value: "lab"}}}
	if minute >= 117 {
		coverage.Value = 0
	}
	return append(judged("lab", "red", n, n/2, 0.99), coverage)
}

// takeOver runs two managers: the other one measures fabric lab until minute 120, and the first from minute 123 on.
type takeOver struct {
	*pair

	t          *testing.T
	rules      [2]*embedded.Rules // of the first and of the other one
	ended      [2][]series.Alert
	lab        map[string]bool // which the first holds
	others     map[string]bool
	everything *embedded.DB // of one manager that measures all the time
	continuous *embedded.Rules
}

func newTakeOver(t *testing.T, adjust ...func(*embedded.PeerOptions, *embedded.Peer)) *takeOver {
	t.Helper()
	o := &takeOver{pair: openPair(t, adjust...), t: t, lab: map[string]bool{}, others: map[string]bool{"lab": true}, everything: open(t)}
	for i, d := range []*embedded.DB{o.DB, o.other} {
		o.rules[i] = evaluator(t, d, func(_ context.Context, list []series.Alert) {
			o.ended[i] = append(o.ended[i], slices.DeleteFunc(list, func(a series.Alert) bool { return a.State != series.AlertResolved })...)
		})
	}
	o.rules[0].Follow(func() map[string]bool { return o.lab })
	o.rules[1].Follow(func() map[string]bool { return o.others })
	o.continuous = evaluator(t, o.everything, nil)
	return o
}

// until runs minutes.
func (o *takeOver) until(from, to int) {
	o.t.Helper()
	for m := from; m < to; m++ {
		at := start.Add(time.Duration(m) * time.Minute)
		add(o.t, o.everything, at, handed(m, 0))
		switch {
		case m < 120:
			add(o.t, o.other, at, handed(m, 0))
		case m < 123: // the lease is over
			o.others["lab"] = false
		case m >= 123:
			o.lab["lab"] = true
			add(o.t, o.DB, at, handed(m, 122))
		}
		for _, r := range []*embedded.Rules{o.rules[0], o.rules[1], o.continuous} {
			r.Evaluate(o.t.Context(), at)
		}
		if m == 123 {
			o.rules[0].AwaitPast()
		}
	}
}

// states are the states of alerts about the fabric, by name and window, and since when.
func states(r *embedded.Rules) map[string]string {
	out := map[string]string{}
	for _, a := range r.Alerts(series.Everything) {
		out[a.Name+a.Label("long")] = fmt.Sprintf("%s since minute %v", a.State, a.ActiveAt.Sub(start).Minutes())
	}
	return out
}

// TestAlertsAndLongWindowsGoOnAtATakeOver compares the manager that takes a fabric over with one that measured it all the time.
func TestAlertsAndLongWindowsGoOnAtATakeOver(t *testing.T) {
	t.Parallel()
	o := newTakeOver(t)
	o.until(0, 125)
	got, want := states(o.rules[0]), states(o.rules[1])
	if len(want) != 0 {
		t.Errorf("the manager that lost the fabric has alerts: %v", want)
	}
	want = states(o.continuous)
	if len(want) < 6 {
		t.Fatalf("the test shows little: %v", want)
	}
	for name, state := range want {
		if got[name] != state && name != "FairlaneFabricNotMeasured" {
			t.Errorf("%s is %q after the take-over, %q without", name, got[name], state)
		}
	}
	if s := got["FairlaneFabricNotMeasured"]; s != "pending since minute 122" { // since 117, without the five minutes from the last evaluation to the restoration
		t.Errorf("the fabric that is not measured: %q", s)
	}
	at := start.Add(124 * time.Minute)
	for _, w := range []string{"5m", "30m", "1h", "6h", "1d", "28d"} {
		q := fmt.Sprintf(`slo:sli_error:ratio_rate%s{tenant="red"}`, w)
		a, b := number(t, o.DB, q, at), number(t, o.everything, q, at)
		if math.Abs(a-b) > 0.02 {
			t.Errorf("error ratio of %s: %v after the take-over, %v without", w, a, b)
		}
		if w == "6h" || w == "1d" {
			q = fmt.Sprintf(`last_over_time(slo:contended_seconds:increase%s{tenant="red"}[15m])`, w)
			a, b = number(t, o.DB, q, at), number(t, o.everything, q, at)
			if math.Abs(a-b) > 480 { // no manager measured for three minutes, and copies are five minutes apart
				t.Errorf("contended seconds of %s: %v after the take-over, %v without", w, a, b)
			}
		}
	}
	o.until(125, 140)
	if len(o.ended[0])+len(o.ended[1]) > 0 {
		t.Errorf("resolved: %+v", o.ended)
	}
	for name, state := range states(o.rules[0]) {
		if strings.Contains(state, "pending") {
			t.Errorf("after 15 minutes %s is %s", name, state)
		}
	}
}

// number evaluates a query that gives one value.
func number(t *testing.T, d *embedded.DB, q string, at time.Time) float64 {
	t.Helper()
	text := instant(t, d, "scalar("+q+")", at)
	parts := strings.Split(text, `"`)
	v, err := strconv.ParseFloat(parts[len(parts)-2], 64)
	if err != nil {
		t.Fatalf("%s: %s", q, text)
	}
	return v
}

// TestPendingAlertsSurviveARestartBeforeTheLeaseEnds restarts the only manager on a shared database, which measures the fabric again once the
// lease of the process before is over.
func TestPendingAlertsSurviveARestartBeforeTheLeaseEnds(t *testing.T) {
	t.Parallel()
	d := open(t)
	var r *embedded.Rules
	mine := true
	for m := 110; m < 125; m++ {
		if m == 110 || m == 120 { // the process begins
			r = evaluator(t, d, nil)
			r.Follow(func() map[string]bool { return map[string]bool{"lab": mine} })
		}
		if mine = m < 120 || m >= 123; mine {
			add(t, d, start.Add(time.Duration(m)*time.Minute), handed(m, 110))
		}
		r.Evaluate(t.Context(), start.Add(time.Duration(m)*time.Minute))
		r.AwaitPast()
	}
	if s := states(r)["FairlaneFabricNotMeasured"]; s != "pending since minute 122" {
		t.Errorf("the fabric that is not measured: %q", s)
	}
}

// TestRulesDoNotWaitForAManagerThatDoesNotAnswer freezes the other manager: rules see this manager's own series, until it answers.
func TestRulesDoNotWaitForAManagerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	awake := make(chan struct{})
	frozen := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-awake })) // then its answer is not signed
	t.Cleanup(frozen.Close)
	o := newTakeOver(t, func(o *embedded.PeerOptions, p *embedded.Peer) {
		o.Pause = time.Nanosecond
		o.List = func(context.Context) ([]embedded.Peer, error) {
			select {
			case <-awake:
				return []embedded.Peer{*p}, nil
			default:
				return []embedded.Peer{{Name: "frozen", URL: frozen.URL, Key: peerKey}}, nil
			}
		}
	})
	o.until(0, 123)
	begin := time.Now()
	at := start.Add(123 * time.Minute)
	add(t, o.DB, at, handed(123, 122))
	o.lab["lab"] = true
	o.rules[0].Evaluate(t.Context(), at)
	o.rules[0].Evaluate(t.Context(), at.Add(time.Minute))
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("rules waited for %v", took)
	}
	if got := states(o.rules[0]); len(got) > 1 {
		t.Errorf("alerts without the past: %v", got)
	}
	close(awake)
	o.rules[0].AwaitPast()
	for m := 125; m < 132; m++ { // the next attempt is five minutes after the first
		at := start.Add(time.Duration(m) * time.Minute)
		add(t, o.DB, at, handed(m, 122))
		o.rules[0].Evaluate(t.Context(), at)
		o.rules[0].AwaitPast()
	}
	if got := states(o.rules[0])["FairlaneShareBudgetBurn6h"]; !strings.HasPrefix(got, "firing") {
		t.Errorf("after the other manager answered: %v", states(o.rules[0]))
	}
	if got := states(o.rules[0])["FairlaneFabricNotMeasured"]; got != "firing since minute 123" { // what is known later does not delay it
		t.Errorf("the fabric that is not measured: %q", got)
	}
}
