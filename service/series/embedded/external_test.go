package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fairlane/internal/testkit/filetest"
	"fairlane/internal/testkit/peertest"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
)

const token = "a-token-of-the-server"

// prometheus starts Debian's server behind a proxy that wants a token, and hangs while hanging is set.
func prometheus(t *testing.T) (address string, hanging *atomic.Bool) {
	t.Helper()
	program := peertest.Program(t, "prometheus")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--config.file="+filetest.Write(t, "prometheus.yml", "scrape_configs: []\n"),
		"--storage.tsdb.path="+filepath.Join(t.TempDir(), "data"), "--web.listen-address="+listen, "--web.enable-remote-write-receiver", "--log.level=warn")
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("prometheus: %v: %s", err, said.String())
		}
	})
	target := &url.URL{Scheme: "http", Host: listen}
	until(t, "prometheus is ready", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target.JoinPath("-/ready").String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	hanging = &atomic.Bool{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for hanging.Load() {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		http.StripPrefix("/prom", proxy).ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/prom", hanging
}

// until waits for a condition of another process.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func external(t *testing.T, o embedded.ExternalOptions) *embedded.External {
	t.Helper()
	o.Interval = time.Minute
	e, err := embedded.OpenExternal(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// sentAtOnce waits until what it appends has reached the server.
type sentAtOnce struct {
	*embedded.External

	t *testing.T
}

func (s sentAtOnce) Append(ctx context.Context, at time.Time, batch []series.Sample) error {
	err := s.External.Append(ctx, at, batch)
	until(s.t, "the queue is empty", func() bool { n, _, _ := s.Queue(); return n == 0 })
	return err
}

// Isolation holds over Prometheus 2.42 as it does over the embedded store: the engine and the limit are the same.
func TestAnExternalServerAnswersWithinTheScope(t *testing.T) {
	t.Parallel()
	address, _ := prometheus(t)
	e := external(t, embedded.ExternalOptions{URL: address, Token: token})
	isolated(t, series.Scope{Fabrics: []string{"dc2"}, Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}, {Fabric: "dc2", Tenant: "blue"}}},
		regexp.MustCompile(`fabric="lab", tenant="(blue|redder|green)"`), sentAtOnce{e, t}, *queries/10)
	if _, lost, health := e.Queue(); lost > 0 || health != nil {
		t.Errorf("%d lost, %v", lost, health)
	}
}

// A server that hangs delays no measurement; queued samples arrive when it resumes, up to the limit of the queue.
func TestAnExternalServerThatHangsDelaysNothing(t *testing.T) {
	t.Parallel()
	address, hanging := prometheus(t)
	hanging.Store(true)
	e := external(t, embedded.ExternalOptions{URL: address, Token: token, Timeout: 200 * time.Millisecond, MaxQueued: 2000})
	var failed error
	for i := range 100 {
		begin := time.Now()
		if err := e.Append(t.Context(), start.Add(time.Duration(i)*time.Second), []series.Sample{sample(series.TenantDelivered, "lab", "red", float64(i))}); err != nil {
			failed = err
		}
		if took := time.Since(begin); took > 100*time.Millisecond {
			t.Fatalf("an append took %v", took)
		}
		if i == 0 {
			until(t, "the failure is known", func() bool { _, _, health := e.Queue(); return health != nil })
		}
	}
	bytes, lost, health := e.Queue()
	if bytes == 0 || bytes > 2000 || lost == 0 || lost >= 100 || health == nil || failed == nil || !strings.Contains(failed.Error(), "samples that waited for it are lost") {
		t.Fatalf("%d bytes wait, %d samples lost, %v, %v", bytes, lost, health, failed)
	}
	if _, err := e.Instant(t.Context(), series.Everything, "fairlane_tenant_delivered_bits_per_second", start); !errors.Is(err, series.ErrAway) {
		t.Errorf("a query of a server that hangs: %v", err)
	}
	if err := e.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("a check of a server that hangs: %v", err)
	}
	hanging.Store(false)
	if err := e.Check(t.Context()); err != nil {
		t.Error(err)
	}
	until(t, "the queue is empty", func() bool { n, _, _ := e.Queue(); return n == 0 })
	a, err := e.Instant(t.Context(), series.Everything, "count_over_time(fairlane_tenant_delivered_bits_per_second[5m])", start.Add(2*time.Minute))
	if want := fmt.Sprintf(`"%d"]`, 100-lost); err != nil || !strings.Contains(string(a.Data), want) {
		t.Errorf("%s, %v, want %s", a.Data, err, want)
	}
}

// A token that is refused loses nothing: the samples wait until it is replaced. A gap is a gap on the server too.
func TestAnExternalServerAndItsToken(t *testing.T) {
	t.Parallel()
	address, _ := prometheus(t)
	e := external(t, embedded.ExternalOptions{URL: address, Token: "wrong"})
	add(t, e, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	until(t, "the refusal is known", func() bool { _, _, health := e.Queue(); return health != nil })
	if n, lost, health := e.Queue(); n == 0 || lost > 0 || !strings.Contains(health.Error(), "401 Unauthorized: who are you") {
		t.Errorf("%d wait, %d lost, %v", n, lost, health)
	}
	right := sentAtOnce{external(t, embedded.ExternalOptions{URL: address, Token: token}), t}
	gap := sample(series.TenantDelivered, "lab", "red", 0)
	gap.Gap = true
	add(t, right, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 1)})
	add(t, right, start.Add(10*time.Second), []series.Sample{gap})
	for after, want := range map[time.Duration]string{5 * time.Second: `"1"`, 15 * time.Second: `"result":[]`} {
		a, err := right.Instant(t.Context(), series.Everything, "fairlane_tenant_delivered_bits_per_second", start.Add(after))
		if err != nil || !strings.Contains(string(a.Data), want) {
			t.Errorf("after %v: %s, %v", after, a.Data, err)
		}
	}
	add(t, right, start, []series.Sample{sample(series.TenantDelivered, "lab", "red", 2)}) // a second value of an instant: refused
	if _, lost, _ := right.Queue(); lost != 1 {
		t.Errorf("%d lost, want the refused one", lost)
	}
}
