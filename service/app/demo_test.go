package app

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"fairlane/api"
	"fairlane/command/demo"
	"fairlane/sim/scenario"
)

// demoOn runs the main job on a scenario whose fabric is slower than its time scale says.
func demoOn(t *testing.T, name string, slowdown float64) *demo.Result {
	t.Helper()
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	s.Config.Seed = 1
	d, err := demo.OnInfiniBand(t.Context(), s, demo.Place{Dir: t.TempDir(), Slowdown: slowdown}, openForDemo, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.Run(t.Context())
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

// A fabric that runs at a fraction of its time scale, as on a busy machine, makes a demo slow and not wrong.
func TestASlowFabricGivesTheSameDemo(t *testing.T) {
	t.Parallel()
	fast, slow := demoOn(t, "ib3to2", 0), demoOn(t, "ib3to2", 3)
	if fast.Plan.Name != slow.Plan.Name {
		t.Errorf("plans %s and %s", fast.Plan.Name, slow.Plan.Name)
	}
	for _, r := range []*demo.Result{fast, slow} {
		report := r.Report()
		if err := report.Missed(); err != nil {
			t.Error(err)
		}
	}
}

// A demo that stays up admits an operator and a tenant's administrator, and goes on to measure.
func TestADemoThatStaysUpShowsLiveFigures(t *testing.T) {
	t.Parallel()
	s, err := scenario.Load("ib3to2")
	if err != nil {
		t.Fatal(err)
	}
	d, err := demo.OnInfiniBand(t.Context(), s, demo.Place{Dir: t.TempDir(), Stays: true}, openForDemo, func(string, ...any) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := d.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := d.Handler(api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	in, err := d.SignIns(t.Context(), srv.Listener.Addr())
	if err != nil || in.URL != srv.URL || in.Operator.Password == in.Tenant.Password {
		t.Fatalf("%+v, %v", in, err)
	}
	operator, tenant := browse(t, srv, in.Operator), browse(t, srv, in.Tenant)
	if list := operator(t, "/api/v1/fabrics/demo/tenants"); !strings.Contains(list, `"`+in.Tenant.Tenant+`"`) {
		t.Errorf("tenants %s", list)
	}
	// Each series of the tenant has two values: the measurements continue.
	query := "/api/v1/prometheus/api/v1/query?query=" + url.QueryEscape(`count_over_time(fairlane_tenant_delivered_bits_per_second[5m]) >= 2 and on(tenant) fairlane_tenant_state{state="contending"} == 1`)
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		got := tenant(t, query)
		if strings.Contains(got, `"tenant":"`+in.Tenant.Tenant+`"`) {
			if strings.Count(got, `"tenant":`) != 1 {
				t.Errorf("a tenant sees %s", got)
			}
			return
		}
		if time.Since(begun) > 2*time.Minute {
			t.Fatalf("after two minutes the series are %s", got)
		}
	}
}

// browse signs a user in and returns a function that reads a path in the session.
func browse(t *testing.T, srv *httptest.Server, in demo.SignIn) func(*testing.T, string) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	body, err := json.Marshal(map[string]string{"name": in.User, "password": in.Password})
	if err != nil {
		t.Fatal(err)
	}
	do := func(t *testing.T, method, path, body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil || res.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
		}
		return string(text)
	}
	do(t, http.MethodPost, "/api/v1/sign-in", string(body))
	return func(t *testing.T, path string) string { t.Helper(); return do(t, http.MethodGet, path, "") }
}
