package app

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/internal/testkit/filetest"
	"fairlane/service/control"
	"fairlane/service/control/silences"
	"fairlane/service/notify"
	"fairlane/service/series"
	"fairlane/service/site"
)

// posted is a server that keeps the bodies that it gets.
type posted struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newPosted(t testing.TB) *posted {
	t.Helper()
	p := &posted{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.bodies = append(p.bodies, string(b))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *posted) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.bodies, "\n")
}

// within fails unless a condition holds soon.
func within(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for begun := time.Now(); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestTheAuditLogLeavesTheService(t *testing.T) {
	t.Parallel()
	archive := newPosted(t)
	key := filetest.Write(t, "key", strings.Repeat("geheim", 8)+"\n")
	p := startServe(t, "audit: {export: {sinks: ['archive="+archive.URL+"/geheim'], key_file: "+key+"}}\n")
	if code, body := p.send(t, "POST", p.api+"/api/v1/fabrics", `{"name":"lab","source":"ibsim:unix:lab"}`); code != http.StatusCreated {
		t.Fatalf("answer %d: %s", code, body)
	}
	within(t, "the entry is exported", func() bool { return strings.Contains(archive.all(), `"action":"fabric.created"`) })
	within(t, "the lag is 0", func() bool {
		_, text := p.send(t, "GET", p.ops+"/metrics", "")
		return strings.Contains(text, "fairlane_audit_export_lag_entries{sink=\"archive\"} 0\n") && strings.Contains(text, "fairlane_notification_queue{receiver_kind=\"mail\"} 0\n")
	})
	p.stop()
	if code := <-p.exit; code != 0 || strings.Contains(p.said.String(), "geheim") {
		t.Errorf("exit code %d, said\n%s", code, p.said.String())
	}
}

func TestAManagerSendsAlertsUnlessTheyAreSilenced(t *testing.T) {
	t.Parallel()
	in := newPosted(t)
	o := workOptions{receivers: notify.Options{Webhooks: []notify.Webhook{{Name: "oncall", URL: in.URL}}, GroupWait: -1}}
	m, err := openManager(t.Context(), filepath.Join(t.TempDir(), "f.db"), site.New(site.Settings{}), o)
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = m.Close()
		}
	}()
	_, err = m.service.AddSilence(control.WithActor(t.Context(), "ada"), silences.Input{Matchers: []string{"tenant=red"}, EndsAt: time.Now().Add(time.Hour), Comment: "x"})
	if err != nil {
		t.Fatal(err)
	}
	alert := func(name, tenant string) series.Alert {
		return series.Alert{Name: name, State: series.AlertFiring, Labels: []series.Label{{Name: "tenant", Value: tenant}}, FiredAt: time.Now()}
	}
	var send series.Notify = m.notifier.Send // all that an evaluator of rules needs
	n := 0
	within(t, "the silence acts", func() bool { // each name is another group, which is sent at once
		n++
		before := strings.Count(in.all(), `"red"`)
		send(t.Context(), []series.Alert{alert(fmt.Sprintf("A%d", n), "red"), alert(fmt.Sprintf("B%d", n), "blue")})
		within(t, "blue", func() bool { return strings.Contains(in.all(), fmt.Sprintf(`"B%d"`, n)) })
		return strings.Count(in.all(), `"red"`) == before
	})
	closed = true
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
