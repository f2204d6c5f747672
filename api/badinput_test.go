package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"fairlane/api/gen"
)

func TestDuplicateFieldsAndParametersAreRejected(t *testing.T) {
	t.Parallel()
	r := managed(t)
	for name, c := range map[string]struct {
		body   string
		status int
		detail string
	}{
		"two names":               {`{"name":"a","weight":1,"name":"b"}`, 400, `the field "name" twice at line 1, column 24`},
		"two alike":               {`{"name":"a","weight":1,"weight":1}`, 400, `the field "weight" twice`},
		"in an object in a list":  {`{"name":"a","weight":1,"classes":[{"name":"x","weight":1,"weight":2}]}`, 400, `the field "weight" twice`},
		"written in two ways":     {`{"name":"a","weight":1,"n\u0061me":"b"}`, 400, `the field "name" twice`},
		"in letters of two cases": {`{"name":"a","weight":1,"WEIGHT":9}`, 422, ""},
		"in two objects":          {`{"name":"two","weight":1,"classes":[{"name":"x","weight":1},{"name":"y","weight":1}]}`, 201, ""},
		"in a value":              {`{"name":"name","weight":1}`, 201, ""},
		"escapes in a value":      {`{"name":"\"a\\","weight":1}`, 422, ""},
	} {
		a := r.call("POST", "/fabrics/lab/tenants", c.body)
		if a.status != c.status || !strings.Contains(string(a.body), strings.ReplaceAll(c.detail, `"`, `\"`)) {
			t.Errorf("%s: %d %s, want %d with %q", name, a.status, a.body, c.status, c.detail)
		}
	}
	r.call("GET", "/fabrics/lab/tenants?limit=1&limit=2", "").want(422, "invalid")
	r.call("POST", "/fabrics/lab/plans?dry_run=true&dry_run=false", `{}`).want(422, "invalid")
	if list := decode[gen.PlanList](r.call("GET", "/fabrics/lab/plans", "").want(200)); len(list.Items) != 0 {
		t.Error("a request that was a dry run and none made a plan")
	}
	r.call("GET", "/fabrics/lab/tenants?limit=%zz", "").want(400, "malformed-request")
	r.call("GET", "/fabrics/lab/tenants?limit=1;cursor=c.a", "").want(400, "malformed-request")
}

func TestNumbersBeyondAllBounds(t *testing.T) {
	t.Parallel()
	r := managed(t)
	before := r.call("GET", "/fabrics/lab/policies?limit=1000", "").want(200).body
	tenant := func(fields string) string { return `{"name":"big",` + fields + `}` }
	for _, c := range []struct{ method, path, body, pointer string }{
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1e999`), "/weight"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1e308`), "/weight"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1e-999`), "/weight"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":` + strings.Repeat("9", 5000)), "/weight"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":0.` + strings.Repeat("0", 5000) + `1`), "/weight"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"cap_bps":9223372036854775808`), "/cap_bps"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"cap_bps":1.5`), "/cap_bps"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"cap_bps":999999`), "/cap_bps"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"guarantee_bps":1`), "/guarantee_bps"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"guarantee_bps":-1`), "/guarantee_bps"},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"guarantee_bps":2000000,"cap_bps":1000000`), ""},
		{"POST", "/fabrics/lab/tenants", tenant(`"weight":1,"attachments":[{"port":"h1","sl":1e30}]`), "/attachments/0/sl"},
		{"PUT", "/fabrics/lab/flows", `{"flows":[{"tenant":"red","src":"h1","dst":"h4","qps":1e400}]}`, "/flows/0/qps"},
		{"PUT", "/fabrics/lab/flows", `{"flows":[{"tenant":"red","src":"h1","dst":"h4","demand_bps":18446744073709551616}]}`, "/flows/0/demand_bps"},
		{"POST", "/simulations", `{"scenario":"good","seed":9223372036854775807}`, "/seed"},
		{"PUT", "/settings", `{"tasks":{"keep":1e18}}`, "/tasks/keep"},
		{"GET", "/fabrics/lab/tenants?limit=99999999999999999999999", "", "limit"},
		{"GET", "/fabrics/lab/tenants?limit=1e3", "", "limit"},
		{"GET", "/fabrics/lab/rollouts/99999999999999999999999", "", "rollout"},
		{"GET", "/fabrics/lab/rollouts/-1", "", "rollout"},
		{"GET", "/fabrics/lab/policies/0x1", "", "revision"},
		{"GET", "/fabrics/lab/shares?window_ms=9223372036854775807", "", "window_ms"},
	} {
		a := r.call(c.method, c.path, c.body, "If-Match", "*")
		p := decode[gen.Problem](a)
		if a.status != 422 || len(p.Errors) == 0 || c.pointer != "" && p.Errors[0].Pointer != c.pointer {
			t.Errorf("%s %s %.100s: %d %s, want a fault of %s", c.method, c.path, c.body, a.status, a.body, c.pointer)
		}
		if len(a.body) > 4096 {
			t.Errorf("%s %s: the answer repeats %d bytes", c.method, c.path, len(a.body))
		}
	}
	if after := r.call("GET", "/fabrics/lab/policies?limit=1000", "").want(200).body; string(after) != string(before) {
		t.Errorf("a refused request made a revision: %s", after)
	}
}

func TestNamesWithMeaningInOtherLanguagesAreHarmless(t *testing.T) {
	t.Parallel()
	r := managed(t)
	tenants := r.call("GET", "/fabrics/lab/tenants", "").want(200).body
	for _, name := range []string{
		`lab' OR '1'='1`, `lab"; DROP TABLE tenants; --`, `lab'; DELETE FROM tenants WHERE ''='`, `../../etc/passwd`, `..`, `%2e%2e%2f`, `..\..\x`,
		`$(reboot)`, "`reboot`", `{{7*7}}`, `<script>alert(1)</script>`, `lab%`, `la_`, `*`, `NUL`, `con.txt`, "lab\n", "\u202elab", "lаb", "LAB", "--help", "${jndi:ldap://x}",
	} {
		// As the name of an object: rejected, or not found.
		for _, path := range []string{"/fabrics/%s", "/fabrics/lab/tenants/%s", "/users/%s", "/fabrics/lab/tenants/red/classes/%s", "/fabrics/lab/plans/%s", "/me/tokens/%s"} {
			method := "GET"
			if strings.HasPrefix(path, "/me") {
				method = "DELETE"
			}
			if a := r.call(method, fmt.Sprintf(path, url.PathEscape(name)), ""); a.status != 404 && a.status != 422 && a.status != 400 && a.status != 409 {
				t.Errorf("%s of %q: %d %s", path, name, a.status, a.body)
			}
		}
		// As a filter: it matches only objects of that name.
		for _, path := range []string{"/audit?actor=", "/audit?object=", "/fabrics/lab/links?node="} {
			if a := r.call("GET", path+url.QueryEscape(name), ""); a.status == 200 && !strings.Contains(string(a.body), `"items":[]`) || a.status >= 500 {
				t.Errorf("%s%q: %d %s", path, name, a.status, a.body)
			}
		}
		// As free text: stored unchanged.
		if strings.Contains(name, "\n") {
			continue
		}
		body := encoded(t, map[string]string{"label": name})
		if p := decode[gen.Policy](r.call("PUT", "/fabrics/lab/policies/1/label", body).want(200)); deref(p.Label) != name {
			t.Errorf("label %q became %q", name, deref(p.Label))
		}
	}
	if after := r.call("GET", "/fabrics/lab/tenants", "").want(200).body; string(after) != string(tenants) {
		t.Errorf("tenants were %s and are %s", tenants, after)
	}
}

func TestManyQueryParameters(t *testing.T) {
	t.Parallel()
	r := managed(t)
	var q strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&q, "&p%d=%d", i, i)
	}
	a := r.call("GET", "/fabrics/lab/tenants?limit=1"+q.String(), "").want(422, "invalid")
	if len(a.body) > 4096 {
		t.Errorf("the answer has %d bytes", len(a.body))
	}
	r.call("GET", "/fabrics/lab/tenants?"+strings.Repeat("limit=1&", 5000), "").want(422, "invalid")
	r.call("GET", "/fabrics/lab/tenants?cursor="+strings.Repeat("a", 50000), "").want(422, "invalid")
}

// started runs a rig behind the real HTTP server.
func started(t *testing.T, r *rig) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(r.server)
	srv.Config = HTTPServer(r.server)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// announce sends the head of a request with a body length and Expect: 100-continue; token "" sends none.
func announce(t *testing.T, srv *httptest.Server, token, path string, length int) (net.Conn, *bufio.Reader) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if token != "" {
		token = "Authorization: Bearer " + token + "\r\n"
	}
	_, err = fmt.Fprintf(c, "POST /api/v1%s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, token, length)
	if err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// half sends a request with the start of its body. It returns when the server reads that.
func half(t *testing.T, srv *httptest.Server, token, path, body string, sent int) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, in := announce(t, srv, token, path, len(body))
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // sent when the server starts to read the body
		t.Fatalf("the server says %q, %v", line, err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, body[:sent]); err != nil {
		t.Fatal(err)
	}
	return c, in
}

func TestSlowClientDelaysNoOthersAndChangesNothing(t *testing.T) {
	t.Parallel()
	r := managed(t)
	other := (&rightsRig{rig: r}).person("other", "fabric-admin@*")
	srv := started(t, r)
	const body = `{"name":"green","weight":2,"pkey":"0x8003"}`
	var slow []net.Conn
	for range sending.own {
		c, _ := half(t, srv, r.token, "/fabrics/lab/tenants", body, len(body)-1)
		slow = append(slow, c)
	}
	r.call("GET", "/fabrics/lab/tenants", "").want(200)
	one := r.call("POST", "/fabrics/lab/tenants", `{"name":"quick","weight":2,"pkey":"0x8004"}`).want(503, "busy")
	if one.header.Get("Retry-After") == "" {
		t.Error("busy without Retry-After")
	}
	r.call("POST", "/fabrics/lab/tenants", `{"name":"quick","weight":2,"pkey":"0x8004"}`, bearer(other)...).want(201)
	for _, c := range slow {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	srv.Close() // returns when all requests have ended
	r.call("POST", "/fabrics/lab/tenants", `{"name":"later","weight":2,"pkey":"0x8005"}`).want(201)
	r.call("GET", "/fabrics/lab/tenants/green", "").want(404, "not-found")
	if s := srv.Config; s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 {
		t.Error("a client may take for ever")
	}
}

func TestIncompleteBodyIsNotExecuted(t *testing.T) {
	t.Parallel()
	r := managed(t)
	for _, broken := range []error{os.ErrDeadlineExceeded, io.ErrUnexpectedEOF, errors.New("reset")} {
		whole := strings.NewReader(`{"name":"green","weight":2,"pkey":"0x8003"}`)
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/fabrics/lab/tenants", io.MultiReader(whole, readerFunc(func([]byte) (int, error) { return 0, broken })))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+r.token)
		serve(t, r.server, req).want(400, "malformed-body")
	}
	r.call("GET", "/fabrics/lab/tenants/green", "").want(404, "not-found")
}

// TestShutdownFinishesRunningRequests shuts the server down while a request is half sent: it is answered, and the
// answer is true.
func TestShutdownFinishesRunningRequests(t *testing.T) {
	t.Parallel()
	r := managed(t)
	srv := started(t, r)
	ending := make(chan struct{})
	srv.Config.RegisterOnShutdown(func() { close(ending) })
	const body = `{"name":"green","weight":2,"pkey":"0x8003"}`
	c, in := half(t, srv, r.token, "/fabrics/lab/tenants", body, 10)
	ended := make(chan error, 1)
	go func() { ended <- srv.Config.Shutdown(context.WithoutCancel(t.Context())) }()
	<-ending
	var d net.Dialer
	if other, err := d.DialContext(t.Context(), "tcp", srv.Listener.Addr().String()); err == nil {
		_ = other.Close()
		t.Error("a server that ends takes new connections")
	}
	if _, err := io.WriteString(c, body[10:]); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusCreated || !res.Close {
		t.Fatalf("answer is %+v, %v", res, err)
	}
	_ = res.Body.Close()
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
	r.call("GET", "/fabrics/lab/tenants/green", "").want(200)
}

// TestInterruptedChangeIsStoredWholeOrNotAtAll interrupts a change at its deadline: it is stored with its event and its revision, or not
// at all.
func TestInterruptedChangeIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	r := managed(t)
	for i := range 40 {
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		body := fmt.Sprintf(`{"name":"t%d","weight":2,"pkey":"0x%04x"}`, i, 0x8010+i)
		req := newRequest(t, "POST", "/api/v1/fabrics/lab/tenants", body, bearer(r.token)...).WithContext(ctx)
		done := make(chan struct{})
		go func() { defer close(done); serve(t, r.server, req) }()
		for range i * 50 {
			if ctx.Err() != nil {
				break
			}
		}
		cancel()
		<-done
	}
	made := map[string]bool{}
	for _, x := range decode[gen.TenantList](r.call("GET", "/fabrics/lab/tenants?limit=1000", "").want(200)).Items {
		made[x.Name] = true
	}
	seen := map[string]bool{"red": true, "blue": true}
	for _, e := range decode[gen.EventList](r.call("GET", "/fabrics/lab/events?limit=1000", "").want(200)).Items {
		if e.Kind == "tenant.created" {
			seen[e.Subject] = true
		}
	}
	for name := range made {
		if !seen[name] {
			t.Errorf("tenant %s was made without its event", name)
		}
	}
	for name := range seen {
		if !made[name] {
			t.Errorf("tenant %s was reported created and does not exist", name)
		}
	}
	latest := decode[gen.PolicyList](r.call("GET", "/fabrics/lab/policies?limit=1", "").want(200)).Items[0]
	if latest.Tenants != len(made) {
		t.Errorf("the latest revision has %d tenants, the fabric %d", latest.Tenants, len(made))
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBodyIsNotReadBeforeAuthorisation sends requests over the network with Expect: 100-continue.
func TestBodyIsNotReadBeforeAuthorisation(t *testing.T) {
	t.Parallel()
	r := managed(t)
	viewer := (&rightsRig{rig: r}).person("viewer", "tenant-viewer@lab/red")
	srv := started(t, r)
	for token, want := range map[string]string{"flt_guess": " 401 ", viewer: " 403 "} {
		_, in := announce(t, srv, token, "/users", 8000000)
		if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("the server says %q, %v, want%s", line, err, want)
		}
	}
}
