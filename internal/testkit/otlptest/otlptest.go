// Package otlptest is an OTLP collector of metrics for tests.
package otlptest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	collectpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// Push is a request that the collector accepted.
type Push struct {
	Header   http.Header
	Resource map[string]string
	Metrics  map[string]*metricspb.Metric // by name
}

// Collector implements the metrics service of OTLP over HTTP, at /v1/metrics.
type Collector struct {
	t testing.TB

	mu     sync.Mutex
	pushes []Push
	status int           // of answers; 0: 200
	body   string        // of answers with another status than 200
	hang   chan struct{} // not nil: requests wait until it is closed
	held   int           // requests that waited
}

var _ http.Handler = (*Collector)(nil)

// New returns a collector.
func New(t testing.TB) *Collector { return &Collector{t: t} }

// Start serves the collector over plain HTTP until the test ends.
func (c *Collector) Start() *httptest.Server {
	s := httptest.NewServer(c)
	c.t.Cleanup(s.Close)
	return s
}

// Refuse makes the collector answer with a status and a text.
func (c *Collector) Refuse(status int, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status, c.body = status, body
}

// Hang makes requests wait until resume or the end of the test.
func (c *Collector) Hang() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	hang := make(chan struct{})
	c.hang = hang
	resume = sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.hang = nil
		close(hang)
	})
	c.t.Cleanup(resume)
	return resume
}

// Held returns how many requests waited.
func (c *Collector) Held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// Pushes returns what was accepted, the latest last.
func (c *Collector) Pushes() []Push {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Push(nil), c.pushes...)
}

// Wait returns the first push for which enough is true.
func (c *Collector) Wait(enough func(Push) bool) Push {
	c.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, p := range c.Pushes() {
			if enough(p) {
				return p
			}
		}
	}
	c.t.Fatalf("none of %d pushes is as wanted", len(c.Pushes()))
	return Push{}
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	status, body, hang := c.status, c.body, c.hang
	if hang != nil {
		c.held++
	}
	c.mu.Unlock()
	if hang != nil {
		_, _ = io.Copy(io.Discard, r.Body) // else the end of the request is not seen
		select {
		case <-hang:
		case <-r.Context().Done():
		}
		return
	}
	if status != 0 {
		http.Error(w, body, status)
		return
	}
	if r.Method != http.MethodPost || r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "not a push of metrics", http.StatusBadRequest)
		return
	}
	p, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.pushes = append(c.pushes, p)
	c.mu.Unlock()
	answer, err := proto.Marshal(&collectpb.ExportMetricsServiceResponse{})
	if err != nil {
		c.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer)
}

// read decodes a request.
func read(r *http.Request) (p Push, err error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		if body, err = gzip.NewReader(body); err != nil {
			return p, err
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return p, err
	}
	var m collectpb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(b, &m); err != nil {
		return p, err
	}
	p = Push{Header: r.Header, Resource: map[string]string{}, Metrics: map[string]*metricspb.Metric{}}
	for _, of := range m.GetResourceMetrics() {
		p.Resource = Attributes(of.GetResource().GetAttributes())
		for _, scope := range of.GetScopeMetrics() {
			for _, x := range scope.GetMetrics() {
				p.Metrics[x.GetName()] = x
			}
		}
	}
	return p, nil
}

// Attributes returns attributes of texts.
func Attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return out
}
