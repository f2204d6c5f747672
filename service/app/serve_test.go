package app

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/testkit/filetest"
)

// transcript is what a process says, safe to read while it runs.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *transcript) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// find returns the first line of the log whose message is msg, once it is there.
func (w *transcript) find(t testing.TB, msg string) map[string]any {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for time.Now().Before(deadline) {
		for line := range strings.Lines(w.String()) {
			var record map[string]any
			if json.Unmarshal([]byte(line), &record) == nil && record["msg"] == msg {
				return record
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("no %q in\n%s", msg, w.String())
	return nil
}

// process is `fairlane serve` in this process.
type process struct {
	said      transcript
	api, ops  string
	config    string // path
	stop      context.CancelFunc
	exit      chan int
	collector *httptest.Server
	spans     transcript
}

const testToken = "flt_canary_token_0123456789abcdefghij"

// startServe runs the service with a configuration of its own, an operations listener and a collector of spans.
func startServe(t testing.TB, more string) *process {
	t.Helper()
	return startServeOn(t, filepath.Join(t.TempDir(), "f.db"), more)
}

// startServeOn is startServe on a database of a name.
func startServeOn(t testing.TB, database, more string) *process {
	t.Helper()
	p := &process{exit: make(chan int, 1)}
	p.collector = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(&p.spans, r.Body)
	}))
	t.Cleanup(p.collector.Close)
	path := filetest.Write(t, "fairlane.yaml", "listen: 127.0.0.1:0\ndatabase: "+database+
		"\nadmin_token_file: "+filetest.Write(t, "token", testToken+"\n")+
		"\noperations: {listen: '127.0.0.1:0', pprof: true}\ntrace: {endpoint: '"+p.collector.URL+"'}\n"+more)
	p.config = path
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.exit <- Main(ctx, []string{"serve", "--config", path, "--lang", "en"}, io.Discard, &p.said)
	}()
	t.Cleanup(func() { cancel(); <-done })
	line := p.said.find(t, "listening")
	p.api, p.ops = "http://"+line["addr"].(string), "http://"+line["operations"].(string)
	return p
}

// send makes a request with the token and returns status and body.
func (p *process) send(t testing.TB, method, url, body string) (int, string) {
	t.Helper()
	return p.sendAs(t, "Bearer "+testToken, method, url, body)
}

// sendAs is send with credentials, or with none when they are empty.
func (p *process) sendAs(t testing.TB, credentials, method, url, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if credentials != "" {
		r.Header.Set("Authorization", credentials)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestOperationsDataContainsNoSecrets(t *testing.T) {
	t.Parallel()
	p := startServe(t, "")
	if code, body := p.send(t, "POST", p.api+"/api/v1/fabrics", `{"name":"lab","plane":"ib","source":"file:canarybody.yaml"}`); code != http.StatusCreated {
		t.Fatalf("create: %d %s", code, body)
	}
	p.send(t, "GET", p.api+"/api/v1/fabrics/lab?limit=canaryquery", "")
	const wrong = "Bearer flt_canarywrong_0123456789abcdefghijk"
	if code, body := p.sendAs(t, wrong, "GET", p.api+"/api/v1/fabrics", ""); code != http.StatusUnauthorized {
		t.Fatalf("a wrong token: %d %s", code, body)
	}
	_, metrics := p.send(t, "GET", p.ops+"/metrics", "")
	for _, want := range []string{
		`fairlane_http_requests_total{method="POST",route="/api/v1/fabrics",status="201"} 1`,
		`fairlane_http_problems_total{code="unauthorized"} 1`,
		`fairlane_authentication_failures_total{kind="credential"} 1`,
		`fairlane_fabrics 1`, `fairlane_ready 1`, `fairlane_store_transaction_duration_seconds_count{kind="write"}`, "go_goroutines",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if code, _ := p.send(t, "GET", p.ops+"/debug/pprof/goroutine?debug=1", ""); code != http.StatusOK {
		t.Errorf("profiles: %d", code)
	}
	for _, credentials := range []string{"", wrong} {
		if code, _ := p.sendAs(t, credentials, "GET", p.ops+"/debug/pprof/heap", ""); code != http.StatusUnauthorized {
			t.Errorf("profiles with %q: %d", credentials, code)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if code, _ := p.send(t, "GET", p.api+path, ""); code == http.StatusOK {
			t.Errorf("%s is served on the API's address", path)
		}
	}
	line := p.said.find(t, "request")
	for key, want := range map[string]any{"method": "POST", "route": "/api/v1/fabrics", "status": 201.0} {
		if line[key] != want {
			t.Errorf("the log says %s = %v, want %v", key, line[key], want)
		}
	}
	for _, key := range []string{"request_id", "duration_ms", "bytes", "remote", "principal", "trace_id"} {
		if v := line[key]; v == nil || v == "" {
			t.Errorf("the log lacks %s: %v", key, line)
		}
	}
	p.stop()
	if code := <-p.exit; code != cmdline.ExitDone {
		t.Errorf("exit code %d: %s", code, p.said.String())
	}
	spans := p.spans.String()
	for _, want := range []string{"POST /api/v1/fabrics", "store.write", "fairlane.request_id"} {
		if !strings.Contains(spans, want) {
			t.Errorf("the collector got no %s", want)
		}
	}
	for what, text := range map[string]string{"log": p.said.String(), "metrics": metrics, "spans": spans} {
		if strings.Contains(text, "canary") {
			t.Errorf("a secret, a query or a body is in the %s", what)
		}
	}
}

func TestReadinessEndsBeforeTheServiceStops(t *testing.T) {
	t.Parallel()
	p := startServe(t, "shutdown: {delay: 3s}\n") // long enough for two requests on a busy machine
	if code, body := p.send(t, "GET", p.api+"/api/v1/ready", ""); code != http.StatusOK {
		t.Fatalf("ready: %d %s", code, body)
	}
	p.stop()
	p.said.find(t, "stopping")
	// Within the delay the service answers as before, and says that it will not for long.
	if code, body := p.send(t, "GET", p.api+"/api/v1/ready", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, `"stopping"`) {
		t.Errorf("ready while it stops: %d %s", code, body)
	}
	if code, _ := p.send(t, "GET", p.api+"/api/v1/fabrics", ""); code != http.StatusOK {
		t.Errorf("a request while it stops: %d", code)
	}
	if code := <-p.exit; code != cmdline.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestAServiceThatCannotListenReportsTheAddress(t *testing.T) {
	t.Parallel()
	p := startServe(t, "")
	var said transcript
	code := Main(t.Context(), []string{"serve", "--listen", strings.TrimPrefix(p.api, "http://"), "--database", filepath.Join(t.TempDir(), "x.db"), "--lang", "en"}, io.Discard, &said)
	if code != cmdline.ExitFailed || !strings.Contains(said.String(), strings.TrimPrefix(p.api, "http://")) {
		t.Errorf("exit code %d: %s", code, said.String())
	}
}
