package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/api/gen"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/identity"
	"fairlane/service/control/maintenance"
	"fairlane/service/control/rollouts"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/tenants"
)

// world is a signInRig in which bob administers tenant blue. A crowded one also has other, busy users.
type world struct {
	*signInRig
	crowded bool
	token   string // bob's
	seen    []string
}

// others does, in a crowded world only, what bob must not notice.
func (w *world) others(what string, do func() error) {
	w.t.Helper()
	if !w.crowded {
		return
	}
	if err := do(); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

func newWorld(t *testing.T, crowded bool) *world {
	t.Helper()
	w := &world{signInRig: newSignInRig(t), crowded: crowded}
	ctx, s := t.Context(), w.service
	blue := tenancy.TenantInput{Name: "blue", Weight: 1000, PKey: 0x8002, Attachments: []tenancy.AttachmentInput{{Port: "h2"}, {Port: "h4"}}}
	red := tenancy.TenantInput{Name: "red", Weight: 3000, PKey: 0x8001, Attachments: []tenancy.AttachmentInput{{Port: "h1"}, {Port: "h3"}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w.others("another fabric", func() error {
		_, err := s.CreateFabric(ctx, control.Fabric{Name: "another", Source: "file:x"})
		return err
	})
	_, err := s.CreateFabric(ctx, control.Fabric{Name: "lab", Source: controltest.Source})
	must(err)
	_, err = s.Discover(ctx, "lab")
	must(err)
	w.others("red before blue", func() error {
		_, err := s.CreateTenant(ctx, "lab", red)
		return err
	})
	_, err = s.CreateTenant(ctx, "lab", blue)
	must(err)
	flows := []tenancy.FlowInput{{Tenant: "blue", Src: "h2", Dst: "h4"}}
	w.others("people", func() error {
		for _, name := range []string{"carol", "dan"} {
			_, err := s.CreateUser(ctx, identity.UserInput{
				Name: name, DisplayName: "of Red", Password: "a long enough word", Grants: []tenants.Grant{{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}},
			})
			if err != nil {
				return err
			}
		}
		flows = append([]tenancy.FlowInput{{Tenant: "red", Src: "h1", Dst: "h3"}}, flows...)
		return nil
	})
	_, err = s.ApplyTenants(ctx, "lab", tenancy.TenantSet{Flows: flows}, false)
	must(err)
	bob, err := s.CreateUser(ctx, identity.UserInput{Name: "bob", Grants: []tenants.Grant{{Role: tenants.RoleTenantAdmin, Domain: tenants.Domain{Fabric: "lab", Tenant: "blue"}}}})
	must(err)
	w.token, _, err = s.CreateToken(ctx, bob.Ref(), identity.TokenInput{Name: "test"})
	must(err)
	w.clock.pass(time.Minute)
	w.rollOut()
	return w
}

// rollOut puts a plan in force, so that there are shares to see.
func (w *world) rollOut() {
	w.t.Helper()
	p, _, err := w.service.CreatePlan(w.t.Context(), "lab", policy.Options{}, false)
	if err == nil {
		_, err = w.service.StartRollout(w.t.Context(), "lab", rollouts.RolloutInput{Plan: p.Plan.Name})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.rig.Wait()
	c, err := collect.New(w.service, w.service.Meter, w.service.Series, collect.Options{Name: "m1", Period: 15 * time.Second})
	if err == nil {
		err = c.Round(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// made matches random parts of answers.
var made = regexp.MustCompile(`flt_[A-Za-z0-9_-]{43}|m-[0-9a-f]{12}`)

// ask sends a request of bob's and records its whole answer.
func (w *world) ask(method, path, body string, header ...string) answer {
	w.t.Helper()
	header = append(header, "Authorization", "Bearer "+w.token, "X-Request-ID", "r")
	a := w.browser().do(method, path, body, header...)
	w.seen = append(w.seen, fmt.Sprintf("%s %s %s\n%s", method, path, body, anonymized(answer{w.t, a.status, a.header, made.ReplaceAll(a.body, []byte("SECRET"))})))
	return a
}

// walk sends every GET of the contract for bob's objects, for red's, and for missing ones, in pages of one and as a
// whole.
func (w *world) walk() {
	w.t.Helper()
	for _, o := range operationsOf(w.server.spec.doc) {
		if o.method != http.MethodGet || streams(o.path) || strings.HasSuffix(o.OperationID, "Oidc") {
			continue
		}
		path := strings.TrimPrefix(o.path, "/api/v1")
		fabrics, names := []string{"-"}, []string{"-"}
		if strings.Contains(path, "{fabric}") {
			fabrics = []string{"lab", "another", "nowhere"}
		}
		if strings.Contains(path, "{tenant}") {
			names = []string{"blue", "red", "nobody"}
		}
		for _, fabric := range fabrics {
			for _, tenant := range names {
				at := filled(path, fabric, tenant)
				w.ask("GET", at, "")
				if o.Parameters.GetByInAndName("query", "limit") != nil || strings.Contains(o.path, "/events") {
					w.pages(at)
				}
			}
		}
	}
	for _, q := range []string{"blue", "red", "e", "lab", "another", "h1", "1", "0x02", "carol", "nothing"} {
		w.ask("GET", "/search?limit=1&q="+q, "")
		w.ask("GET", "/search?fabric=another&q="+q, "")
	}
	w.ask("GET", "/fabrics/lab/path?src=h2&dst=h4", "")
	const series = "/prometheus/api/v1"
	for _, q := range []string{`{fabric=~".+"}`, `count({__name__=~".+"})`, `absent(fairlane_tenant_weight{tenant="red"})`, `sum(fairlane_link_capacity_bits_per_second)`} {
		w.ask("GET", series+"/query?query="+url.QueryEscape(q), "")
		w.ask("GET", series+"/series?match[]="+url.QueryEscape(`{tenant=~".*",fabric!=""}`), "")
	}
	w.ask("GET", series+"/label/tenant/values", "")
	w.ask("GET", series+"/labels", "")
}

// pages follows the cursors of a list in pages of one.
func (w *world) pages(path string) {
	w.t.Helper()
	for next, n := path+"?limit=1", 0; next != "" && n < 50; n++ {
		var list struct {
			NextCursor string `json:"next_cursor"`
		}
		a := w.ask("GET", next, "")
		if a.status == http.StatusOK {
			if err := json.Unmarshal(a.body, &list); err != nil {
				w.t.Fatal(err)
			}
		}
		if next = ""; list.NextCursor != "" {
			next = path + "?limit=1&cursor=" + url.QueryEscape(list.NextCursor)
		}
	}
}

// life is the sequence of bob's actions, the same in every world; between his steps the others are busy.
func (w *world) life() {
	w.t.Helper()
	ctx, s := w.t.Context(), w.service
	ada := control.WithPrincipal(ctx, control.Principal{Kind: control.PrincipalUser, Name: "ada", Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}})
	const blue = "/fabrics/lab/tenants/blue"
	w.walk()
	w.clock.pass(time.Minute)
	w.others("red changes", func() error {
		_, err := s.UpdateTenant(ada, "lab", 0, tenancy.TenantInput{Name: "red", Weight: 5000, PKey: 0x8001, Attachments: []tenancy.AttachmentInput{{Port: "h1"}, {Port: "h3"}}})
		return err
	})
	w.ask("PUT", blue+"/members/carol", `{"role":"tenant-viewer"}`)
	w.ask("PUT", blue+"/members/nobody", `{"role":"tenant-viewer"}`)
	w.ask("GET", blue+"/members", "")
	w.ask("DELETE", blue+"/members/dan", "")
	w.ask("DELETE", blue+"/members/carol", "")
	w.ask("DELETE", blue+"/members/carol", "")
	w.others("red's program", func() error {
		d := tenants.Domain{Fabric: "lab", Tenant: "red"}
		_, err := s.CreateServiceAccount(ada, identity.ServiceAccountInput{Name: "ci", Grant: tenants.Grant{Role: tenants.RoleTenantAdmin, Domain: d}})
		return err
	})
	w.clock.pass(time.Minute)
	w.ask("POST", blue+"/service-accounts", `{"name":"ci","role":"tenant-admin"}`)
	w.ask("POST", blue+"/service-accounts/ci/tokens", `{"name":"t"}`)
	w.others("red's flows go", func() error {
		_, err := s.ApplyTenants(ada, "lab", tenancy.TenantSet{Flows: []tenancy.FlowInput{{Tenant: "blue", Src: "h2", Dst: "h4"}}}, false)
		return err
	})
	w.ask("POST", blue+"/classes", `{"name":"bulk","weight":2}`)
	w.ask("POST", blue+"/classes?dry_run=true", `{"name":"gold","weight":2}`)
	w.ask("PUT", "/fabrics/lab/tenants/red", `{"weight":1,"pkey":"0x8001"}`, "If-Match", "*")
	w.ask("POST", "/fabrics/lab/tenants/red/classes", `{"name":"bulk","weight":2}`)
	w.ask("DELETE", "/fabrics/another", "", "If-Match", "*")
	w.clock.pass(time.Minute)
	if _, err := s.UpdateTenant(ada, "lab", 0, tenancy.TenantInput{Name: "blue", Weight: 2000, PKey: 0x8002, Attachments: []tenancy.AttachmentInput{{Port: "h2"}, {Port: "h4"}}}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.maintain(ada, s); err != nil {
		w.t.Fatal(err)
	}
	w.others("red goes", func() error { return s.DeleteTenant(ada, "lab", "red", 0) })
	w.walk()
}

// maintain announces, changes and cancels maintenance. In a crowded world it touches red, too.
func (w *world) maintain(ctx context.Context, s *usecases.Services) error {
	w.t.Helper()
	in := func(names ...string) maintenance.Input {
		now := w.clock.read()
		return maintenance.Input{StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour), Text: control.MaintenanceText{EN: "firmware"}, Scope: control.MaintenanceScope{Tenants: names}}
	}
	touched := []string{"blue"}
	w.others("maintenance of red", func() error {
		touched = append(touched, "red")
		_, err := s.AddMaintenance(ctx, "lab", in("red"))
		return err
	})
	m, err := s.AddMaintenance(ctx, "lab", in(touched...))
	if err != nil {
		return err
	}
	w.clock.pass(time.Minute)
	w.others("red is touched no more", func() error {
		_, err := s.UpdateMaintenance(ctx, "lab", m.ID, 0, maintenance.Input{StartsAt: m.StartsAt, EndsAt: m.EndsAt, Text: m.Text, Scope: control.MaintenanceScope{Tenants: []string{"blue"}}})
		return err
	})
	w.ask("GET", "/fabrics/lab/tenants/blue/maintenance", "")
	w.ask("GET", "/fabrics/lab/events?kind=tenant.maintenance", "")
	w.ask("GET", "/fabrics/lab/maintenance", "")
	w.clock.pass(time.Minute)
	return s.CancelMaintenance(ctx, "lab", m.ID, 0)
}

// TestOtherTenantsAreInvisibleToATenant runs the same sequence with and without other users: every answer that
// bob gets, with its headers, is identical to the byte. In both worlds no other user shares a link with him.
func TestOtherTenantsAreInvisibleToATenant(t *testing.T) {
	t.Parallel()
	alone, among := newWorld(t, false), newWorld(t, true)
	alone.life()
	among.life()
	if len(alone.seen) < 150 {
		t.Errorf("bob asked %d times only", len(alone.seen))
	}
	good, shares, series := 0, false, false
	for i, a := range alone.seen {
		if i >= len(among.seen) {
			t.Fatalf("bob asked %d times in one world and %d in the other", len(alone.seen), len(among.seen))
		}
		if d := cmp.Diff(a, among.seen[i]); d != "" {
			t.Errorf("bob can tell the worlds apart (-alone +among others):\n%s", d)
		}
		if strings.Contains(a, "\n200\n") {
			good++
			series = series || strings.Contains(a, "/query?") && strings.Contains(a, `"tenant":"blue"`)
			shares = shares || strings.Contains(a, "/shares ") && strings.Contains(a, `"entitled_bps"`)
		}
	}
	if good < 30 || !shares || !series {
		t.Errorf("%d of %d requests were answered with success, shares among them: %v, series: %v", good, len(alone.seen), shares, series)
	}
}

func TestProfilesRequireTheDiagnosticsRight(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	asked := 0
	guard := w.rig.server.GuardProfiles(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { asked++; rw.WriteHeader(http.StatusNoContent) }))
	w.server.Config.Handler = guard
	w.tokens["narrow"] = w.person("narrow", "fabric-admin@*", control.Scope{Object: "*", Action: "read"})
	w.tokens["fit"] = w.person("fit", "fabric-admin@*", control.Scope{Object: "diagnostics", Action: "run"})
	want := map[string]int{"fabric-admin": 204, "fit": 204, "anonymous": 401}
	for name, token := range w.tokens {
		status := want[name]
		if status == 0 {
			status = 403
		}
		a := w.ask(token, "GET", "/debug/pprof/heap", "")
		if a.status != status {
			t.Errorf("%s is answered %d, want %d: %s", name, a.status, status, a.body)
		}
		if status >= 400 && decode[gen.Problem](a).RequestID == "" {
			t.Errorf("%s gets no problem: %s", name, a.body)
		}
	}
	if asked != 2 {
		t.Errorf("%d requests reached the profiles, want 2", asked)
	}
}

func TestDisconnectedClientIsNoFault(t *testing.T) {
	t.Parallel()
	var seen []Answered
	h := newSignInRig(t, func(o *Options) {
		o.Watch = func() func(Answered) { return func(a Answered) { seen = append(seen, a) } }
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	serve(t, h.server, newRequest(t, "POST", "/api/v1/sign-in", `{"name":"ada","password":"`+adaPassword+`"}`).WithContext(ctx))
	if len(seen) != 1 || seen[0].Status != clientGone || seen[0].Code != "" {
		t.Errorf("counted as %+v", seen)
	}
	if strings.Contains(h.log.String(), "request failed") {
		t.Errorf("logged as a fault: %s", h.log)
	}
}
