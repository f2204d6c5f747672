package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/peertest"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/obs"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/service/series/rules"
	"fairlane/subnet"
	"fairlane/subnet/ident"
	"fairlane/subnet/topogen"
)

// judgedFabrics are two fabrics: on "lab" tenants contend, red receives half of what it may have, and a link of the plan is gone; "dark"
// cannot be measured.
type judgedFabrics struct{ control.Meter }

func (judgedFabrics) EachFabric(_ context.Context, _ string, do func(string) error) error {
	return errors.Join(do("lab"), do("dark"))
}

func (judgedFabrics) RefreshTarget(_ context.Context, fabric string, _ control.Target) (control.Target, error) {
	p := &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "red"}, {Tenant: "blue"}}}
	if fabric == "lab" {
		p.Links = []policy.LinkShare{{Name: `sw1/P4 -> "h4"/P1`, Port: ident.PortID{Node: 1, Port: 4}}}
	}
	return control.Target{Fabric: control.Fabric{Name: fabric, TimeScale: 1}, Plan: p}, nil
}

func (judgedFabrics) LatestTopology(context.Context, string) (*subnet.Fabric, error) {
	return topogen.Star(2, topogen.Wire{})
}

func (judgedFabrics) ObjectiveSet(context.Context, string) (control.ObjectiveSet, error) {
	return control.NewObjectiveSet(nil), nil
}

func (judgedFabrics) ClaimCollection(context.Context, string, string, time.Time) (bool, error) {
	return true, nil
}

// Now runs so fast that each round, a second after the one before, counts for a minute.
func (judgedFabrics) Now() time.Time { return begun.Add(60 * time.Since(begun)) }

var begun = time.Now()

func (judgedFabrics) Measure(_ context.Context, t control.Target, window time.Duration) (control.Shares, error) {
	if t.Fabric.Name == "dark" {
		return control.Shares{}, errors.New("no answer")
	}
	return control.Shares{Window: window, Coverage: new(1.0), Loop: &control.CongestionLoop{State: control.LoopNotActing}, Tenants: []control.TenantShare{
		{Tenant: "red", Contended: control.Contended{Contention: control.ContentionContending, Received: new(0.5)}},
		{Tenant: "blue", Contended: control.Contended{Contention: control.ContentionContending, Received: new(1.0)}},
	}}, nil
}

// quick returns the rules of the service with short times.
func quick() []rules.Group {
	groups := rules.Groups()
	for i := range groups {
		groups[i].Interval = min(groups[i].Interval, time.Second)
		for j := range groups[i].Rules {
			groups[i].Rules[j].For = min(groups[i].Rules[j].For, 2*time.Second)
		}
	}
	return groups
}

// alertKey is an alert by its labels, without those that name the scraped process.
func alertKey(labels map[string]string) string {
	labels = maps.Clone(labels)
	delete(labels, "instance")
	text, err := json.Marshal(labels) // sorts the names
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestPrometheusFiresTheSameAlerts has Debian's Prometheus scrape a manager's metrics and evaluate the rule file, while the service
// evaluates the same rules on its own series: both fire the same alerts.
func TestPrometheusFiresTheSameAlerts(t *testing.T) {
	t.Parallel()
	program := peertest.Program(t, "prometheus")
	db := embeddedtest.Open(t, embedded.Options{Interval: time.Second})
	census := func(context.Context) (obs.Census, error) {
		return obs.Census{Readings: map[string]int64{"drifted": 2}}, nil
	}
	metrics, err := obs.NewMetrics("test", obs.NewCensusCache(census, nil))
	if err != nil {
		t.Fatal(err)
	}
	own, err := db.NewRules(quick(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collect.New(judgedFabrics{}, judgedFabrics{}, db, collect.Options{Name: "m1", Period: time.Minute, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	loop := collect.NewRuleLoop(db, own, gather(metrics), collect.RuleOptions{Instance: "m1", Now: time.Now})
	if err := metrics.WatchMeasured(func() []obs.Measured { return exported(c.Latest()) }); err != nil {
		t.Fatal(err)
	}
	manager := httptest.NewServer(metrics.Handler())
	t.Cleanup(manager.Close)
	address := startPrometheus(t, program, strings.TrimPrefix(manager.URL, "http://"))

	want := []string{"FairlaneCongestionControlDead", "FairlaneDrift", "FairlaneFabricNotMeasured", "FairlaneLinkDown",
		"FairlaneShareBudgetBurn", "FairlaneShareBudgetBurn", "FairlaneShareBudgetBurn", "FairlaneShareBudgetBurn", "FairlaneShareBudgetExhausted"}
	var inside, outside map[string]string
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		if err := errors.Join(c.Round(t.Context()), loop.Round(t.Context())); err != nil {
			t.Fatal(err)
		}
		inside, outside = firingInside(own), firingOutside(t, address)
		got := slices.Sorted(maps.Values(inside))
		if slices.Equal(got, want) && cmp.Equal(inside, outside) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service fires %v, want %v\nPrometheus (-service +Prometheus):\n%s", got, want, cmp.Diff(inside, outside))
		}
	}
}

// firingInside returns the names of the service's firing alerts by their labels.
func firingInside(r series.Rules) map[string]string {
	out := map[string]string{}
	for _, a := range r.Alerts(series.Everything) {
		if a.State != series.AlertFiring {
			continue
		}
		labels := map[string]string{"alertname": a.Name}
		for _, l := range a.Labels {
			labels[l.Name] = l.Value
		}
		out[alertKey(labels)] = a.Name
	}
	return out
}

// firingOutside returns the names of a Prometheus server's firing alerts by their labels; none while it does not answer.
func firingOutside(t *testing.T, address string) map[string]string {
	t.Helper()
	out := map[string]string{}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/alerts", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return out // it starts
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Data struct {
			Alerts []struct {
				Labels map[string]string
				State  string
			}
		}
	}
	if res.StatusCode != http.StatusOK {
		return out
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			out[alertKey(a.Labels)] = a.Labels["alertname"]
		}
	}
	return out
}

// startPrometheus starts a Prometheus server that scrapes a target every second, and returns its address.
func startPrometheus(t *testing.T, program, target string) (address string) {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [fairlane.rules.yaml]\nscrape_configs:\n  - job_name: fairlane\n    metrics_path: /\n    static_configs: [{targets: [%q]}]\n", target)
	for name, text := range map[string]string{"prometheus.yaml": config, "fairlane.rules.yaml": rules.File(quick())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = l.Addr().String()
	if err := l.Close(); err != nil { // Prometheus cannot be given a listener
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var log bytes.Buffer
	cmd := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("prometheus: %v\n%s", err, log.String())
		}
	})
	return address
}
