package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"fairlane/api/client"
)

func TestCheckSaysWhatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status   int
		body     string
		want     string // empty: no error
		problem  bool
		badInput bool
	}{
		"success":               {200, `{}`, "", false, false},
		"success without body":  {204, ``, "", false, false},
		"a redirect":            {302, ``, "the server returned 302 Found in a form that Fairlane does not use: check the URL", false, false},
		"another program":       {502, `<html>`, "the server returned 502 Bad Gateway in a form that Fairlane does not use: check the URL", false, false},
		"JSON without a code":   {404, `{"title":"x"}`, "the server returned 404 Not Found in a form that Fairlane does not use: check the URL", false, false},
		"not found":             {404, `{"code":"not-found","title":"Not found","detail":"tenant \"glod\" not found"}`, `tenant "glod" not found`, true, false},
		"not found, no detail":  {404, `{"code":"not-found","title":"Not found"}`, "Not found", true, false},
		"a conflict":            {409, `{"code":"conflict","title":"Conflict","detail":"it was changed"}`, "Conflict: it was changed", true, false},
		"fields of a body":      {422, `{"code":"invalid","title":"Invalid request","detail":"two faults","errors":[{"pointer":"/weight","in":"body","detail":"found -1"},{"in":"query","detail":"unknown"}]}`, "Invalid request:\n  /weight: found -1\n  query: unknown", true, true},
		"invalid, without any":  {400, `{"code":"invalid","title":"Invalid request","detail":"no JSON"}`, "Invalid request: no JSON", true, true},
		"too large":             {413, `{"code":"too-large","title":"Too large"}`, "Too large", true, true},
		"status of the answer":  {415, `{"code":"media-type","title":"Media type","status":200}`, "Media type", true, true},
		"a fault of the server": {500, `{"code":"internal","title":"Internal error"}`, "Internal error", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := client.Check(c.status, []byte(c.body))
			if c.want == "" {
				if err != nil {
					t.Errorf("error %v, want none", err)
				}
				return
			}
			var p *client.ProblemError
			if err == nil || err.Error() != c.want || errors.As(err, &p) != c.problem {
				t.Fatalf("error %T %v, want %q, a problem: %t", err, err, c.want, c.problem)
			}
			if p != nil && (p.BadInput() != c.badInput || p.Status != c.status) {
				t.Errorf("status %d, bad input %t; want %d, %t", p.Status, p.BadInput(), c.status, c.badInput)
			}
		})
	}
}

func TestTheTokenIsSentAndTheBaseMayEndInASlash(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ token, end, want string }{
		"with a token":  {"secret", "", "Bearer secret"},
		"with a slash":  {"secret", "/", "Bearer secret"},
		"without token": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var path, sent string
			srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				path, sent = r.URL.Path, r.Header.Get("Authorization")
			}))
			t.Cleanup(srv.Close)
			api, err := client.New(srv.URL+c.end, c.token, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := api.GetHealthWithResponse(t.Context()); err != nil || sent != c.want || path != "/api/v1/health" {
				t.Errorf("asked %s with %q, %v; want /api/v1/health with %q", path, sent, err, c.want)
			}
		})
	}
}
