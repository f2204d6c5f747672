package api

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/internal/control"
	"fairlane/tenants"
)

// halfOf sends a request over the network without the end of its body; token "" sends none. It returns when the server
// reads the body.
func halfOf(t *testing.T, srv *httptest.Server, token, path, body string) {
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
	_, err = fmt.Fprintf(c, "POST /api/v1%s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", path, token, len(body))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server says %q, %v", line, err)
	}
	if _, err := io.WriteString(c, body[:len(body)-1]); err != nil {
		t.Fatal(err)
	}
}

const strangersWord = `{"name":"nobody","password":"a long enough word"}`

// signInFrom is a try to sign in from an address.
func signInFrom(t *testing.T, s *Server, w http.ResponseWriter, addr string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/sign-in", strings.NewReader(strangersWord))
	req.Header.Set("Content-Type", "application/json")
	req.RemoteAddr = addr
	s.ServeHTTP(w, req)
}

func TestStrangersWhoSendSlowlyHoldFewPlaces(t *testing.T) {
	t.Parallel()
	r := managed(t)
	srv := started(t, r)
	from := func(addr string) answer {
		rec := httptest.NewRecorder()
		signInFrom(t, r.server, rec, addr)
		return answer{t, rec.Code, rec.Header(), rec.Body.Bytes()}
	}
	for range maxUnknownBodies {
		halfOf(t, srv, "", "/sign-in", strangersWord)
	}
	if a := from("127.0.0.1:9").want(503, "busy"); a.header.Get("Retry-After") == "" {
		t.Error("busy without Retry-After")
	}
	from("192.0.2.9:9").want(401, "sign-in-refused")
	for range maxAllUnknownBodies - maxUnknownBodies { // others, from elsewhere
		if _, ok := r.server.load.bodies.enter("from all who are not signed in", maxAllUnknownBodies); !ok {
			t.Fatal("there is no room for others")
		}
	}
	from("192.0.2.9:9").want(503, "busy")
	if held := len(r.server.load.writes); held > maxWrites/4 {
		t.Errorf("strangers hold %d of %d places of writes", held, maxWrites)
	}
	r.call("POST", "/fabrics/lab/tenants", `{"name":"quick","weight":2,"pkey":"0x8004"}`).want(201)
}

func TestStrangersOfOneSubscriberCountAsOne(t *testing.T) {
	t.Parallel()
	name := func(addr string) string {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/sign-in", http.NoBody)
		req.RemoteAddr = addr
		b, _ := bodyBounds(req)
		return b[0].name
	}
	if a, b := name("[2001:db8:1:2::1]:5"), name("[2001:db8:1:2:ffff::7]:6"); a != b {
		t.Errorf("two addresses of one /64 are %q and %q", a, b)
	}
	if a, b := name("[2001:db8:1:2::1]:5"), name("[2001:db8:1:3::1]:5"); a == b {
		t.Errorf("two /64 are both %q", a)
	}
}

// deadlines is a recorder of an answer that notes until when the body may be read.
type deadlines struct {
	*httptest.ResponseRecorder

	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestAStrangersBodyComesSoon(t *testing.T) {
	t.Parallel()
	r := managed(t)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	begun := time.Now()
	signInFrom(t, r.server, d, "192.0.2.9:9")
	if len(d.set) != 2 || !d.set[1].IsZero() || d.set[0].Before(begun.Add(unknownBodyTime)) || d.set[0].After(time.Now().Add(unknownBodyTime)) {
		t.Errorf("the body may be read until %v: want %s from %v, and no limit once it is there", d.set, unknownBodyTime, begun)
	}
}

func TestOneCallerLeavesSlowPlacesToOthers(t *testing.T) {
	t.Parallel()
	r := managed(t)
	other := (&town{rig: r}).person("other", "operator@*")
	viewer := (&town{rig: r}).person("viewer", "tenant-viewer@lab/red")
	srv := started(t, r)
	for range maxOwnSlow {
		halfOf(t, srv, r.token, "/fabrics/lab/plans", "{}")
	}
	ask := func(token string) answer {
		own := r.token
		defer func() { r.token = own }()
		r.token = token
		return r.call("GET", "/fabrics/lab/devices", "")
	}
	if a := ask(r.token).want(503, "busy"); a.header.Get("Retry-After") == "" {
		t.Error("busy without Retry-After")
	}
	ask(other).want(409, "no-plan")
	for range maxTenantSlow {
		if _, ok := r.server.load.held.enter("slow requests of tenants", maxTenantSlow); !ok {
			t.Fatal("there is no room for tenants")
		}
	}
	ask(other).want(409, "no-plan")
	own := r.token
	r.token = viewer
	r.call("GET", "/fabrics/lab/shares", "").want(503, "busy")
	r.call("GET", "/fabrics/lab/tenants/red", "").want(200)
	r.token = own
}

func TestOneTenantLeavesStreamsToOthers(t *testing.T) {
	t.Parallel()
	r := managed(t)
	viewer := (&town{rig: r}).person("viewer", "tenant-viewer@lab/blue")
	srv := started(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(token string) int {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+"/api/v1/fabrics/lab/events/stream", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res.StatusCode
	}
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	programs := make([]string, 2)
	for i := range programs { // as many as red's administrator likes to make
		a, err := r.Service.CreateServiceAccount(ctx, control.ServiceAccountInput{Name: fmt.Sprintf("p%d", i), Grant: tenants.Grant{Role: tenants.RoleTenantViewer, Domain: red}})
		if err == nil {
			programs[i], _, err = r.Service.CreateToken(ctx, a.Ref(), control.TokenInput{Name: "t"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxOwnStreams {
		if status := open(programs[i%2]); status != http.StatusOK {
			t.Fatalf("stream %d answers %d", i, status)
		}
	}
	if status := open(programs[0]); status != http.StatusServiceUnavailable {
		t.Errorf("one more of red's answers %d", status)
	}
	if status := open(viewer); status != http.StatusOK {
		t.Errorf("one of blue's answers %d", status)
	}
	if status := open(r.token); status != http.StatusOK {
		t.Errorf("one of the administrator's answers %d", status)
	}
}

func TestTheLogOfTheAPINamesTheToken(t *testing.T) {
	t.Parallel()
	r := managed(t)
	r.call("POST", "/fabrics/lab/tenants", `{"name":"quick","weight":2,"pkey":"0x8004"}`).want(201)
	e := decode[gen.AuditList](r.call("GET", "/audit?limit=1", "").want(200)).Items[0]
	if deref(e.Token) != control.BootstrapName || e.Action != "tenant.created" {
		t.Errorf("the newest entry is %+v", e)
	}
}
