package ufm_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fairlane/subnet/ident"
	"fairlane/subnet/ufm"
	"fairlane/subnet/ufm/ufmtest"
)

func tenant(k ident.PKey, sl ident.SL, ports ...ident.GUID) ufm.Partition {
	p := ufm.Partition{PKey: k, SL: sl, IPoIB: true}
	for _, g := range ports {
		p.Members = append(p.Members, ufm.Member{Port: g, Full: true})
	}
	return p
}

func newServer(t *testing.T) (*ufmtest.Server, *ufm.Client) {
	t.Helper()
	s := ufmtest.New()
	address, h := s.Start(t)
	c, err := ufm.New(ufm.Options{URL: address, Token: ufmtest.Token, HTTP: h})
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

var ignore = cmpopts.IgnoreUnexported(ufm.Partition{})

func TestPlaceAddsAndRemovesPartitions(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	s.Partitions["0x30"] = &ufmtest.Partition{IPoIB: true, SL: 5, MTU: 4, Rate: 10, Members: map[string]string{"00000000000000aa": "limited"}}
	first := []ufm.Partition{tenant(0x10, 1, 7, 9), tenant(0x20, 2, 8)}
	done, err := c.Place(t.Context(), ufm.Placement{Want: first})
	if err != nil || len(done) != 4 {
		t.Fatalf("%v, done %v", err, done)
	}
	foreign := ufm.Partition{PKey: 0x30, SL: 5, IPoIB: true, Members: []ufm.Member{{Port: 0xaa}}}
	own := ufm.Partition{PKey: 0x7fff, IPoIB: true, Members: []ufm.Member{{Port: 0x0002c90300000001, Full: true}}}
	check := func(want ...ufm.Partition) {
		t.Helper()
		got, err := c.Partitions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(append(want, foreign, own), got, ignore); d != "" {
			t.Errorf("partitions differ (-want +got):\n%s", d)
		}
	}
	check(first...)
	if done, err = c.Place(t.Context(), ufm.Placement{Want: first, Before: first}); err != nil || len(done) != 0 {
		t.Errorf("placed again: %v, done %v; want nothing to do", err, done)
	}

	// Another service level, one port added and one removed; one tenant removed.
	second := []ufm.Partition{tenant(0x10, 3, 7, 11)}
	if _, err = c.Place(t.Context(), ufm.Placement{Want: second, Before: first}); err != nil {
		t.Fatal(err)
	}
	check(second...)
	if p := s.Partitions["0x10"]; p.MTU != 2 || p.Rate != 2.5 {
		t.Errorf("limits are now MTU %d, rate %g: they are not ours to change", p.MTU, p.Rate)
	}

	// The reverse change restores the first state.
	if _, err = c.Place(t.Context(), ufm.Placement{Want: first, Before: second}); err != nil {
		t.Fatal(err)
	}
	check(first...)
}

// All changes that add tenants precede those that remove tenants.
func TestAdditionsPrecedeRemovals(t *testing.T) {
	t.Parallel()
	before := []ufm.Partition{tenant(0x10, 1, 7), tenant(0x11, 1, 3)}
	changes, err := ufm.Plan(before, ufm.Placement{Want: []ufm.Partition{tenant(0x10, 2, 8), tenant(0x12, 4, 3)}, Before: before})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []ufm.ChangeKind
	for _, c := range changes {
		kinds = append(kinds, c.Kind)
	}
	want := []ufm.ChangeKind{ufm.SetSL, ufm.Join, ufm.Create, ufm.Join, ufm.Leave, ufm.Leave, ufm.Delete}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Errorf("order of changes (-want +got):\n%s", d)
	}
}

func TestMembersOfOthersStay(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	before := []ufm.Partition{tenant(0x10, 1, 7)}
	if _, err := c.Place(t.Context(), ufm.Placement{Want: before}); err != nil {
		t.Fatal(err)
	}
	s.With(func() { s.Partitions["0x10"].Members["00000000000000bb"] = "full" })
	if _, err := c.Place(t.Context(), ufm.Placement{Before: before}); err != nil {
		t.Fatal(err)
	}
	if p := s.Partitions["0x10"]; p == nil || len(p.Members) != 1 || p.Members["00000000000000bb"] != "full" {
		t.Errorf("the partition is %+v: want only the member of the other manager", p)
	}
}

func TestServiceLevelsThatOthersSetAreAConflict(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	before := []ufm.Partition{tenant(0x10, 1, 7)}
	if _, err := c.Place(t.Context(), ufm.Placement{Want: before}); err != nil {
		t.Fatal(err)
	}
	s.With(func() { s.Partitions["0x10"].SL, s.Log = 9, nil })
	p := ufm.Placement{Want: []ufm.Partition{tenant(0x10, 2, 7), tenant(0x11, 3, 7)}, Before: before}
	done, err := c.Place(t.Context(), p)
	if !errors.Is(err, ufm.ErrConflict) || !strings.Contains(err.Error(), "0x0010 has service level 9, we set 1 and want 2") || len(done) != 0 || len(s.Log) != 1 {
		t.Errorf("%v, done %v, requests %v: want a conflict and nothing written", err, done, s.Log)
	}
	p.Force = true
	if _, err = c.Place(t.Context(), p); err != nil || s.Partitions["0x10"].SL != 2 {
		t.Errorf("forced: %v, service level %d", err, s.Partitions["0x10"].SL)
	}
}

func TestLostChangesAreAnError(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	before := []ufm.Partition{tenant(0x10, 1, 7)}
	if _, err := c.Place(t.Context(), ufm.Placement{Want: before}); err != nil {
		t.Fatal(err)
	}
	s.With(func() { s.Stuck = true })
	_, err := c.Place(t.Context(), ufm.Placement{Want: []ufm.Partition{tenant(0x10, 2, 7)}, Before: before})
	if !errors.Is(err, ufm.ErrRefused) || !strings.Contains(err.Error(), "service level 1 -> 2") {
		t.Errorf("error is %v", err)
	}
}

// A placement may fail after any request, with or without its effect; the next one completes it.
func TestPlaceContinuesAfterAFailure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		partitions := func(name string) []ufm.Partition {
			var out []ufm.Partition
			for k := range ident.PKey(4) {
				if rapid.Bool().Draw(rt, name) {
					p := ufm.Partition{PKey: 0x10 + k, SL: ident.SL(rapid.IntRange(0, 15).Draw(rt, "SL")), IPoIB: true}
					for g := range ident.GUID(4) {
						if m := rapid.IntRange(0, 2).Draw(rt, "member"); m > 0 {
							p.Members = append(p.Members, ufm.Member{Port: g + 1, Full: m == 1})
						}
					}
					out = append(out, p)
				}
			}
			return out
		}
		s := &ufmtest.Server{Partitions: map[string]*ufmtest.Partition{}}
		h := httptest.NewServer(s) // with its own client, since closing any test server closes the idle connections of the default transport
		defer h.Close()
		c, err := ufm.New(ufm.Options{URL: h.URL, Token: ufmtest.Token, HTTP: h.Client()})
		if err != nil {
			rt.Fatal(err)
		}
		before, want := partitions("before"), partitions("want")
		if _, err := c.Place(t.Context(), ufm.Placement{Want: before}); err != nil {
			rt.Fatal(err)
		}
		at, done := len(s.Log)+rapid.IntRange(1, 12).Draw(rt, "fails at"), rapid.Bool().Draw(rt, "done")
		s.Broken = func(n int, r *http.Request) (int, bool) {
			if n == at {
				return http.StatusServiceUnavailable, done
			}
			return 0, false
		}
		p := ufm.Placement{Want: want, Before: before}
		_, err = c.Place(t.Context(), p)
		s.Broken = nil
		if err != nil {
			if !errors.Is(err, ufm.ErrUnreachable) {
				rt.Fatal(err)
			}
			if _, err := c.Place(t.Context(), p); err != nil {
				rt.Fatalf("again: %v", err)
			}
		}
		got, err := c.Partitions(t.Context())
		if d := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); err != nil || d != "" {
			rt.Errorf("%v, partitions differ (-want +got):\n%s", err, d)
		}
	})
}

func TestPartitionsThatMustNotBePlaced(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		want    []ufm.Partition
		message string
	}{
		"default":        {[]ufm.Partition{tenant(0x7fff, 1)}, "UFM's own"},
		"zero":           {[]ufm.Partition{tenant(0, 1)}, "want 0x1 to 0x7ffe"},
		"membership bit": {[]ufm.Partition{tenant(0x8010, 1)}, "without the membership bit"},
		"service level":  {[]ufm.Partition{tenant(0x10, 16)}, "service level 16: want 0 to 15"},
		"port twice":     {[]ufm.Partition{tenant(0x10, 1, 7, 7)}, "a member twice"},
		"twice":          {[]ufm.Partition{tenant(0x10, 1), tenant(0x10, 2)}, "wanted twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ufm.Plan(nil, ufm.Placement{Want: tc.want}); err == nil || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("error is %v, want it to contain %q", err, tc.message)
			}
		})
	}
}

func TestInvalidAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  int
		body    string
		kind    error
		message string
	}{
		"no token":         {401, "", ufm.ErrDenied, "status 401"},
		"no right":         {403, "<html>Forbidden</html>", ufm.ErrDenied, "status 403"},
		"refused":          {400, "pkey  is\nwrong", ufm.ErrRefused, "status 400: pkey is wrong"},
		"starting":         {503, "<html>", ufm.ErrUnreachable, "status 503"},
		"another page":     {302, "", ufm.ErrRefused, "status 302"},
		"no JSON":          {200, "<html>", nil, "not as UFM's guide has it"},
		"a list":           {200, `["0x1"]`, nil, "not as UFM's guide has it"},
		"no P_Key":         {200, `{"x":{}}`, nil, `partition "x": want a hexadecimal P_Key`},
		"no GUID":          {200, `{"0x1":{"guids":[{"guid":"y","membership":"full"}]}}`, nil, `member "y": want a port GUID`},
		"no membership":    {200, `{"0x1":{"guids":[{"guid":"1","membership":"both"}]}}`, nil, `membership "both"`},
		"no service level": {200, `{"0x1":{"qos_conf":{"service_level":16}}}`, nil, "service level 16"},
		"port twice":       {200, `{"0x1":{"guids":[{"guid":"1","membership":"full"},{"guid":"0x01","membership":"full"}]}}`, nil, "a member twice"},
		"partition twice":  {200, `{"0x1":{},"0x8001":{}}`, nil, "found 0x0001 twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if u, p, ok := r.BasicAuth(); !ok || u != "op" || p != "hush" || !strings.HasPrefix(r.URL.Path, "/ufmRest/") {
					t.Errorf("user %q at %s", u, r.URL.Path)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer h.Close()
			c, err := ufm.New(ufm.Options{URL: h.URL, User: "op", Password: "hush", HTTP: h.Client()})
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.Partitions(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.message) || tc.kind != nil && !errors.Is(err, tc.kind) || strings.Contains(err.Error(), "hush") {
				t.Errorf("error is %v, want it to contain %q", err, tc.message)
			}
		})
	}
}

func TestUnreachableUFMIsAnError(t *testing.T) {
	t.Parallel()
	h := httptest.NewTLSServer(http.NotFoundHandler())
	defer h.Close()
	unknownClient := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
	c, err := ufm.New(ufm.Options{URL: h.URL, Token: ufmtest.Token, HTTP: unknownClient})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Partitions(t.Context()); !errors.Is(err, ufm.ErrUnreachable) || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("unknown authority: %v", err)
	}
	if s := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(s, ufmtest.Token) {
		t.Errorf("the token is in %s", s)
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		o       ufm.Options
		message string
	}{
		"no address":               {ufm.Options{Token: "x"}, "want https://HOST"},
		"no scheme":                {ufm.Options{URL: "ufm.example", Token: "x"}, "want https://HOST"},
		"plain text":               {ufm.Options{URL: "http://ufm.example", Token: "x"}, "for this machine only"},
		"a path":                   {ufm.Options{URL: "https://ufm.example/ufmRest", Token: "x"}, "no more than"},
		"secret in it":             {ufm.Options{URL: "https://op:hush@ufm.example", Token: "x"}, "no more than"},
		"secret in an invalid URL": {ufm.Options{URL: "https://op:hush@ufm.example:port", Token: "x"}, "want https://HOST"},
		"secret without a scheme":  {ufm.Options{URL: "op:hush@ufm.example", Token: "x"}, "want https://HOST"},
		"no credentials":           {ufm.Options{URL: "https://ufm.example"}, "either a token"},
		"two kinds of credentials": {ufm.Options{URL: "https://ufm.example", Token: "x", User: "y"}, "either a token"},
		"no password":              {ufm.Options{URL: "https://ufm.example", User: "y"}, "and a password"},
		"colon":                    {ufm.Options{URL: "https://ufm.example", User: "y:z", Password: "hush"}, "without a colon"},
		"long timeout":             {ufm.Options{URL: "https://ufm.example", Token: "x", Timeout: time.Hour}, "want up to 10m"},
		"negative timeout":         {ufm.Options{URL: "https://ufm.example", Token: "x", Timeout: -1}, "want up to 10m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := ufm.New(tc.o); err == nil || !strings.Contains(err.Error(), tc.message) || strings.Contains(err.Error(), "hush") {
				t.Errorf("error is %v, want it to contain %q", err, tc.message)
			}
		})
	}
}
