package api

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"fairlane/api/gen"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/series/embedded"
	"fairlane/service/series/embedded/embeddedtest"
	"fairlane/service/series/rules"
	"fairlane/service/store"
)

// openStore opens the real store for a rig.
func openStore(ctx context.Context, path string) (control.Store, io.Closer, error) {
	s, err := store.OpenSQLite(ctx, path, store.Options{})
	return s, s, err
}

// rig is a server with a router that checks every answer against the contract.
type rig struct {
	*controltest.Rig
	t      testing.TB
	server *Server
	router routers.Router
	token  string
	rules  *embedded.Rules // evaluated by tests alone

	mu   sync.Mutex
	seen map[string]bool // operations answered with success
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{Rig: controltest.New(t, openStore), t: t, token: controltest.Token, seen: map[string]bool{}}
	kept := embeddedtest.Open(t, embedded.Options{})
	var err error
	if r.rules, err = kept.NewRules(rules.Groups(), nil); err != nil {
		t.Fatal(err)
	}
	r.Service.Series, r.Service.Rules = kept, r.rules
	if r.server, err = New(r.Service, Options{Version: "1.2.3", Revision: "abc"}); err != nil {
		t.Fatal(err)
	}
	if r.router, err = gorillamux.NewRouter(r.server.spec.doc); err != nil {
		t.Fatal(err)
	}
	return r
}

// deps returns the dependencies of the rig's service, for another one over the same store and devices.
func (r *rig) deps() control.Deps {
	return control.Deps{Store: r.Store, Discoverer: r.Devices, Observer: r.Devices, Meter: r.Devices, Laboratory: r.Devices, Series: r.Service.Series, Rules: r.Service.Rules}
}

// answer is a response with its body read.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte
}

// newRequest returns a request with a JSON body, or none, and with headers in pairs.
func newRequest(t testing.TB, method, target, body string, header ...string) *http.Request {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req := httptest.NewRequestWithContext(context.WithoutCancel(t.Context()), method, target, in)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	setPairs(req.Header, header)
	return req
}

func setPairs(h http.Header, pairs []string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
}

// serve sends a request to a handler and returns the answer.
func serve(t testing.TB, h http.Handler, req *http.Request) answer {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return answer{t, rec.Code, rec.Header(), rec.Body.Bytes()}
}

// bearer returns the header of a token.
func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// call sends a request and fails the test when the answer does not match the contract.
func (r *rig) call(method, path, body string, header ...string) answer {
	r.t.Helper()
	if r.token != "" {
		header = append(bearer(r.token), header...)
	}
	req := newRequest(r.t, method, "/api/v1"+path, body, header...)
	a := serve(r.t, r.server, req)
	r.judge(req, a)
	return a
}

func (r *rig) judge(req *http.Request, a answer) {
	r.t.Helper()
	route, params, err := r.router.FindRoute(req)
	if err != nil {
		return // a path outside the contract
	}
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.status, Header: a.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if err := openapi3filter.ValidateResponse(r.t.Context(), out.SetBodyBytes(a.body)); err != nil {
		r.t.Errorf("%s %s: the answer does not match the contract: %v\n%s", req.Method, req.URL, err, a.body)
	}
	r.judgeProblem(route, a)
	if a.status < 300 {
		r.mu.Lock()
		r.seen[route.Operation.OperationID] = true
		r.mu.Unlock()
	}
}

// judgeProblem checks that the contract lists the problem for the operation.
func (r *rig) judgeProblem(route *routers.Route, a answer) {
	r.t.Helper()
	if a.status < 400 || a.header.Get("Content-Type") != "application/problem+json" {
		return // faults of PromQL have another form
	}
	p := decode[gen.Problem](a)
	codes := slices.Concat(r.server.spec.at(route.Method, route.Path).problems, ambient(), routing())
	if !slices.Contains(codes, p.Code) || kinds()[p.Code].status != a.status {
		r.t.Errorf("%s answers %d %s, which the contract does not list: %s", route.Operation.OperationID, a.status, p.Code, a.body)
	}
}

// want checks the status and, for a problem, its code.
func (a answer) want(status int, code ...string) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status is %d, want %d: %s", a.status, status, a.body)
	}
	if len(code) > 0 {
		if p := decode[gen.Problem](a); p.Code != code[0] || p.Status != status || p.RequestID == "" {
			a.t.Fatalf("problem is %+v, want code %s", p, code[0])
		}
	}
	return a
}

func decode[T any](a answer) (v T) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("decode %s: %v", a.body, err)
	}
	return v
}
