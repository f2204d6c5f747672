package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/tenants"
)

const unknownCredentials = `{"name":"nobody","password":"a long enough word"}`

// anonymousSignIn returns an unauthenticated sign-in request from an address.
func anonymousSignIn(t *testing.T, addr string) *http.Request {
	t.Helper()
	req := newRequest(t, "POST", "/api/v1/sign-in", unknownCredentials)
	req.RemoteAddr = addr
	return req
}

func TestSlowUnauthenticatedSendersHoldFewPlaces(t *testing.T) {
	t.Parallel()
	r := managed(t)
	srv := started(t, r)
	from := func(addr string) answer { return serve(t, r.server, anonymousSignIn(t, addr)) }
	for range sending.source {
		half(t, srv, "", "/sign-in", unknownCredentials, len(unknownCredentials)-1)
	}
	if a := from("127.0.0.1:9").want(503, "busy"); a.header.Get("Retry-After") == "" {
		t.Error("busy without Retry-After")
	}
	from("192.0.2.9:9").want(401, "sign-in-refused")
	for range sending.strangers - sending.source { // others, from other addresses
		if _, ok := r.server.load.bodies.enter("bodies from all who are not signed in", sending.strangers); !ok {
			t.Fatal("there is no room for others")
		}
	}
	from("192.0.2.9:9").want(503, "busy")
	if held := r.server.load.places.count["changes"]; held != 0 {
		t.Errorf("strangers who did not send their bodies hold %d places of writes", held)
	}
	r.call("POST", "/fabrics/lab/tenants", `{"name":"quick","weight":2,"pkey":"0x8004"}`).want(201)
}

func TestUnauthenticatedClientsOfOnePrefixCountAsOne(t *testing.T) {
	t.Parallel()
	name := func(addr string) string {
		c, _ := gin.CreateTestContext(httptest.NewRecorder())
		c.Request = anonymousSignIn(t, addr)
		return sending.bounds(callerKeyOf(c))[0].name
	}
	if a, b := name("[2001:db8:1:2::1]:5"), name("[2001:db8:1:2:ffff::7]:6"); a != b {
		t.Errorf("two addresses of one /64 are %q and %q", a, b)
	}
	if a, b := name("[2001:db8:1:2::1]:5"), name("[2001:db8:1:3::1]:5"); a == b {
		t.Errorf("two /64 are both %q", a)
	}
}

// deadlines records until when the body of a request may be read.
type deadlines struct {
	*httptest.ResponseRecorder

	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func TestUnauthenticatedBodyHasAShortDeadline(t *testing.T) {
	t.Parallel()
	r := managed(t)
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	begun := time.Now()
	r.server.ServeHTTP(d, anonymousSignIn(t, "192.0.2.9:9"))
	last := len(d.set) - 1
	if last < 1 || !d.set[last].IsZero() || d.set[0].Before(begun.Add(bodyGrace)) || d.set[last-1].After(time.Now().Add(unknownBodyTime)) {
		t.Errorf("the body may be read until %v: want %s from %v and more when it comes, and no limit once it is there", d.set, bodyGrace, begun)
	}
}

func TestOneCallerLeavesSlowPlacesToOthers(t *testing.T) {
	t.Parallel()
	r := managed(t)
	other := (&rightsRig{rig: r}).person("other", "operator@*")
	viewer := (&rightsRig{rig: r}).person("viewer", "tenant-viewer@lab/red")
	runner := (&rightsRig{rig: r}).person("runner", "operator@lab")
	caller, err := r.Service.Authenticate(t.Context(), r.token)
	if err != nil {
		t.Fatal(err)
	}
	for range lengthy.own {
		if _, full := r.server.load.places.enterAll(1, lengthy.bounds(callerKey{known: true, wide: true, name: holder(caller)})...); full != nil {
			t.Fatalf("there is no room: %v", full)
		}
	}
	ask := func(token string) answer { return r.call("GET", "/fabrics/lab/devices", "", bearer(token)...) }
	if a := ask(r.token).want(503, "busy"); a.header.Get("Retry-After") == "" {
		t.Error("busy without Retry-After")
	}
	ask(other).want(409, "no-plan")
	for range lengthy.tenants {
		if _, ok := r.server.load.places.enter("slow requests of tenants", lengthy.tenants); !ok {
			t.Fatal("there is no room for tenants")
		}
	}
	ask(other).want(409, "no-plan")
	ask(runner).want(409, "no-plan") // a role on one fabric is no tenant's
	r.call("GET", "/fabrics/lab/shares", "", bearer(viewer)...).want(503, "busy")
	r.call("GET", "/fabrics/lab/tenants/red", "", bearer(viewer)...).want(200)
}

func TestDeviceOperationsHaveALongTimeout(t *testing.T) {
	t.Parallel()
	sp := parsed(t)
	found := 0
	for key, r := range sp.routes {
		for _, code := range []string{"discovery-failed", "devices-unreachable", "measurement-failed"} {
			if !slices.Contains(r.problems, code) {
				continue
			}
			found++
			if method, route, _ := strings.Cut(key, " "); !slow(method, route) {
				t.Errorf("%s may answer %s and has %v only", key, code, requestTimeout)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d operations talk to devices", found)
	}
}

func TestOneTenantLeavesStreamsToOthers(t *testing.T) {
	t.Parallel()
	r := managed(t)
	viewer := (&rightsRig{rig: r}).person("viewer", "tenant-viewer@lab/blue")
	srv := started(t, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := func(token string) int {
		t.Helper()
		status, _, _ := stream(ctx, t, srv, "", bearer(token)...)
		return status
	}
	red := tenants.Domain{Fabric: "lab", Tenant: "red"}
	programs := make([]string, 2)
	for i := range programs { // accounts that red's administrator created
		a, err := r.Service.CreateServiceAccount(ctx, identity.ServiceAccountInput{Name: fmt.Sprintf("p%d", i), Grant: tenants.Grant{Role: tenants.RoleTenantViewer, Domain: red}})
		if err == nil {
			programs[i], _, err = r.Service.CreateToken(ctx, a.Ref(), identity.TokenInput{Name: "t"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range streaming.own {
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
