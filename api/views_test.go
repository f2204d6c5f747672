package api

import (
	"slices"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/service/control"
)

// TestAnswersForPagesKeepToTheScopesOfAToken checks the parts whose object the rule of an operation does not name.
func TestAnswersForPagesKeepToTheScopesOfAToken(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	overview := func(token string) gen.FabricOverview {
		t.Helper()
		return decode[gen.FabricOverview](w.ask(token, "GET", "/api/v1/fabrics/lab/overview", "").want(200))
	}
	if o := overview(w.tokens["lab-auditor"]); o.LatestEvent == nil || o.Verdict != gen.VerdictNoPlan || o.Tenants != 2 {
		t.Errorf("the auditor's overview is %+v", o)
	}
	narrow := w.person("narrow", "auditor@lab", control.Scope{Object: "share", Action: "read"})
	if o := overview(narrow); o.LatestEvent != nil || len(o.Devices) > 0 {
		t.Errorf("overview within share:read is %+v", o)
	}
	kinds := func(token, q string) string {
		t.Helper()
		var list []string
		for _, x := range decode[gen.SearchAnswer](w.ask(token, "GET", "/api/v1/search?q="+q, "").want(200)).Results {
			list = append(list, string(x.Kind)+" "+x.Name)
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	flows := w.person("flows", "operator@*", control.Scope{Object: "flow", Action: "read"})
	for _, c := range []struct{ who, token, q, want string }{
		{"fabric-admin", w.tokens["fabric-admin"], "red", "tenant red, user red-admin, user red-viewer"},
		{"lab-admin", w.tokens["lab-admin"], "red", "tenant red"},
		{"lab-admin", w.tokens["lab-admin"], "green", ""},
		{"lab-admin", w.tokens["lab-admin"], "h1", "host h1"},
		{"prod-admin", w.tokens["prod-admin"], "h1", ""},
		{"red-admin", w.tokens["red-admin"], "e", "tenant red"},
		{"red-admin", w.tokens["red-admin"], "h1", ""},
		{"red-admin", w.tokens["red-admin"], "lab", "fabric lab"},
		{"nothing", w.tokens["nothing"], "e", ""},
		{"a token without the right", flows, "red", ""},
		{"a token without the right", flows, "lab", ""},
	} {
		if got := kinds(c.token, c.q); got != c.want {
			t.Errorf("%s finds %q for %q, want %q", c.who, got, c.q, c.want)
		}
	}
	for _, path := range []string{"/search", "/search?q=", "/search?q=" + strings.Repeat("x", 101), "/search?q=x&limit=51", "/fabrics/lab/path?src=h1&dst=nowhere", "/fabrics/lab/path?src=h1"} {
		w.ask(w.tokens["fabric-admin"], "GET", "/api/v1"+path, "").want(422, "invalid")
	}
	w.ask(w.tokens["fabric-admin"], "GET", "/api/v1/fabrics/lab/map?expand=pod:none", "").want(404, "not-found")
}
