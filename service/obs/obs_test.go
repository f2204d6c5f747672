package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"

	"fairlane/internal/span"
)

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// exercised is a registry in which every family has a value.
func exercised(t *testing.T) *Metrics {
	t.Helper()
	now := time.Unix(1000, 0)
	m, err := NewMetrics("v1", NewCensusCache(func(context.Context) (Census, error) {
		return Census{
			Fabrics: 1, Tenants: 2, Rollouts: map[string]int64{"running": 1}, Devices: map[string]int64{"in-sync": 7},
			OldestActive: now.Add(-time.Minute), Readings: map[string]int64{"in-sync": 9, "drifted": 3}, Quarantined: 2, Jobs: map[string]int64{"available": 4}, Sessions: 5,
		}, nil
	}, func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	end := m.Begin()
	m.Answered(Request{Method: "GET", Route: "/api/v1/fabrics", Status: 200, Duration: time.Second, Bytes: 10})
	m.Answered(Request{Method: "POST", Route: "/api/v1/sign-in", Status: 401, Code: "sign-in-refused"})
	m.Answered(Request{Method: "GET", Route: "/api/v1/sign-in/oidc/callback", Status: 401, Code: "sign-in-refused"})
	m.Answered(Request{Method: "BREW", Route: "", Status: 401, Code: "unauthorized"})
	m.Answered(Request{Method: "GET", Route: "/api/v1/fabrics", Status: 429, Code: "locked"})
	m.Compiled("ib", time.Millisecond, nil)
	m.Discovered(time.Millisecond, errors.New("x"))
	m.Measured(time.Millisecond, true, nil)
	m.Measured(time.Millisecond, false, nil)
	m.Congested(Congestion{BECN: 1, Adapter: 2, Switch: 3, Unattributed: 4, Unread: 5})
	m.Swept(map[string]int{"drifted": 1}, time.Millisecond, nil)
	m.Transaction(true, time.Millisecond)
	m.StoreFailed(false, "lost")
	m.SeriesFailed()
	if err := m.WatchSeriesQueue(func() (int, uint64, error) { return 4096, 7, nil }); err != nil {
		t.Fatal(err)
	}
	if err := m.WatchSeries(func() (int, int64) { return 60_000, 1 << 20 }); err != nil {
		t.Fatal(err)
	}
	if err := m.WatchPorts(func() map[string]int { return map[string]int{"read": 3} }); err != nil {
		t.Fatal(err)
	}
	m.Notified("webhook", "sent", 3)
	m.AuditLag("siem", 12)
	m.pushes.WithLabelValues("ok").Inc()
	if err := m.WatchNotifications("mail", func() int { return 2 }); err != nil {
		t.Fatal(err)
	}
	end()
	return m
}

func TestTheTableAndTheRegistryHaveTheSameFamilies(t *testing.T) {
	t.Parallel()
	m := exercised(t)
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Metric{}
	for _, d := range Table() {
		want[d.Name] = d
		if d.Help == "" || strings.HasSuffix(d.Help, ".") || strings.Contains(d.Help, "|") {
			t.Errorf("%s: help %q", d.Name, d.Help)
		}
		if d.Kind == "counter" && !strings.HasSuffix(d.Name, "_total") {
			t.Errorf("%s is a counter: want _total at its end", d.Name)
		}
		if !strings.Contains(Reference(), "| `"+d.Name+"` | "+d.Kind+" |") {
			t.Errorf("the reference lacks %s", d.Name)
		}
	}
	for _, f := range families {
		name := f.GetName()
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		d, ok := want[name]
		if !ok {
			t.Errorf("%s is not in the table", name)
			continue
		}
		delete(want, name)
		if got := strings.ToLower(f.GetType().String()); got != d.Kind {
			t.Errorf("%s is a %s, the table says %s", name, got, d.Kind)
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		wanted := slices.Clone(d.Labels)
		slices.Sort(wanted)
		if !slices.Equal(labels, wanted) {
			t.Errorf("%s has labels %v, the table says %v", name, labels, wanted)
		}
	}
	for name := range want {
		t.Errorf("%s is in the table and not in the registry", name)
	}
}

func TestMetricsCountWhatHappened(t *testing.T) {
	t.Parallel()
	text := scrape(t, exercised(t))
	for _, want := range []string{
		`fairlane_http_requests_total{method="GET",route="/api/v1/fabrics",status="200"} 1`,
		`fairlane_http_requests_total{method="other",route="unmatched",status="401"} 1`,
		`fairlane_http_response_bytes_total{method="GET",route="/api/v1/fabrics"} 10`,
		`fairlane_http_requests_in_flight 0`,
		`fairlane_http_problems_total{code="unauthorized"} 1`,
		`fairlane_authentication_failures_total{kind="sign-in"} 2`,
		`fairlane_authentication_failures_total{kind="credential"} 1`,
		`fairlane_authentication_failures_total{kind="locked"} 1`,
		`fairlane_compile_duration_seconds_count{outcome="ok",plane="ib"} 1`,
		`fairlane_discover_duration_seconds_count{outcome="error"} 1`,
		`fairlane_measure_duration_seconds_count{outcome="ok"} 1`,
		`fairlane_measure_duration_seconds_count{outcome="incomplete"} 1`,
		`fairlane_store_transaction_duration_seconds_count{kind="write"} 1`,
		`fairlane_store_errors_total{kind="read",reason="lost"} 1`,
		`fairlane_rollouts{state="running"} 1`,
		`fairlane_rollout_devices{state="in-sync"} 7`,
		`fairlane_rollout_oldest_active_seconds 60`,
		`fairlane_jobs{state="available"} 4`,
		`fairlane_devices{reading="in-sync"} 9`,
		`fairlane_drifted_devices 3`,
		`fairlane_quarantined_devices 2`,
		`fairlane_drift_readings_total{reading="drifted"} 1`,
		`fairlane_congestion_unread_total 5`,
		`fairlane_drift_sweep_duration_seconds_count{outcome="ok"} 1`,
		`fairlane_ready 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("lacks %s", want)
		}
	}
}

func TestACensusIsReadRarelyAndSurvivesAnUnavailableStore(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var reads int
	var fault error
	c := NewCensusCache(func(context.Context) (Census, error) {
		reads++
		return Census{Fabrics: int64(reads)}, fault
	}, func() time.Time { return now })
	fault = errors.New("away")
	if _, _, known, ok := c.Get(t.Context()); known || ok {
		t.Error("a census although the store fails")
	}
	fault = nil
	for range 3 {
		if n, _, known, ok := c.Get(t.Context()); !known || !ok || n.Fabrics != 2 {
			t.Errorf("census %+v, known %v, ok %v", n, known, ok)
		}
	}
	now = now.Add(censusTTL)
	fault = errors.New("away")
	if n, age, known, ok := c.Get(t.Context()); n.Fabrics != 2 || age != censusTTL || !known || ok {
		t.Errorf("an old census is kept while the store is away: %+v, %s, %v, %v", n, age, known, ok)
	}
	if reads != 3 {
		t.Errorf("%d reads, want 3", reads)
	}
}

func TestLogsHaveOneFormatAndTheTraceID(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, _, err := NewLogger(&out, "info", "json")
	if err != nil {
		t.Fatal(err)
	}
	p := trace.NewTracerProvider()
	ctx, sp := span.Root(t.Context(), p, "request")
	log.With("a", 1).WithGroup("g").InfoContext(ctx, "hello")
	log.DebugContext(ctx, "not this")
	sp.End(nil)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if line["msg"] != "hello" || line["a"] != 1.0 || !strings.Contains(out.String(), span.TraceID(ctx)) || strings.Contains(out.String(), "not this") {
		t.Errorf("logged %s", out.String())
	}
	out.Reset()
	if log, _, err = NewLogger(&out, "warn", "text"); err != nil {
		t.Fatal(err)
	}
	log.Info("not this")
	log.Warn("this")
	if got := out.String(); !strings.Contains(got, "msg=this") || strings.Contains(got, "not this") || strings.Contains(got, keyTrace) {
		t.Errorf("logged %s", got)
	}
	for _, bad := range [][2]string{{"loud", "json"}, {"info", "xml"}} {
		if _, _, err := NewLogger(io.Discard, bad[0], bad[1]); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

func TestSpansReachACollectorAndAreFlushedAtTheEnd(t *testing.T) {
	t.Parallel()
	var bodies atomic.Int64
	var path, kind atomic.Value
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if bytes.Contains(b, []byte("POST /plans")) && bytes.Contains(b, []byte("compile")) && bytes.Contains(b, []byte("v9")) {
			bodies.Add(1)
		}
		path.Store(r.URL.Path)
		kind.Store(r.Header.Get("Content-Type"))
	}))
	defer collector.Close()
	p, err := NewTracing(t.Context(), TraceOptions{Endpoint: collector.URL, SampleRatio: 1, Source: Source{Version: "v9", Instance: "m1"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, root := span.Root(t.Context(), p, "POST /plans")
	_, sp := span.Start(ctx, "compile")
	sp.End(nil)
	root.End(nil)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if bodies.Load() != 1 || path.Load() != "/v1/traces" || kind.Load() != "application/x-protobuf" {
		t.Errorf("%d bodies at %v of %v", bodies.Load(), path.Load(), kind.Load())
	}
	none, err := NewTracing(t.Context(), TraceOptions{Endpoint: collector.URL})
	if err != nil {
		t.Fatal(err)
	}
	if ctx, _ := span.Root(t.Context(), none, "x"); span.Carry(ctx) == "" || !strings.HasSuffix(span.Carry(ctx), "-00") {
		t.Errorf("ratio 0 samples: %q", span.Carry(ctx))
	}
	if err := none.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := NewTracing(t.Context(), TraceOptions{Endpoint: "nowhere"}); err == nil {
		t.Error("an endpoint without a host was accepted")
	}
}

// TestMeasuredSeriesAreServedAndNotGathered keeps rules, which read none of them, from collecting thousands in each round.
func TestMeasuredSeriesAreServedAndNotGathered(t *testing.T) {
	t.Parallel()
	m, err := NewMetrics("test", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	err = m.WatchMeasured(func() []Measured {
		asked++
		return []Measured{{Name: "fairlane_x", Help: "x", Labels: []Label{{"fabric", "lab"}}, Value: 3}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Gather(func(string) bool { return true }, func(string, []Label, float64) {}); err != nil || asked > 0 {
		t.Errorf("gathered measured series %d times, %v", asked, err)
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if asked != 1 || !strings.Contains(w.Body.String(), `fairlane_x{fabric="lab"} 3`) {
		t.Errorf("asked %d times, served:\n%s", asked, w.Body)
	}
}
