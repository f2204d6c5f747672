package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/rules"
)

// judged is a tenant's counters and objective.
func judged(fabric, tenant string, contended, bad, objective float64) []series.Sample {
	return []series.Sample{
		sample(series.TenantContended, fabric, tenant, contended), sample(series.TenantBad, fabric, tenant, bad),
		sample(series.TenantObjective, fabric, tenant, objective),
	}
}

func evaluator(t *testing.T, d *embedded.DB, notify series.Notify) *embedded.Rules {
	t.Helper()
	r, err := d.NewRules(rules.Groups(), notify)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestErrorBudgetBurnIsNotified runs the rules of the service over a tenant whose every contended second is bad from minute 90 to 130,
// and one that is idle.
func TestErrorBudgetBurnIsNotified(t *testing.T) {
	t.Parallel()
	d := open(t)
	var sent []series.Alert
	r := evaluator(t, d, func(_ context.Context, list []series.Alert) { sent = append(sent, list...) })
	fired, ended := -1, -1
	for m := range 200 {
		at := start.Add(time.Duration(m) * time.Minute)
		bad := 60 * float64(min(max(m-90, 0), 40))
		add(t, d, at, slices.Concat(judged("lab", "red", float64(m*60), bad, 0.99), judged("lab", "idle", 0, 0, 0.99)))
		sent = sent[:0]
		r.Evaluate(t.Context(), at)
		for _, a := range sent {
			if a.Label("tenant") != "red" {
				t.Fatalf("minute %d: %+v", m, a)
			}
			if a.Label("long") != "1h" || a.Label(rules.SeverityLabel) != rules.Page {
				continue
			}
			switch {
			case a.State == series.AlertFiring && fired < 0:
				fired = m
				if a.Name != "FairlaneShareBudgetBurn" || a.Value < 0.144 || a.Annotation(rules.Summary) != "Tenant red on fabric lab receives less than its share" || !a.FiredAt.Equal(at) {
					t.Errorf("fired %+v", a)
				}
			case a.State == series.AlertResolved && ended < 0:
				ended = m
			}
		}
	}
	// 8.64 of 60 minutes are 14.4 %, and the 5 samples until minute 134 have the same count of bad seconds.
	if fired != 99 || ended != 134 {
		t.Errorf("fired at minute %d and ended at %d, want 99 and 134", fired, ended)
	}
	if got := instant(t, d, `count(slo:sli_error:ratio_rate5m{tenant="idle"}) or vector(0)`, start.Add(199*time.Minute)); got != `{"resultType":"vector","result":[{"metric":{},"value":[1700011940,"0"]}]}` {
		t.Errorf("error ratio of an idle tenant: %s", got)
	}
	// The increases of long windows are of minute 195: 40 of 195 minutes were bad.
	for _, w := range []string{"1d", "3d", "28d"} {
		if got := instant(t, d, "round(slo:sli_error:ratio_rate"+w+", 0.001)", start.Add(199*time.Minute)); !strings.Contains(got, `"value":[1700011940,"0.205"]`) {
			t.Errorf("error ratio of %s: %s", w, got)
		}
	}
}

// TestPendingAlertsSurviveARestart restarts the evaluator while a device has been drifted for 10 of the 15 minutes that the rule demands.
func TestPendingAlertsSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	drifted := []series.Sample{{Family: "fairlane_drifted_devices", Value: 2, Labels: []series.Label{{Name: "instance", Value: "m1"}, {Name: "job", Value: "fairlane"}}}}
	o := embedded.Options{Interval: time.Minute}
	run := func(from, to int) (firing int) {
		d, err := embedded.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		r := evaluator(t, d, nil)
		firing = -1
		for m := from; m < to; m++ {
			at := start.Add(time.Duration(m) * time.Minute)
			add(t, d, at, drifted)
			r.Evaluate(t.Context(), at)
			list := r.Alerts(series.Everything)
			if len(list) != 1 || list[0].Name != "FairlaneDrift" || list[0].Annotation(rules.Summary) != "Drifted devices: 2" {
				t.Fatalf("minute %d: %+v", m, list)
			}
			if list[0].State == series.AlertFiring && firing < 0 {
				firing = m
			}
		}
		return firing
	}
	if m := run(0, 11); m >= 0 {
		t.Fatalf("fired at minute %d", m)
	}
	if m := run(12, 30); m != 18 { // the time from the last evaluation before the restart to the second after it does not count
		t.Errorf("fired at minute %d, want 18", m)
	}
}

func TestTheMetricsThatRulesReadAreKnown(t *testing.T) {
	t.Parallel()
	r := evaluator(t, open(t), nil)
	job := series.Label{Name: "job", Value: "fairlane"}
	for _, c := range []struct {
		name   string
		labels []series.Label
		want   bool
	}{
		{"up", []series.Label{job}, true},
		{"up", []series.Label{{Name: "job", Value: "other"}}, false},
		{"up", nil, true},
		{"fairlane_ready", []series.Label{job}, true},
		{"fairlane_jobs", []series.Label{job, {Name: "state", Value: "available"}}, true},
		{"fairlane_jobs", []series.Label{job, {Name: "state", Value: "running"}}, false},
		{"fairlane_http_request_duration_seconds_bucket", []series.Label{{Name: "le", Value: "1"}, {Name: "method", Value: "GET"}, {Name: "route", Value: "/api/v1/fabrics"}}, true},
		{"fairlane_http_request_duration_seconds_bucket", []series.Label{{Name: "le", Value: "1"}, {Name: "method", Value: "POST"}, {Name: "route", Value: "/api/v1/fabrics"}}, false},
		{"fairlane_sessions", nil, false},
		{series.TenantBad, nil, false},
		{series.RecordedBudget, nil, false},
	} {
		if got := r.Needs(c.name, c.labels); got != c.want {
			t.Errorf("%s%v: %v", c.name, c.labels, got)
		}
	}
}

// TestAlertsWithinAScopeAreThoseOfAServerWithItsSeriesAlone compares the states that a scope sees on a server with everything with those
// on a server that has the scope's series alone: no state, value, count or annotation of another tenant can show.
func TestAlertsWithinAScopeAreThoseOfAServerWithItsSeriesAlone(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]series.Scope{
		"nothing":              {},
		"tenants":              {Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}, {Fabric: "dc2", Tenant: "blue"}}},
		"a fabric":             {Fabrics: []string{"dc2"}},
		"a fabric and tenants": {Fabrics: []string{"dc2"}, Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}, {Fabric: "dc2", Tenant: "blue"}}},
	} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				t.Parallel()
				full, own := open(t), open(t)
				fullRules, ownRules := evaluator(t, full, nil), evaluator(t, own, nil)
				rnd := rand.New(rand.NewPCG(seed, 0))
				counters := map[string][2]float64{}
				seen, hidden := 0, 0
				for m := range 20 {
					at := start.Add(time.Duration(m) * time.Minute)
					all, visible := fleet(rnd, scope, counters)
					add(t, full, at, all)
					if len(visible) > 0 {
						add(t, own, at, visible)
					}
					fullRules.Evaluate(t.Context(), at)
					ownRules.Evaluate(t.Context(), at)
					if d := cmp.Diff(ownRules.RuleGroups(scope), fullRules.RuleGroups(scope)); d != "" {
						t.Fatalf("minute %d: rules:\n%s", m, d)
					}
					if d := cmp.Diff(ownRules.Alerts(scope), fullRules.Alerts(scope)); d != "" {
						t.Fatalf("minute %d: alerts:\n%s", m, d)
					}
					seen += len(fullRules.Alerts(scope))
					hidden += len(fullRules.Alerts(series.Everything)) - len(fullRules.Alerts(scope))
				}
				if hidden == 0 || seen == 0 && name != "nothing" {
					t.Errorf("%d alerts seen and %d hidden: the test shows little", seen, hidden)
				}
				if text, err := json.Marshal(fullRules.RuleGroups(scope)); err != nil || name == "tenants" && (slices.Contains(names(fullRules.RuleGroups(scope)), "fairlane") || len(text) == 0) {
					t.Errorf("a tenant sees the rules about managers: %v", err)
				}
			})
		}
	}
}

func names(groups []series.RuleGroup) (out []string) {
	for _, g := range groups {
		out = append(out, g.Name)
	}
	return out
}

// fleet is a minute of two fabrics with four tenants each, and of a manager; visible are the samples that a scope may see.
func fleet(r *rand.Rand, scope series.Scope, counters map[string][2]float64) (all, visible []series.Sample) {
	for _, fabric := range []string{"lab", "dc2"} {
		for i, tenant := range []string{"red", "blue", "redder", "green"} {
			c := counters[fabric+tenant]
			c[0] += 60
			c[1] += float64(r.IntN(61 * (i + 1) / 4))
			counters[fabric+tenant] = c
			list := judged(fabric, tenant, c[0], c[1], 0.99)
			all = append(all, list...)
			if sees(scope, series.TenantBad, fabric, tenant) {
				visible = append(visible, list...)
			}
		}
		s := series.Sample{Family: series.Coverage, Value: 0, Labels: []series.Label{{Name: series.LabelFabric, Value: fabric}}}
		all = append(all, s)
		if slices.Contains(scope.Fabrics, fabric) {
			visible = append(visible, s)
		}
	}
	return append(all, series.Sample{Family: "fairlane_drifted_devices", Value: 1, Labels: []series.Label{{Name: "instance", Value: "m1"}, {Name: "job", Value: "fairlane"}}}), visible
}

// BenchmarkEvaluate evaluates all rules for 64 tenants with 28 days of copies and six hours of samples every 15 seconds; the rules about long
// windows run in one evaluation of 20. It reports the processor's time too, since the machine may be busy.
func BenchmarkEvaluate(b *testing.B) {
	d, err := embedded.Open(b.TempDir(), embedded.Options{Retention: 60 * 24 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	r, err := d.NewRules(rules.Groups(), nil)
	if err != nil {
		b.Fatal(err)
	}
	at := start
	round := func(step time.Duration, copies bool) {
		var batch []series.Sample
		for i := range 64 {
			name, n := fmt.Sprintf("tenant%d", i), at.Sub(start).Seconds()
			bad := n * float64(i) / 640
			batch = append(batch, judged("lab", name, n, bad, 0.99)...)
			if copies {
				batch = append(batch, sample(series.RecordedContendedCopy, "lab", name, n), sample(series.RecordedBadCopy, "lab", name, bad))
			}
		}
		if err := d.Append(b.Context(), at, batch); err != nil {
			b.Fatal(err)
		}
		at = at.Add(step)
	}
	const history = 28 * 24 * time.Hour
	for at.Sub(start) < history-6*time.Hour {
		round(5*time.Minute, true)
	}
	for at.Sub(start) < history {
		round(15*time.Second, at.Sub(start)%(5*time.Minute) == 0)
	}
	used := processorTime(b)
	for b.Loop() {
		round(15*time.Second, false)
		r.Evaluate(b.Context(), at)
	}
	b.ReportMetric(float64((processorTime(b)-used).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// processorTime returns the processor's time that this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
