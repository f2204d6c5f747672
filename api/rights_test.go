package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/api/gen"
	"fairlane/internal/testkit/goldentest"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/service/control/tenancy"
	"fairlane/tenants"
)

// people are the columns of the matrix: who has which role. The fabric is lab with tenants red
// and blue; the other fabric, prod, has the tenant green.
func people() []struct{ name, grant string } {
	return []struct{ name, grant string }{
		{"fabric-admin", "fabric-admin@*"},
		{"operator", "operator@*"},
		{"auditor", "auditor@*"},
		{"lab-admin", "fabric-admin@lab"},
		{"lab-operator", "operator@lab"},
		{"lab-auditor", "auditor@lab"},
		{"lab-feeder", "feeder@lab"},
		{"prod-admin", "fabric-admin@prod"},
		{"red-admin", "tenant-admin@lab/red"},
		{"red-viewer", "tenant-viewer@lab/red"},
		{"blue-admin", "tenant-admin@lab/blue"},
		{"green-admin", "tenant-admin@prod/green"},
		{"nothing", ""},
		{"anonymous", "-"},
	}
}

// rightsRig is a server with two fabrics and, for each kind of user, one user with a token.
type rightsRig struct {
	*rig
	server *httptest.Server
	tokens map[string]string
}

func newRightsRig(t testing.TB) *rightsRig {
	t.Helper()
	r := managed(t)
	ctx := t.Context()
	_, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "prod", Source: "ibsim:unix:elsewhere"})
	if err == nil {
		_, err = r.Service.CreateTenant(ctx, "prod", tenancy.TenantInput{Name: "green", Weight: 1000})
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &rightsRig{rig: r, server: httptest.NewServer(r.server), tokens: map[string]string{"anonymous": ""}}
	t.Cleanup(w.server.Close)
	for _, p := range people() {
		if p.grant != "-" {
			w.tokens[p.name] = w.person(strings.Replace(p.name, control.MaskedActor, "an-operator", 1), p.grant) // no user is called operator
		}
	}
	return w
}

// person creates a user with a role and returns a token of that user.
func (w *rightsRig) person(name, grant string, scopes ...control.Scope) string {
	w.t.Helper()
	in := identity.UserInput{Name: name}
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
	text, _, err := w.Service.CreateToken(w.t.Context(), a.Ref(), identity.TokenInput{Name: "test", Scopes: scopes})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// ask sends a request over the network and returns the answer; for a stream, only its start.
func (w *rightsRig) ask(token, method, path, body string, header ...string) answer {
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
	setPairs(req.Header, header)
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

func TestEveryOperationHasARuleThatFitsItsPath(t *testing.T) {
	t.Parallel()
	s := parsed(t)
	open := []string{}
	for _, o := range operationsOf(s.doc) {
		if _, ok, err := ruleOf(o.Operation); err != nil || !ok {
			t.Errorf("%s has no rule in %s: %v", o, rightsExtension, err)
		}
		inTenant := strings.Contains(o.path, "/{fabric}/tenants/{tenant}")
		switch o.rule.Domain {
		case reachFabric:
			if !strings.Contains(o.path, "/{fabric}") || inTenant {
				t.Errorf("%s %s wants a right on a fabric that its path does not name, or on that of a tenant", o.method, o.path)
			}
		case reachTenant:
			if !inTenant {
				t.Errorf("%s %s wants a right in a tenant that its path does not name", o.method, o.path)
			}
		case reachOwn:
			if inTenant || o.method != http.MethodGet && !byForm(o) {
				t.Errorf("%s %s is cut to the caller's tenants: only lists can be", o.method, o.path)
			}
		case reachPublic:
			open = append(open, o.OperationID)
		}
		if o.rule.Or != nil && o.OperationID != "startRollout" {
			t.Errorf("%s has an alternative right: its use case must limit what that allows, as that of startRollout does", o)
		}
		if safe(o.method) && o.rule.Action == "write" || !safe(o.method) && o.rule.Action == "read" && o.OperationID != "whatIf" && o.OperationID != "admitTenant" && !byForm(o) {
			t.Errorf("%s %s takes the right to %s", o.method, o.path, o.rule.Action)
		}
	}
	slices.Sort(open)
	want := []string{"finishOidc", "getHealth", "getReady", "getVersion", "listSignInMethods", "signIn", "startOidc"}
	if !slices.Equal(open, want) {
		t.Errorf("public operations are %v, want %v: each must be safe for anybody on the network", open, want)
	}
}

// byForm reports whether an operation is a query sent as a form: a GET whose parameters are too long for an address.
func byForm(o operation) bool { return strings.HasSuffix(o.OperationID, "ByForm") }

func TestWrongRuleIsRejectedAndMissingRuleIsSealed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"object":"planet","action":"read","domain":"all"}`, `{"object":"plan","action":"eat","domain":"all"}`, `{"object":"plan","action":"read","domain":"here"}`,
		`{"object":"plan","action":"read","domain":"public"}`, `{"domain":"all"}`, `{"object":"plan","action":"read","domain":"self"}`, `7`, `{}`,
		`{"object":"plan","action":"read","domain":"all","or":{"object":"planet","action":"read"}}`,
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

// filled replaces a path's parameters: red's objects on lab exist, the others do not.
func filled(path, fabric, tenant string) string {
	path = strings.NewReplacer("{fabric}", fabric, "{tenant}", tenant, "{plan}", "abcdef", "{rollout}", "99", "{user}", "nobody",
		"{account}", "nobody", "{token}", "nothing", "{class}", "nothing", "{port}", "h9", "{attachment}", "h9").Replace(path)
	for strings.Contains(path, "{") {
		open, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		path = path[:open] + "1" + path[end+1:]
	}
	return path
}

// verdict returns the result of the authorisation: "+" when it passed.
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
	w := newRightsRig(t)
	var b strings.Builder
	line := func(first string, column func(name string) string) {
		row := fmt.Sprintf("%-95s", first)
		for _, p := range people() {
			row += fmt.Sprintf(" %-12s", column(p.name))
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	line("operation, with fabric lab and tenant red", func(name string) string { return name })
	for _, o := range operationsOf(w.rig.server.spec.doc) {
		if o.OperationID == "discoverFabric" || o.OperationID == "signOut" {
			w.Devices.Break(nil)
		}
		line(o.method+" "+o.path, func(name string) string {
			a := w.ask(w.tokens[name], o.method, filled(o.path, "lab", "red"), "")
			if a.status >= 500 && a.status != http.StatusBadGateway {
				t.Errorf("%s %s as %s is answered %d: %s", o.method, o.path, name, a.status, a.body)
			}
			return verdict(a)
		})
	}
	goldentest.Compare(t, "testdata/rights.golden", []byte(b.String()))
}

// anonymized returns an answer without the parts that differ in every answer.
func anonymized(a answer, names ...string) string {
	body := string(a.body)
	var p gen.Problem
	if json.Unmarshal(a.body, &p) == nil && p.RequestID != "" {
		body = strings.ReplaceAll(body, p.RequestID, "ID")
	}
	for _, n := range names {
		body = strings.ReplaceAll(body, n, "NAME")
		body = strings.ReplaceAll(body, `"name":"`+strings.Trim(n, `\"`)+`"`, `"name":"NAME"`) // among the values of a sentence
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

// TestTheWrongTenantSeesNothing sends every GET as a caller of another tenant, of another fabric and without a tenant:
// red's objects and missing ones are answered identically to the byte, and no answer contains a word of red's.
func TestTheWrongTenantSeesNothing(t *testing.T) {
	t.Parallel()
	w := newRightsRig(t)
	secrets := []string{`"red"`, "0x8001", "red-admin", "red-viewer"}
	for _, o := range operationsOf(w.rig.server.spec.doc) {
		if o.method != http.MethodGet || o.rule.Domain == reachPublic || o.rule.Domain == reachSelf {
			continue
		}
		for _, who := range []string{"blue-admin", "green-admin", "prod-admin", "nothing"} {
			a := w.ask(w.tokens[who], o.method, filled(o.path, "lab", "red"), "")
			if a.status == http.StatusOK && strings.Contains(o.path, "{tenant}") {
				t.Errorf("GET %s of red is answered to %s: %s", o.path, who, a.body)
			}
			for _, s := range secrets {
				if own := strings.Contains(o.path, "{tenant}") && s == `"red"`; !own && bytes.Contains(a.body, []byte(s)) {
					t.Errorf("GET %s shows %s the name %s: %s", o.path, who, s, a.body)
				}
			}
			if strings.Contains(o.path, "{tenant}") {
				none := w.ask(w.tokens[who], o.method, filled(o.path, "lab", "nix"), "")
				if got, want := anonymized(a, `\"red\"`, "/red"), anonymized(none, `\"nix\"`, "/nix"); got != want {
					t.Errorf("GET %s lets %s distinguish red from an unknown tenant:\n%s\n%s", o.path, who, got, want)
				}
			}
			if strings.Contains(o.path, "{fabric}") && who != "blue-admin" {
				none := w.ask(w.tokens[who], o.method, filled(o.path, "nix", "red"), "")
				if got, want := anonymized(a, `\"lab\"`, "/lab/"), anonymized(none, `\"nix\"`, "/nix/"); strings.ReplaceAll(got, "/lab\"", "") != strings.ReplaceAll(want, "/nix\"", "") {
					t.Errorf("GET %s lets %s distinguish lab from an unknown fabric:\n%s\n%s", o.path, who, got, want)
				}
			}
		}
	}
}
