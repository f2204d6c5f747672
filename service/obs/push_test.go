package obs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"fairlane/internal/testkit/otlptest"
	"fairlane/internal/testkit/tlstest"
)

// push starts to push to an address.
func push(t *testing.T, m *Metrics, url string, w io.Writer, interval time.Duration, timeout ...time.Duration) (stop func(context.Context) error) {
	t.Helper()
	o := PushOptions{Endpoint: url, Interval: interval, Source: Source{"v9", "m1"}, Log: slog.New(slog.NewTextHandler(w, nil))}
	if len(timeout) > 0 {
		o.Timeout = timeout[0]
	}
	stop, err := m.StartPush(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return stop
}

// key is the name and the labels of a value.
func key(name string, labels map[string]string) string { return fmt.Sprint(name, labels) }

// values returns the values of a push as Gather has them. It fails on a type that the table does not say.
func values(t *testing.T, p otlptest.Push) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	started := func(name string, start, at uint64) {
		t.Helper()
		if start == 0 || at < start {
			t.Errorf("%s: counted from %d to %d", name, start, at)
		}
	}
	points := func(name string, list []*metricspb.NumberDataPoint) {
		for _, d := range list {
			out[key(name, otlptest.Attributes(d.GetAttributes()))] = d.GetAsDouble()
		}
	}
	for name, m := range p.Metrics {
		switch d := m.GetData().(type) {
		case *metricspb.Metric_Gauge:
			points(name, d.Gauge.GetDataPoints())
		case *metricspb.Metric_Sum:
			points(name, d.Sum.GetDataPoints())
			if !d.Sum.GetIsMonotonic() || d.Sum.GetAggregationTemporality() != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
				t.Errorf("%s: monotonic %v, %v", name, d.Sum.GetIsMonotonic(), d.Sum.GetAggregationTemporality())
			}
			for _, x := range d.Sum.GetDataPoints() {
				started(name, x.GetStartTimeUnixNano(), x.GetTimeUnixNano())
			}
		case *metricspb.Metric_Histogram:
			if d.Histogram.GetAggregationTemporality() != metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE {
				t.Errorf("%s: %v", name, d.Histogram.GetAggregationTemporality())
			}
			for _, x := range d.Histogram.GetDataPoints() {
				started(name, x.GetStartTimeUnixNano(), x.GetTimeUnixNano())
				histogram(out, name, x)
			}
		case *metricspb.Metric_Summary:
		default:
			t.Errorf("%s is a %T", name, d)
		}
	}
	return out
}

// histogram adds the values that a scrape has for a histogram.
func histogram(out map[string]float64, name string, x *metricspb.HistogramDataPoint) {
	var sum uint64
	for i, n := range x.GetBucketCounts() {
		le := "+Inf"
		if i < len(x.GetExplicitBounds()) {
			le = fmt.Sprint(x.GetExplicitBounds()[i])
		}
		sum += n
		labels := otlptest.Attributes(x.GetAttributes())
		labels["le"] = le
		out[key(name+"_bucket", labels)] = float64(sum)
	}
	labels := otlptest.Attributes(x.GetAttributes())
	out[key(name+"_count", labels)], out[key(name+"_sum", labels)] = float64(x.GetCount()), x.GetSum()
}

// kind returns the kind of a metric as Table has it.
func kind(m *metricspb.Metric) string {
	switch m.GetData().(type) {
	case *metricspb.Metric_Gauge:
		return "gauge"
	case *metricspb.Metric_Sum:
		return "counter"
	case *metricspb.Metric_Histogram:
		return "histogram"
	}
	return "other"
}

func TestAPushHasEveryMetricOfAScrape(t *testing.T) {
	t.Parallel()
	m, c := exercised(t), otlptest.New(t)
	measured := []Measured{
		{Name: "fairlane_measured_ratio", Help: "ratio", Labels: []Label{{"fabric", "lab"}}, Value: 0.5},
		{Name: "fairlane_tenant_contended_seconds_total", Help: "seconds", Counter: true, Labels: []Label{{"fabric", "lab"}, {"tenant", "red"}}, Value: 30},
	}
	if err := m.WatchMeasured(func() []Measured { return measured }); err != nil {
		t.Fatal(err)
	}
	own := func(name string) bool { return strings.HasPrefix(name, "fairlane_") } // others change from one reading to the next
	stop := push(t, m, c.Start().URL, io.Discard, time.Hour)
	want := map[string]float64{}
	err := m.Gather(own, func(name string, labels []Label, v float64) {
		named := map[string]string{}
		for _, l := range labels {
			named[l.Name] = l.Value
		}
		want[key(name, named)] = v
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range measured {
		named := map[string]string{}
		for _, l := range x.Labels {
			named[l.Name] = l.Value
		}
		want[key(x.Name, named)] = x.Value
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	pushes := c.Pushes()
	if len(pushes) != 1 {
		t.Fatalf("%d pushes", len(pushes))
	}
	p := pushes[0]
	got := values(t, p)
	for k := range got {
		if !own(k) {
			delete(got, k)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-scrape +push:\n%s", d)
	}
	for _, d := range Table() {
		if x := p.Metrics[d.Name]; kind(x) != d.Kind || x.GetDescription() != d.Help {
			t.Errorf("%s is pushed as %v, want %s", d.Name, x, d.Kind)
		}
	}
	for _, name := range []string{"go_goroutines", "go_gc_duration_seconds", "process_start_time_seconds"} {
		if p.Metrics[name] == nil {
			t.Errorf("%s is not pushed", name)
		}
	}
	if d := cmp.Diff(map[string]string{"service.name": "fairlane", "service.version": "v9", "service.instance.id": "m1"}, p.Resource); d != "" {
		t.Errorf("resource (-want +got):\n%s", d)
	}
	if !strings.Contains(scrape(t, m), `fairlane_metrics_pushes_total{outcome="ok"} 2`) { // one of exercised
		t.Error("the push was not counted")
	}
}

// What was not measured is not pushed either: no zeros, no old values.
func TestWhatIsNotMeasuredIsMissingInAPush(t *testing.T) {
	t.Parallel()
	m, err := NewMetrics("v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	var reads int
	if err := m.WatchMeasured(func() []Measured {
		if reads++; reads == 2 {
			return nil
		}
		return []Measured{{Name: "fairlane_measured_ratio", Help: "ratio", Labels: []Label{{"fabric", "lab"}}, Value: 1}}
	}); err != nil {
		t.Fatal(err)
	}
	c := otlptest.New(t)
	stop := push(t, m, c.Start().URL, io.Discard, 50*time.Millisecond)
	for len(c.Pushes()) < 3 {
		time.Sleep(5 * time.Millisecond)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var there []bool
	for _, p := range c.Pushes()[:3] {
		there = append(there, p.Metrics["fairlane_measured_ratio"] != nil)
	}
	if !slices.Equal(there, []bool{true, false, true}) {
		t.Errorf("measured in pushes: %v", there)
	}
}

// eventually waits until a metric has a value above 0.
func eventually(t *testing.T, m *Metrics, series string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for line := range strings.Lines(scrape(t, m)) {
			if v, ok := strings.CutPrefix(line, series+" "); ok && v != "0\n" {
				return
			}
		}
	}
	t.Fatalf("%s stays 0", series)
}

const failedPushes = `fairlane_metrics_pushes_total{outcome="error"}`

func TestACollectorThatHangsCostsPushesAndNothingElse(t *testing.T) {
	t.Parallel()
	m, c := exercised(t), otlptest.New(t)
	c.Hang()
	var said lockedBuffer
	stop := push(t, m, c.Start().URL, &said, 20*time.Millisecond, 50*time.Millisecond)
	eventually(t, m, failedPushes)
	began := time.Now()
	m.Answered(Request{Method: "GET", Route: "/api/v1/fabrics", Status: 200})
	scrape(t, m)
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("a request and a scrape took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began = time.Now()
	err := stop(ctx)
	if took := time.Since(began); took > 5*time.Second || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("stopped after %s, %v", took, ctx.Err())
	}
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("stopped with %v", err)
	}
	if n := strings.Count(said.String(), "level="); n != 1 || !strings.Contains(said.String(), "metrics were not pushed") {
		t.Errorf("logged %s", said.String())
	}
}

// A push that the end of the service interrupts is no failure: the last push has its metrics too.
func TestTheLastPushReplacesOneInProgress(t *testing.T) {
	t.Parallel()
	m, c := exercised(t), otlptest.New(t)
	url := c.Start().URL
	resume := c.Hang()
	var said lockedBuffer
	stop := push(t, m, url, &said, 20*time.Millisecond)
	for c.Held() == 0 {
		time.Sleep(time.Millisecond)
	}
	stopped := make(chan error)
	go func() { stopped <- stop(t.Context()) }()
	for c.Held() == 1 { // the last push follows
		time.Sleep(time.Millisecond)
	}
	resume()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if said.String() != "" || !strings.Contains(scrape(t, m), failedPushes+" 0\n") {
		t.Errorf("logged %s", said.String())
	}
}

func TestACollectorThatRefusesIsQuotedInPart(t *testing.T) {
	t.Parallel()
	m, c := exercised(t), otlptest.New(t)
	c.Refuse(http.StatusServiceUnavailable, "no room\n"+strings.Repeat("x", 1<<20))
	var said lockedBuffer
	stop := push(t, m, c.Start().URL, &said, 50*time.Millisecond)
	eventually(t, m, failedPushes)
	c.Refuse(0, "")
	c.Wait(func(otlptest.Push) bool { return true })
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := said.String(); !strings.Contains(s, "no room") || !strings.Contains(s, "metrics are pushed again") || len(s) > 1000 {
		t.Errorf("logged %.2000s", s)
	}
}

func TestMetricsThatCannotBeReadAreNotPushed(t *testing.T) {
	t.Parallel()
	m, c := exercised(t), otlptest.New(t)
	if err := m.registry.Register(invalid{}); err != nil {
		t.Fatal(err)
	}
	var said lockedBuffer
	stop := push(t, m, c.Start().URL, &said, time.Hour)
	if err := stop(t.Context()); err == nil || !strings.Contains(err.Error(), "not a number of anything") {
		t.Errorf("stopped with %v", err)
	}
	if len(c.Pushes()) != 0 || !strings.Contains(said.String(), "not a number of anything") {
		t.Errorf("%d pushes, logged %s", len(c.Pushes()), said.String())
	}
}

// invalid is a collector whose metric cannot be read.
type invalid struct{}

func (invalid) Describe(chan<- *prometheus.Desc) {}

func (invalid) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(prometheus.NewDesc("x", "x", nil, nil), errors.New("not a number of anything"))
}

// Certificates and headers come from the environment, as for traces.
func TestPushesNeedAValidCertificateAndCarryHeaders(t *testing.T) {
	authority, stranger := tlstest.New(t), tlstest.New(t)
	c := otlptest.New(t)
	s := httptest.NewUnstartedServer(c)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue("localhost", tlstest.Valid()).Certificate}}
	s.StartTLS()
	t.Cleanup(s.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary")
	for _, x := range []struct{ authorities, want string }{{authority.File, ""}, {stranger.File, "certificate"}, {"", "certificate"}} {
		t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", x.authorities)
		var said bytes.Buffer
		before := len(c.Pushes())
		m := exercised(t)
		err := push(t, m, s.URL, &said, time.Hour)(t.Context())
		if x.want == "" {
			pushes := c.Pushes()
			if err != nil || len(pushes) != before+1 || pushes[before].Header.Get("Authorization") != "Bearer canary" {
				t.Errorf("with the right authorities: %v, %d pushes", err, len(pushes)-before)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), x.want) || len(c.Pushes()) != before {
			t.Errorf("with authorities %q: %v, %d pushes", x.authorities, err, len(c.Pushes())-before)
		}
		if !strings.Contains(said.String(), x.want) || strings.Contains(said.String(), "canary") || !strings.Contains(scrape(t, m), failedPushes+" 1") {
			t.Errorf("logged %s", said.String())
		}
	}
}

func TestFailedPushesAreLoggedRarelyAndCounted(t *testing.T) {
	t.Parallel()
	m := exercised(t)
	var said bytes.Buffer
	now := time.Unix(1000, 0)
	r := &pushReport{log: slog.New(slog.NewTextHandler(&said, nil)), clock: func() time.Time { return now }, pushes: m.pushes}
	lines := func() int { return strings.Count(said.String(), "\n") }
	fault := errors.New("away")
	for range 3600 { // an hour of failures, each second
		r.done(fault)
		now = now.Add(time.Second)
	}
	if n := lines(); n != int(time.Hour/warnEvery) || !strings.Contains(said.String(), "failed=300") {
		t.Errorf("%d lines in an hour:\n%s", n, said.String())
	}
	said.Reset()
	for range 3600 { // and of every other one
		r.done(nil)
		r.done(fault)
		now = now.Add(time.Second)
	}
	if n := lines(); n > 2*int(time.Hour/warnEvery)+1 {
		t.Errorf("%d lines in an hour", n)
	}
	if !strings.Contains(scrape(t, m), failedPushes+" 7200") {
		t.Error("failures are not counted")
	}
}

func TestAPushNeedsAnAddress(t *testing.T) {
	t.Parallel()
	if _, err := exercised(t).StartPush(t.Context(), PushOptions{Endpoint: "nowhere", Interval: time.Second, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("an endpoint without a host was accepted")
	}
}

// lockedBuffer is a buffer for concurrent use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *lockedBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *lockedBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
