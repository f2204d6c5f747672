package api

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/api/gen"
	"fairlane/internal/control"
	"fairlane/tenants"
)

var updateRights = flag.Bool("update-rights", false, "rewrite testdata/rights.golden")

// people are the columns of the matrix: who has which role. The fabric is lab with tenants red
// and blue; the other fabric, prod, has the tenant green.
func people() []struct{ name, grant string } {
	return []struct{ name, grant string }{
		{"fabric-admin", "fabric-admin@*"},
		{"operator", "operator@*"},
		{"auditor", "auditor@*"},
		{"red-admin", "tenant-admin@lab/red"},
		{"red-viewer", "tenant-viewer@lab/red"},
		{"blue-admin", "tenant-admin@lab/blue"},
		{"green-admin", "tenant-admin@prod/green"},
		{"nothing", ""},
		{"anonymous", "-"},
	}
}

// town is a server with two fabrics and one user of each kind, with a token each.
type town struct {
	*rig
	server *httptest.Server
	tokens map[string]string
}

func newTown(t testing.TB) *town {
	t.Helper()
	r := newRig(t)
	r.Lab(t)
	ctx := t.Context()
	_, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "prod", Source: "ibsim:unix:elsewhere"})
	if err == nil {
		_, err = r.Service.CreateTenant(ctx, "prod", control.TenantInput{Name: "green", Weight: 1000})
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &town{rig: r, server: httptest.NewServer(r.server), tokens: map[string]string{"anonymous": ""}}
	t.Cleanup(w.server.Close)
	for _, p := range people() {
		if p.grant != "-" {
			w.tokens[p.name] = w.person(p.name, p.grant)
		}
	}
	return w
}

// person makes a user with a role and returns a token of its own.
func (w *town) person(name, grant string, scopes ...control.Scope) string {
	w.t.Helper()
	in := control.UserInput{Name: name}
	if grant != "" {
		g, err := tenants.ParseGrant(grant)
		if err != nil {
			w.t.Fatal(err)
		}
		in.Grants = []tenants.Grant{g}
	}
	a, err := w.Service.CreateUser(w.t.Context(), in)
	if err != nil {
		w.t.Fatal(err)
	}
	text, _, err := w.Service.CreateToken(w.t.Context(), a.Ref(), control.TokenInput{Name: "test", Scopes: scopes})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// ask sends a request over the network and returns the answer; of a stream only its beginning.
func (w *town) ask(token, method, path, body string, header ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	a := answer{t: w.t, status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		if a.body, err = io.ReadAll(resp.Body); err != nil {
			w.t.Fatal(err)
		}
	}
	return a
}

// route is one operation of the contract.
type route struct {
	method, path string
	op           *openapi3.Operation
	rule         rule
}

func ruledRoutes(t testing.TB, s *spec) []route {
	t.Helper()
	var list []route
	for path, item := range s.doc.Paths.Map() {
		for method, op := range item.Operations() {
			r, ok, err := ruleOf(op)
			if err != nil || !ok {
				t.Errorf("operation %s has no rule in %s: %v", op.OperationID, rightsExtension, err)
			}
			list = append(list, route{method, path, op, r})
		}
	}
	slices.SortFunc(list, func(a, b route) int { return strings.Compare(a.path+" "+a.method, b.path+" "+b.method) })
	return list
}

func TestEveryOperationHasARuleThatFitsItsPath(t *testing.T) {
	t.Parallel()
	s, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	public := []string{}
	for _, o := range ruledRoutes(t, s) {
		inTenant := strings.Contains(o.path, "/{fabric}/tenants/{tenant}")
		switch o.rule.Domain {
		case reachTenant:
			if !inTenant {
				t.Errorf("%s %s wants a right in a tenant that its path does not name", o.method, o.path)
			}
		case reachOwn:
			if inTenant || o.method != http.MethodGet {
				t.Errorf("%s %s is cut to the caller's tenants: only lists can be", o.method, o.path)
			}
		case reachPublic:
			public = append(public, o.op.OperationID)
		}
		if safe(o.method) && o.rule.Action == "write" || !safe(o.method) && o.rule.Action == "read" && o.op.OperationID != "whatIf" {
			t.Errorf("%s %s takes the right to %s", o.method, o.path, o.rule.Action)
		}
	}
	slices.Sort(public)
	want := []string{"finishOidc", "getHealth", "getReady", "getVersion", "listSignInMethods", "signIn", "startOidc"}
	if !slices.Equal(public, want) {
		t.Errorf("public operations are %v, want %v: each must be safe for anybody on the network", public, want)
	}
}

func TestAWrongRuleIsRefusedAndAMissingOneIsSealed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"object":"planet","action":"read","domain":"all"}`, `{"object":"plan","action":"eat","domain":"all"}`, `{"object":"plan","action":"read","domain":"here"}`,
		`{"object":"plan","action":"read","domain":"public"}`, `{"domain":"all"}`, `{"object":"plan","action":"read","domain":"self"}`, `7`, `{}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if r, _, err := ruleOf(&openapi3.Operation{Extensions: map[string]any{rightsExtension: value}}); err == nil || r != sealed() {
			t.Errorf("rule %s is taken as %+v: %v", text, r, err)
		}
	}
	if r, ok, err := ruleOf(&openapi3.Operation{}); ok || err != nil || r != sealed() {
		t.Errorf("an operation without a rule has %+v, %v, %v", r, ok, err)
	}
}

// filled replaces a path's parameters: what belongs to red on lab exists, the rest does not.
func filled(path, fabric, tenant string) string {
	path = strings.NewReplacer("{fabric}", fabric, "{tenant}", tenant, "{plan}", "abcdef", "{rollout}", "99", "{user}", "nobody",
		"{account}", "nobody", "{token}", "nothing", "{class}", "nothing", "{port}", "h9", "{attachment}", "h9").Replace(path)
	for strings.Contains(path, "{") {
		open, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:open] + "1" + path[end+1:]
	}
	return path
}

// verdict is what a caller hears of its rights: "+" when it got past them.
func verdict(a answer) string {
	var p gen.Problem
	if a.status < 400 || json.Unmarshal(a.body, &p) != nil {
		return "+"
	}
	switch {
	case a.status == http.StatusUnauthorized:
		return "401"
	case p.Code == "forbidden":
		return "403"
	case p.Code == "not-found" && (strings.HasPrefix(deref(p.Detail), `fabric "`) || strings.HasPrefix(deref(p.Detail), `tenant "`)):
		return "404"
	}
	return "+"
}

func TestRoleRouteMatrix(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	var b strings.Builder
	fmt.Fprintf(&b, "%-95s", "operation, with fabric lab and tenant red")
	for _, p := range people() {
		fmt.Fprintf(&b, " %-12s", p.name)
	}
	b.WriteString("\n")
	for _, o := range ruledRoutes(t, w.rig.server.spec) {
		if o.op.OperationID == "discoverFabric" || o.op.OperationID == "signOut" {
			w.Devices.Break(nil)
		}
		fmt.Fprintf(&b, "%-95s", o.method+" "+o.path)
		for _, p := range people() {
			a := w.ask(w.tokens[p.name], o.method, filled(o.path, "lab", "red"), "")
			if a.status >= 500 && a.status != http.StatusBadGateway {
				t.Errorf("%s %s as %s is answered %d: %s", o.method, o.path, p.name, a.status, a.body)
			}
			fmt.Fprintf(&b, " %-12s", verdict(a))
		}
		b.WriteString("\n")
	}
	got := strings.ReplaceAll(b.String(), " \n", "\n")
	for strings.Contains(got, " \n") {
		got = strings.ReplaceAll(got, " \n", "\n")
	}
	if *updateRights {
		if err := os.WriteFile("testdata/rights.golden", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/rights.golden")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("rights changed; when that is meant, rerun with -update-rights and review:\n%s", lineDiff(string(want), got))
	}
}

func lineDiff(want, got string) string {
	var b strings.Builder
	had, has := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, l := range had {
		if !slices.Contains(has, l) {
			b.WriteString("- " + l + "\n")
		}
	}
	for _, l := range has {
		if !slices.Contains(had, l) {
			b.WriteString("+ " + l + "\n")
		}
	}
	return b.String()
}

// anonymized is an answer without what differs in every answer.
func anonymized(a answer, names ...string) string {
	body := string(a.body)
	var p gen.Problem
	if json.Unmarshal(a.body, &p) == nil && p.RequestID != "" {
		body = strings.ReplaceAll(body, p.RequestID, "ID")
	}
	for _, n := range names {
		body = strings.ReplaceAll(body, n, "NAME")
	}
	header := maps.Clone(a.header)
	for _, h := range []string{"Date", "X-Request-Id", "Content-Length", "Traceresponse", "Traceparent"} {
		header.Del(h)
	}
	var lines []string
	for k, v := range header {
		lines = append(lines, k+": "+strings.Join(v, ","))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%d\n%s\n%s", a.status, strings.Join(lines, "\n"), body)
}

// TestTheWrongTenantSeesNothing walks every GET, as those of another tenant, another fabric and no
// tenant: what is red's, and what is not there at all, are answered alike to the byte, and
// no answer holds a word of red's.
func TestTheWrongTenantSeesNothing(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	secrets := []string{`"red"`, "0x8001", "red-admin", "red-viewer"}
	for _, o := range ruledRoutes(t, w.rig.server.spec) {
		if o.method != http.MethodGet || o.rule.Domain == reachPublic || o.rule.Domain == reachSelf {
			continue
		}
		for _, who := range []string{"blue-admin", "green-admin", "nothing"} {
			a := w.ask(w.tokens[who], o.method, filled(o.path, "lab", "red"), "")
			if a.status == http.StatusOK && strings.Contains(o.path, "{tenant}") {
				t.Errorf("GET %s of red is answered to %s: %s", o.path, who, a.body)
			}
			for _, s := range secrets {
				if own := strings.Contains(o.path, "{tenant}") && s == `"red"`; !own && bytes.Contains(a.body, []byte(s)) {
					t.Errorf("GET %s tells %s of %s: %s", o.path, who, s, a.body)
				}
			}
			if strings.Contains(o.path, "{tenant}") {
				none := w.ask(w.tokens[who], o.method, filled(o.path, "lab", "nix"), "")
				if got, want := anonymized(a, `\"red\"`, "/red"), anonymized(none, `\"nix\"`, "/nix"); got != want {
					t.Errorf("GET %s tells %s of red from no tenant:\n%s\n%s", o.path, who, got, want)
				}
			}
			if strings.Contains(o.path, "{fabric}") && who != "blue-admin" {
				none := w.ask(w.tokens[who], o.method, filled(o.path, "nix", "red"), "")
				if got, want := anonymized(a, `\"lab\"`, "/lab/"), anonymized(none, `\"nix\"`, "/nix/"); strings.ReplaceAll(got, "/lab\"", "") != strings.ReplaceAll(want, "/nix\"", "") {
					t.Errorf("GET %s tells %s of lab from no fabric:\n%s\n%s", o.path, who, got, want)
				}
			}
		}
	}
}
