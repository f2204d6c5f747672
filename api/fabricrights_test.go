package api

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/policy"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/rollouts"
	"fairlane/tenants"
)

// TestFabricRoleAppliesToItsFabricOnly derives the columns of the callers with a role on one fabric from those with
// the role on everything, so that no future operation is opened to them by accident.
func TestFabricRoleAppliesToItsFabricOnly(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/rights.golden")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	column := func(line, name string) string {
		at := strings.Index(lines[0], " "+name+" ") + 1
		return strings.TrimSpace(line[at:min(at+12, len(line))])
	}
	ofService := []string{"DELETE /api/v1/fabrics/{fabric}"} // only the creator of a fabric can delete it
	for _, line := range lines[1:] {
		operation := strings.Join(strings.Fields(line)[:2], " ")
		for _, role := range []string{"admin", "operator", "auditor"} {
			wide := map[string]string{"admin": "fabric-admin"}[role]
			if wide == "" {
				wide = role
			}
			want := column(line, wide)
			if !strings.Contains(operation, "/{fabric}") || slices.Contains(ofService, operation) {
				want = column(line, "nothing") // as a caller without a role
				if strings.Contains(operation, "/{fabric}") {
					want = "403"
				}
			}
			if operation == "GET /api/v1/fabrics" || strings.Contains(operation, prometheusRoot) {
				want = "+" // limited to its own
			}
			if got := column(line, "lab-"+role); got != want {
				t.Errorf("%s: %s on lab is answered %s, want %s", operation, role, got, want)
			}
		}
		if got := column(line, "prod-admin"); strings.Contains(operation, "/{fabric}") && got != "404" {
			t.Errorf("%s on lab: the administrator of prod is answered %s", operation, got)
		}
	}
}

// busyRightsRig is a rightsRig in which a plan of lab is in force, and prod is a similar fabric.
type busyRightsRig struct {
	*rightsRig
	plan    string // of lab, in force
	rollout int64  // of lab
	running int64  // another one of lab, which waits
}

func newBusyRightsRig(t *testing.T) *busyRightsRig {
	t.Helper()
	w := &busyRightsRig{rightsRig: newRightsRig(t)}
	ctx := t.Context()
	p, _, err := w.Service.CreatePlan(ctx, "lab", policy.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	w.plan = p.Plan.Name
	ro, err := w.Service.StartRollout(ctx, "lab", rollouts.RolloutInput{Plan: w.plan})
	if err != nil {
		t.Fatal(err)
	}
	w.rollout = ro.ID
	w.Wait()
	began, let := w.Devices.Hold()
	t.Cleanup(let)
	if ro, err = w.Service.StartRollout(ctx, "lab", rollouts.RolloutInput{Plan: w.plan}); err != nil {
		t.Fatal(err)
	}
	w.running = ro.ID
	<-began
	return w
}

// heard returns the text of a refusal without the requested name.
func heard(a answer, name string) string {
	p := decode[gen.Problem](a)
	return fmt.Sprintf("%d %s %s", a.status, p.Code, strings.ReplaceAll(deref(p.Detail), fmt.Sprintf("%q", name), "NAME"))
}

// requests objects with a number or a name of their own below the caller's fabric. Those of another fabric are answered
// as missing, and do not change.
func TestObjectsOfAnotherFabricAreNotFound(t *testing.T) {
	t.Parallel()
	w := newBusyRightsRig(t)
	ctx := t.Context()
	before, err := w.Service.Rollout(ctx, "lab", w.running)
	if err != nil {
		t.Fatal(err)
	}
	snapshots, _, err := w.Service.ListSnapshots(ctx, "lab", control.Page{})
	if err != nil || len(snapshots) == 0 {
		t.Fatal(snapshots, err)
	}
	const noPlan, noRollout = "ffffffffffff", 987654
	noSnapshot := strings.Repeat("f", 64)
	for _, c := range []struct{ method, path, body, real, none string }{
		{"GET", "/plans/%s", "", w.plan, noPlan},
		{"GET", "/plans/%s/diff", "", w.plan, noPlan},
		{"GET", "/plans/%s/explain", "", w.plan, noPlan},
		{"GET", "/devices?plan=%s", "", w.plan, noPlan},
		{"GET", "/shares?plan=%s", "", w.plan, noPlan},
		{"GET", "/baseline?against=%s", "", w.plan, noPlan},
		{"POST", "/rollouts", `{"plan":"%s","stages":["settings"]}`, w.plan, noPlan},
		{"POST", "/rollouts?dry_run=true", `{"plan":"%s","stages":["settings"]}`, w.plan, noPlan},
		{"GET", "/topology?snapshot=%s", "", snapshots[0].SHA256, noSnapshot},
		{"GET", "/topology/file?snapshot=%s", "", snapshots[0].SHA256, noSnapshot},
		{"GET", "/rollouts/%s", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"GET", "/rollouts/%s?settings=true", "", fmt.Sprint(w.rollout), fmt.Sprint(noRollout)},
		{"GET", "/rollouts/%s/events", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/pause", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/resume", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/confirm", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/cancel", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/roll-back", "", fmt.Sprint(w.running), fmt.Sprint(noRollout)},
		{"POST", "/rollouts/%s/roll-back", `{"to":"baseline"}`, fmt.Sprint(w.rollout), fmt.Sprint(noRollout)},
	} {
		fill := func(id string) (path, body string) {
			return "/api/v1/fabrics/prod" + strings.Replace(c.path, "%s", id, 1), strings.Replace(c.body, "%s", id, 1)
		}
		path, body := fill(c.real)
		got := w.ask(w.tokens["prod-admin"], c.method, path, body)
		path, body = fill(c.none)
		none := w.ask(w.tokens["prod-admin"], c.method, path, body)
		if got.status < 400 || heard(got, c.real) != heard(none, c.none) {
			t.Errorf("%s %s of prod with %s of lab:\n%d %s\nand with what is nowhere:\n%d %s", c.method, c.path, c.real, got.status, got.body, none.status, none.body)
		}
	}
	after, err := w.Service.Rollout(ctx, "lab", w.running)
	if err != nil || after.Request != before.Request || after.State != before.State {
		t.Errorf("the rollout of lab was %s %s, and is %s %s, %v", before.State, before.Request, after.State, after.Request, err)
	}
	stream, err := w.Service.WatchEvents(ctx, control.EventFilter{Fabric: "prod", Rollout: w.rollout}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := stream.Next(ctx, 0); len(list) != 0 || err != nil {
		t.Errorf("the stream of prod contains the rollout of lab: %+v, %v", list, err)
	}
	// Its own administrator reaches all of it.
	for _, path := range []string{"/plans/" + w.plan, fmt.Sprintf("/rollouts/%d", w.running), fmt.Sprintf("/rollouts/%d/events", w.running), "/topology?snapshot=" + snapshots[0].SHA256} {
		w.ask(w.tokens["lab-auditor"], "GET", "/api/v1/fabrics/lab"+path, "").want(http.StatusOK)
	}
	w.ask(w.tokens["lab-operator"], "POST", fmt.Sprintf("/api/v1/fabrics/lab/rollouts/%d/pause", w.running), "").want(http.StatusAccepted)
}

// TestListsAreLimitedToTheCallersFabrics checks the lists without a fabric in their path.
func TestListsAreLimitedToTheCallersFabrics(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	mixed := w.person("mixed", "operator@prod")
	viewer := tenants.Grant{Role: tenants.RoleTenantViewer, Domain: tenants.Domain{Fabric: "lab", Tenant: "red"}}
	if _, err := w.Service.PutMember(t.Context(), "mixed", viewer); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ token, names, whole string }{
		{w.tokens["fabric-admin"], "lab prod", "lab prod"}, {w.tokens["lab-admin"], "lab", "lab"}, {w.tokens["lab-auditor"], "lab", "lab"},
		{w.tokens["prod-admin"], "prod", "prod"}, {mixed, "lab prod", "prod"}, {w.tokens["red-viewer"], "lab", ""},
	} {
		var names, whole []string
		for _, f := range decode[gen.FabricList](w.ask(c.token, "GET", "/api/v1/fabrics", "").want(http.StatusOK)).Items {
			names = append(names, f.Name)
			if f.Source != "" {
				whole = append(whole, f.Name)
			}
		}
		if strings.Join(names, " ") != c.names || strings.Join(whole, " ") != c.whole {
			t.Errorf("fabrics are %v, with their sources %v; want %s and %s", names, whole, c.names, c.whole)
		}
	}
	// The caller with two roles operates prod, and has a tenant's view of lab.
	w.ask(mixed, "GET", "/api/v1/fabrics/prod/rollouts", "").want(http.StatusOK)
	w.ask(mixed, "GET", "/api/v1/fabrics/lab/rollouts", "").want(http.StatusForbidden, "forbidden")
	w.ask(mixed, "GET", "/api/v1/fabrics/lab/tenants/blue", "").want(http.StatusNotFound, "not-found")
	if a := w.ask(mixed, "GET", "/api/v1/fabrics/lab/tenants", "").want(http.StatusOK); bytes.Contains(a.body, []byte(`"blue"`)) {
		t.Errorf("a viewer of red that runs prod sees %s", a.body)
	}
	events := w.ask(mixed, "GET", "/api/v1/fabrics/lab/events", "").want(http.StatusOK)
	for _, e := range decode[gen.EventList](events).Items {
		if e.Subject != "red" {
			t.Errorf("a viewer of red that runs prod hears of %s %s", e.Kind, e.Subject)
		}
	}
}

// checks that a fabric administrator cannot grant, to others or to itself, a role beyond its own.
func TestFabricAdministratorGrantsRolesInItsFabricOnly(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	admin := func(method, path, body string, header ...string) answer {
		return w.ask(w.tokens["lab-admin"], method, "/api/v1"+path, body, header...)
	}
	for _, c := range []struct{ method, path, body string }{
		{"POST", "/users", `{"name":"eve","roles":[{"role":"fabric-admin"}]}`},
		{"POST", "/users", `{"name":"eve","roles":[{"role":"fabric-admin","fabric":"lab"}]}`},
		{"PUT", "/users/lab-admin", `{"roles":[{"role":"fabric-admin"}]}`},
		{"PUT", "/users/lab-admin", `{"password":"a long enough word","roles":[]}`},
		{"PUT", "/users/fabric-admin", `{"password":"a long enough word","roles":[{"role":"fabric-admin"}]}`},
		{"GET", "/users/fabric-admin", ""},
		{"DELETE", "/users/fabric-admin", ""},
		{"POST", "/service-accounts", `{"name":"ci","role":"fabric-admin"}`},
		{"POST", "/service-accounts", `{"name":"ci","role":"fabric-admin","fabric":"lab"}`},
		{"POST", "/service-accounts", `{"name":"ci","role":"fabric-admin","fabric":"prod"}`},
		{"POST", "/service-accounts/ci/tokens", `{"name":"t"}`},
		{"PUT", "/settings", `{}`},
		{"POST", "/fabrics", `{"name":"mine","source":"file:x"}`},
		{"DELETE", "/fabrics/lab", ""},
		{"POST", "/simulations", `{"fabric":"lab","plan":"abcdef"}`},
		{"GET", "/audit?fabric=lab", ""},
	} {
		admin(c.method, c.path, c.body, "If-Match", "*").want(http.StatusForbidden, "forbidden")
	}
	// It grants tenant roles on its own fabric; it cannot grant a wider role there.
	admin("PUT", "/fabrics/lab/tenants/red/members/eve", `{"role":"tenant-admin"}`).want(http.StatusOK)
	admin("PUT", "/fabrics/prod/tenants/green/members/eve", `{"role":"tenant-admin"}`).want(http.StatusNotFound, "not-found")
	for _, role := range []string{"fabric-admin", "operator", "auditor"} {
		admin("PUT", "/fabrics/lab/tenants/red/members/lab-admin", `{"role":"`+role+`"}`).want(http.StatusUnprocessableEntity, "invalid")
		admin("POST", "/fabrics/lab/tenants/red/service-accounts", `{"name":"ci","role":"`+role+`"}`).want(http.StatusUnprocessableEntity, "invalid")
	}
	for _, fabric := range []string{"lab", "prod"} {
		admin("POST", "/fabrics/lab/tenants/red/service-accounts", `{"name":"ci","role":"tenant-admin","fabric":"`+fabric+`"}`).want(http.StatusUnprocessableEntity, "invalid")
	}
	admin("POST", "/fabrics/lab/tenants/red/service-accounts", `{"name":"ci","role":"tenant-admin"}`).want(http.StatusCreated)
	admin("POST", "/fabrics/prod/tenants/green/service-accounts", `{"name":"ci","role":"tenant-admin"}`).want(http.StatusNotFound, "not-found")
	// It grants roles on its fabric, up to its own.
	admin("PUT", "/fabrics/lab/members/eve", `{"role":"operator"}`).want(http.StatusOK)
	admin("PUT", "/fabrics/prod/members/eve", `{"role":"operator"}`).want(http.StatusNotFound, "not-found")
	admin("PUT", "/fabrics/prod/members/lab-admin", `{"role":"auditor"}`).want(http.StatusNotFound, "not-found")
	admin("DELETE", "/fabrics/prod/members/prod-admin", "").want(http.StatusNotFound, "not-found")
	admin("PUT", "/fabrics/lab/members/eve", `{"role":"tenant-admin"}`).want(http.StatusUnprocessableEntity, "invalid")
	admin("PUT", "/fabrics/lab/members/operator", `{"role":"auditor"}`).want(http.StatusUnprocessableEntity, "invalid")
	admin("DELETE", "/fabrics/lab/members/fabric-admin", "").want(http.StatusNotFound, "not-found") // its role is on everything
	for _, who := range []string{"lab-operator", "lab-auditor", "red-admin", "operator"} {
		for _, user := range []string{who, "eve"} {
			w.ask(w.tokens[who], "PUT", "/api/v1/fabrics/lab/members/"+user, `{"role":"fabric-admin"}`).want(http.StatusForbidden, "forbidden")
		}
		w.ask(w.tokens[who], "DELETE", "/api/v1/fabrics/lab/members/lab-admin", "").want(http.StatusForbidden, "forbidden")
	}
	var members []string
	for _, m := range decode[gen.MemberList](admin("GET", "/fabrics/lab/members", "").want(http.StatusOK)).Items {
		members = append(members, m.User+" "+string(m.Role))
	}
	if got := strings.Join(members, ", "); got != "eve operator, lab-admin fabric-admin, lab-an-operator operator, lab-auditor auditor, lab-feeder feeder" {
		t.Errorf("members of lab are %s", got)
	}
	admin("DELETE", "/fabrics/lab/members/eve", "").want(http.StatusNoContent)
	if a, err := w.Service.User(t.Context(), "eve"); err != nil || len(a.Memberships) != 1 || a.Memberships[0].Role != tenants.RoleTenantAdmin {
		t.Errorf("then eve has the roles %+v, %v", a.Memberships, err)
	}
	me := decode[gen.Me](admin("GET", "/me", "").want(http.StatusOK))
	if len(me.Roles) != 1 || me.Roles[0].Role != "fabric-admin" || deref(me.Roles[0].Fabric) != "lab" {
		t.Errorf("after all that its roles are %+v", me.Roles)
	}
	for _, p := range me.Permissions {
		if p.Domain != "lab" || slices.Contains([]string{"user", "settings", "audit", "simulation", "calibration", "silence", "diagnostics"}, p.Object) {
			t.Errorf("it may %v %s in %s", p.Actions, p.Object, p.Domain)
		}
	}
}

// checks that the administrator of one fabric cannot point it at the devices of another.
func TestFabricSourceNeedsAServiceWideRole(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	put := func(who, body string) answer {
		return w.ask(w.tokens[who], "PUT", "/api/v1/fabrics/lab", body, "If-Match", "*")
	}
	for _, who := range []string{"lab-admin", "lab-operator"} {
		for _, source := range []string{"ibsim:unix:elsewhere", "file:/etc/passwd", "umad:mlx5_0:1"} {
			put(who, `{"source":"`+source+`"}`).want(http.StatusForbidden, "forbidden")
		}
		put(who, `{"source":"`+controltest.Source+`","time_scale":2,"counters":"keep"}`).want(http.StatusOK)
	}
	if f, err := w.Service.Fabric(t.Context(), "lab"); err != nil || f.Source != controltest.Source || f.TimeScale != 2 || f.Counters != control.CountersKeep {
		t.Errorf("the fabric is %+v, %v", f, err)
	}
	put("operator", `{"source":"ibsim:unix:moved"}`).want(http.StatusOK)
}

// TestAServiceAccountHasItsRoleOnOneFabric covers a service account from its first token to the deletion of its fabric.
func TestAServiceAccountHasItsRoleOnOneFabric(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	admin := func(method, path, body string) answer {
		return w.ask(w.tokens["fabric-admin"], method, "/api/v1"+path, body, "If-Match", "*")
	}
	admin("POST", "/service-accounts", `{"name":"ci","role":"operator","fabric":"nix"}`).want(http.StatusUnprocessableEntity, "invalid")
	admin("POST", "/service-accounts", `{"name":"ci","role":"tenant-admin","fabric":"lab"}`).want(http.StatusUnprocessableEntity, "invalid")
	admin("POST", "/service-accounts", `{"name":"ci","role":"operator","fabric":""}`).want(http.StatusUnprocessableEntity, "invalid")
	made := decode[gen.ServiceAccount](admin("POST", "/service-accounts", `{"name":"ci","role":"operator","fabric":"lab"}`).want(http.StatusCreated))
	list := decode[gen.ServiceAccountList](admin("GET", "/service-accounts", "").want(http.StatusOK)).Items
	if deref(made.Fabric) != "lab" || len(list) != 1 || deref(list[0].Fabric) != "lab" || list[0].Role != "operator" {
		t.Errorf("the account is %+v, the list %+v", made, list)
	}
	ci := decode[gen.NewToken](admin("POST", "/service-accounts/ci/tokens", `{"name":"t"}`).want(http.StatusCreated)).Secret
	ask := func(method, path, body string) answer { return w.ask(ci, method, "/api/v1"+path, body) }
	ask("GET", "/fabrics/lab/rollouts", "").want(http.StatusOK)
	ask("GET", "/fabrics/prod/rollouts", "").want(http.StatusNotFound, "not-found")
	ask("GET", "/simulations", "").want(http.StatusForbidden, "forbidden")
	ask("PUT", "/fabrics/lab/tenants/red/members/eve", `{"role":"tenant-admin"}`).want(http.StatusForbidden, "forbidden")
	// The fabric is created again under its name: earlier roles on it have ended.
	admin("DELETE", "/fabrics/lab", "").want(http.StatusNoContent)
	admin("POST", "/fabrics", `{"name":"lab","source":"`+controltest.Source+`"}`).want(http.StatusCreated)
	ask("GET", "/me", "").want(http.StatusUnauthorized, "unauthorized")
	if list := decode[gen.ServiceAccountList](admin("GET", "/service-accounts", "").want(http.StatusOK)).Items; len(list) != 0 {
		t.Errorf("accounts are left: %+v", list)
	}
	for _, who := range []string{"lab-admin", "lab-operator", "lab-auditor", "red-admin"} {
		if me := decode[gen.Me](w.ask(w.tokens[who], "GET", "/api/v1/me", "").want(http.StatusOK)); len(me.Roles) != 0 || len(me.Permissions) != 0 {
			t.Errorf("%s still has %+v", who, me.Roles)
		}
		w.ask(w.tokens[who], "GET", "/api/v1/fabrics/lab", "").want(http.StatusNotFound, "not-found")
	}
	w.ask(w.tokens["prod-admin"], "GET", "/api/v1/fabrics/prod/rollouts", "").want(http.StatusOK)
}

// TestFabricAdministratorDoesNotCountAsLastAdministrator extends TestTheLastAdministratorStays.
func TestFabricAdministratorDoesNotCountAsLastAdministrator(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	b.signIn("ada", adaPassword).want(http.StatusOK)
	b.do("POST", "/fabrics", `{"name":"lab","source":"`+controltest.Source+`"}`).want(http.StatusCreated)
	b.do("POST", "/users", `{"name":"eve","password":"a long enough word","roles":[{"role":"fabric-admin","fabric":"lab"}]}`).want(http.StatusCreated)
	b.do("PUT", "/users/ada", `{"roles":[{"role":"fabric-admin","fabric":"lab"}]}`, "If-Match", "*").want(http.StatusConflict, "last-admin")
	b.do("DELETE", "/users/ada", "", "If-Match", "*").want(http.StatusConflict, "last-admin")
	for _, bad := range []string{`{"role":"operator","fabric":"nix"}`, `{"role":"operator","fabric":"lab","tenant":"red"}`, `{"role":"tenant-admin","fabric":"lab"}`, `{"role":"operator","tenant":"red"}`, `{"role":"operator","fabric":""}`} {
		b.do("POST", "/users", `{"name":"bad","roles":[`+bad+`]}`).want(http.StatusUnprocessableEntity, "invalid")
	}
	b.do("POST", "/users", `{"name":"bad","roles":[{"role":"operator","fabric":"lab"},{"role":"auditor","fabric":"lab"}]}`).want(http.StatusUnprocessableEntity, "invalid")
	b.do("POST", "/users", `{"name":"many","roles":[{"role":"auditor"},{"role":"operator","fabric":"lab"}]}`).want(http.StatusCreated)
}
