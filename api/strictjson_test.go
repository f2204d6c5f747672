package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fairlane/api/gen"
	"fairlane/service/control"
	"fairlane/service/control/usecases"
)

// TestMediaTypesAreComparedWithoutRegardToCase sends the same bad and good body under several spellings of a media type:
// none of them bypasses the checks of the body.
func TestMediaTypesAreComparedWithoutRegardToCase(t *testing.T) {
	t.Parallel()
	r := managed(t)
	made := 0
	for spelling, taken := range map[string]bool{
		"application/json": true, "Application/JSON": true, "APPLICATION/JSON; CHARSET=UTF-8": true, " application/json ;charset=\"utf-8\"": true,
		"application/json;charset=utf-16": false, "application/json;charset": false, "application/jsonx": false, "application/merge-patch+json": false,
		"text/plain": false, "application/json, text/plain": false, "application": false, ";": false,
	} {
		for _, path := range []string{"/sign-in", "/fabrics/lab/tenants"} {
			want, code := 415, "unsupported-media-type"
			if taken {
				want, code = 400, "malformed-body"
			}
			a := r.call("POST", path, `{"name":"a\u0000","password":"x","weight":1}`, "Content-Type", spelling)
			if p := decode[gen.Problem](a); a.status != want || p.Code != code {
				t.Errorf("%s as %q: %d %s, want %d %s", path, spelling, a.status, a.body, want, code)
			}
		}
		if taken {
			made++
			r.call("POST", "/fabrics/lab/tenants", fmt.Sprintf(`{"name":"t%d","weight":1}`, made), "Content-Type", spelling).want(201)
		}
	}
	two := newRequest(t, "POST", "/api/v1/fabrics/lab/tenants", `{"name":"a","weight":1}`, bearer(r.token)...)
	two.Header.Add("Content-Type", "text/plain")
	serve(t, r.server, two).want(415, "unsupported-media-type")
}

func TestAmbiguousTextIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct{ detail, pointer string }{
		`{"a":"x\u0000"}`:                           {"has the character 0 at line 1, column 8 (byte 7)", "/a"},
		`{"a":{"b/c":[1,"\uD800"]}}`:                {"has half of a surrogate pair at line 1, column 17 (byte 16)", "/a/b~1c/1"},
		`{"a":"\uDC00\uD800"}`:                      {"half of a surrogate pair", "/a"},
		`["\ud83d\u0041"]`:                          {"half of a surrogate pair", "/0"},
		`["\ud83dX"]`:                               {"half of a surrogate pair", "/0"},
		`{"\udfff":1}`:                              {"half of a surrogate pair", "/\uFFFD"},
		"{\"a\":1,\n \"b\":[{},{\"c\":1,\"c\":2}]}": {`has the field "c" twice at line 2, column 17 (byte 24)`, "/b/1/c"},
		`{"a":1,"\u0061":2}`:                        {`has the field "a" twice`, "/a"},
		`{"\ud83d\ude00":1,"😀":2}`:                  {`twice`, "/😀"},
		`["\ud83d\ude00"]`:                          {},
		`{"a":"\\u0000\\ud800","b":{"a":1}}`:        {},
		`"\uFFFD"`:                                  {},
	} {
		err := checkJSON([]byte(body))
		if want.detail == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		var p *problemError
		if !errors.As(err, &p) || p.code != "malformed-body" || !strings.Contains(p.said.String(), want.detail) || len(p.fields) != 1 || p.fields[0].Pointer != want.pointer {
			t.Errorf("%s: %+v, want %q of %q", body, p, want.detail, want.pointer)
		}
	}
}

// TestInvalidTextInAURLIsRejected sends the character 0 and broken UTF-8 in paths and queries, also of streams.
func TestInvalidTextInAURLIsRejected(t *testing.T) {
	t.Parallel()
	r := managed(t)
	for _, path := range []string{
		"/fabrics/a%00b", "/fabrics/lab/tenants/%ed%a0%80", "/audit?actor=%00", "/audit?object=%ff", "/audit?a%00=b", "/audit?object=%ED%B0%80",
		"/fabrics/lab/links?node=x%00", "/fabrics/lab/events/stream?rollout=%00",
	} {
		a := r.call("GET", path, "").want(400, "malformed-request")
		if p := decode[gen.Problem](a); len(p.Errors) != 1 {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	r.call("GET", "/audit?object=%C3%A9%EF%BF%BD", "").want(200)
}

// failing is a store that fails with an error of neither the database nor the request, as a bug does, or is slow.
type failing struct {
	control.Store

	on   bool
	wait time.Duration // before every read
}

func (s *failing) View(ctx context.Context, f func(control.Repos) error) error {
	time.Sleep(s.wait)
	if s.on {
		return errors.New("unexpected text in a column")
	}
	return s.Store.View(ctx, f)
}

// TestFaultsCountAgainstTheirCaller makes every read of the store fail. A caller is blocked after some requests, by
// address when it is unknown; other operations and other callers are not.
func TestFaultsCountAgainstTheirCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := &failing{Store: r.Store}
	d := r.deps()
	d.Store = s
	service, err := usecases.New(d)
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(service, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.on = true
	ask := func(addr, path string) answer {
		req := newRequest(t, "POST", "/api/v1"+path, `{"name":"ada","password":"a wrong word"}`)
		req.RemoteAddr = addr
		return serve(t, server, req)
	}
	const bound = 25
	faults := 0
	for range bound {
		a := ask("192.0.2.1:1000", "/sign-in")
		if a.status == http.StatusInternalServerError {
			faults++
			continue
		}
		if a.want(429, "locked").header.Get("Retry-After") == "" {
			t.Error("locked without Retry-After")
		}
	}
	if faults == 0 || faults > 10 {
		t.Errorf("%d of %d requests got as far as a fault, want at most 10", faults, bound)
	}
	ask("192.0.2.2:1000", "/sign-in").want(500, "internal")
	s.on = false
	ask("192.0.2.2:1000", "/sign-in").want(401, "sign-in-refused")
}

// FuzzCheckJSON compares the check with the decoder of the standard library: an accepted body decodes to text without the
// character 0, loses nothing, and has no duplicate field; a rejected one has a position inside the body.
func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, `{"a":1,"a":2}`, `{"a":"\u0000"}`, `"\ud800"`, `"\ud83d\ude00"`, `{"a":[{"b":1,"\u0062":2}]}`, `[1,"x",{"":{}},[]]`, "\xff", `{"a"`, `"\\u0000"`, "\x00",
		strings.Repeat("[", 40) + strings.Repeat("]", 40),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		err := checkJSON(body)
		if err == nil {
			if reason := ambiguous(body); reason != "" {
				t.Fatalf("%q passes: %s", body, reason)
			}
			return
		}
		var p *problemError
		if !errors.As(err, &p) || p.code != "malformed-body" || !utf8.ValidString(p.said.String()) {
			t.Fatalf("%q: %v", body, err)
		}
		if json.Valid(body) && utf8.Valid(body) && !strings.Contains(p.said.String(), "deep") && ambiguous(body) == "" {
			t.Fatalf("%q is refused: %v", body, err)
		}
	})
}

// ambiguous returns the fault of a body, found by decoding it token by token; "" without one.
func ambiguous(body []byte) string {
	if !json.Valid(body) || !utf8.Valid(body) {
		return "no JSON in UTF-8"
	}
	// A text that decodes to U+FFFD without containing it, literal or escaped, had half of a pair.
	given := bytes.Count(body, []byte("\uFFFD")) + bytes.Count(bytes.ToLower(body), []byte(`\ufffd`))
	type frame struct {
		fields map[string]bool
		key    bool
	}
	var open []frame
	found := 0
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		token, err := d.Token()
		if err != nil {
			break
		}
		in := len(open) - 1
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				if in >= 0 {
					open[in].key = open[in].fields != nil
				}
				open = append(open, frame{})
				if v == '{' {
					open[len(open)-1] = frame{map[string]bool{}, true}
				}
			default:
				open = open[:in]
			}
			continue
		case string:
			if strings.ContainsRune(v, 0) {
				return "the character 0"
			}
			found += strings.Count(v, "\uFFFD")
			if in >= 0 && open[in].key {
				if open[in].fields[v] {
					return "twice " + v
				}
				open[in].fields[v], open[in].key = true, false
				continue
			}
		}
		if in >= 0 {
			open[in].key = open[in].fields != nil
		}
	}
	if found > given {
		return "half of a surrogate pair"
	}
	return ""
}
