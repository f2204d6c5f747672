package openid

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"fairlane/service/control/identity"
	"fairlane/service/openid/openidtest"
	"fairlane/tenants"
)

const callback = "http://127.0.0.1:8470/api/v1/sign-in/oidc/callback"

func mapping(t testing.TB) Mapping {
	t.Helper()
	m, err := ParseMapping([]string{"fabric-admins = fabric-admin@*", "staff=auditor@*", "red-team=tenant-admin@lab/red", "red-team=tenant-viewer@lab/blue"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newProvider(t testing.TB, s *openidtest.Server, change ...func(*Options)) *Provider {
	t.Helper()
	o := Options{Issuer: s.Issuer, ClientID: "fairlane", ClientSecret: openidtest.Secret, RedirectURL: callback, Roles: mapping(t), Audience: "fairlane"}
	for _, f := range change {
		f(&o)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// back plays the browser's half and returns the state and the code of the callback.
func back(t testing.TB, s *openidtest.Server, address, user string) (state, code string) {
	t.Helper()
	u, err := url.Parse(s.SignIn(address, user, "secret-"+strings.Replace(user, "No Good", "bad", 1)))
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("state"), u.Query().Get("code")
}

func TestSignInAtARealProvider(t *testing.T) {
	t.Parallel()
	s := openidtest.Start(t, callback)
	p := newProvider(t, s)
	if p.Name() == "" {
		t.Error("the provider has no name")
	}
	begin := func() (string, string) {
		t.Helper()
		address, secret, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return address, secret
	}
	address, secret := begin()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if q := u.Query(); q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || strings.Contains(address, secret) {
		t.Errorf("the browser is sent to %s", address)
	}
	state, code := back(t, s, address, "alice")
	id, err := p.Finish(t.Context(), secret, state, code)
	want := identity.Identity{
		Issuer: s.Issuer, Subject: "alice", Name: "alice", DisplayName: "alice Example",
		Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}, // wider than auditor, the role for the group staff
	}
	if left := time.Until(id.ExpiresAt); left <= 0 || left > 24*time.Hour {
		t.Errorf("the identity ends at %v", id.ExpiresAt)
	}
	want.ExpiresAt = id.ExpiresAt
	if d := cmp.Diff(want, id); d != "" || err != nil {
		t.Fatalf("identity differs: %v\n%s", err, d)
	}
	if _, err := p.Finish(t.Context(), secret, state, code); err == nil {
		t.Error("a code works twice")
	}

	t.Run("another's state", func(t *testing.T) {
		address, secret := begin()
		_, other := begin()
		state, code := back(t, s, address, "alice")
		if _, err := p.Finish(t.Context(), other, state, code); err == nil || !strings.Contains(err.Error(), "state") {
			t.Errorf("a code is taken for another sign-in: %v", err)
		}
		if _, err := p.Finish(t.Context(), other, derive(other, "state"), code); err == nil {
			t.Error("a code is taken with another verifier")
		}
		if _, err := p.Finish(t.Context(), secret, state, ""); err == nil {
			t.Error("no code is taken")
		}
	})
	t.Run("new keys", func(t *testing.T) {
		s.Rotate()
		address, secret := begin()
		state, code := back(t, s, address, "rob")
		id, err := p.Finish(t.Context(), secret, state, code)
		if err != nil || len(id.Grants) != 2 || id.Grants[1].String() != "tenant-admin@lab/red" {
			t.Errorf("after the key changed: %+v, %v", id, err)
		}
	})
	t.Run("too late", func(t *testing.T) {
		late := newProvider(t, s, func(o *Options) { o.Now = func() time.Time { return time.Now().Add(Patience + time.Second) } })
		address, secret := begin()
		state, code := back(t, s, address, "alice")
		if _, err := late.Finish(t.Context(), secret, state, code); err == nil || !strings.Contains(err.Error(), "ago") {
			t.Errorf("an old sign-in is finished: %v", err)
		}
		for _, damaged := range []string{"", "x", "~", "zz~zz", strings.Repeat("z", 40) + "~x"} {
			if _, err := p.Finish(t.Context(), damaged, derive(damaged, "state"), code); err == nil {
				t.Errorf("secret %q is taken", damaged)
			}
		}
	})
	t.Run("a name that cannot be", func(t *testing.T) {
		address, secret := begin()
		state, code := back(t, s, address, "No Good")
		if id, err := p.Finish(t.Context(), secret, state, code); err != nil || id.Name != "no good" { // service/control rejects the name
			t.Errorf("identity is %+v, %v", id, err)
		}
	})
}

// tokenFor gets an ID token for a client, as a program does.
func tokenFor(t testing.TB, s *openidtest.Server, client string) string {
	t.Helper()
	p := newProvider(t, s, func(o *Options) { o.ClientID = client })
	address, secret, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, code := back(t, s, address, "alice")
	found, err := p.discover(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := p.oauth(found).Exchange(t.Context(), code, oauth2.VerifierOption(derive(secret, "verifier")))
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := token.Extra("id_token").(string)
	return raw
}

func TestBearerTokensOfAProvider(t *testing.T) {
	t.Parallel()
	s := openidtest.Start(t, callback)
	p := newProvider(t, s, func(o *Options) { o.NameClaim, o.RolesClaim = "sub", "aud" })
	good := tokenFor(t, s, "fairlane")
	if id, err := p.Bearer(t.Context(), good); err != nil || id.Subject != "alice" || id.Name != "alice" {
		t.Fatalf("identity is %+v, %v", id, err)
	}
	parts := strings.Split(good, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	forged := parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(payload), `"alice"`, `"rob"`, 1))) + "." + parts[2]
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	hs := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + parts[1] + "." + parts[2]
	for name, raw := range map[string]string{
		"another issuer":   tokenFor(t, openidtest.Start(t, callback), "fairlane"),
		"another audience": tokenFor(t, s, "other"), "forged": forged, "unsigned": none, "another algorithm": hs,
		"empty": "", "no token": "a.b.c", "huge": strings.Repeat("x", maxToken+1),
	} {
		if _, err := p.Bearer(t.Context(), raw); err == nil {
			t.Errorf("%s: token is taken", name)
		}
	}
	expired := newProvider(t, s, func(o *Options) {
		o.NameClaim, o.Now = "sub", func() time.Time { return time.Now().Add(48 * time.Hour) }
	})
	if _, err := expired.Bearer(t.Context(), good); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired token is judged: %v", err)
	}
	off := newProvider(t, s, func(o *Options) { o.Audience = "" })
	if _, err := off.Bearer(t.Context(), good); err == nil {
		t.Error("a token is taken although none should be")
	}
	s.Rotate()
	if _, err := newProvider(t, s, func(o *Options) { o.NameClaim = "sub" }).Bearer(t.Context(), good); err == nil {
		t.Error("a token of a key that was withdrawn is taken")
	}
}

func TestDiscoveryIsRetriedAfterAnOutage(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	up := false
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if !up {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q,"jwks_uri":%q}`, srv.URL, srv.URL+"/a", srv.URL+"/t", srv.URL+"/k")
	}))
	t.Cleanup(srv.Close)
	p, err := New(Options{Issuer: srv.URL, ClientID: "x", RedirectURL: callback})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), srv.URL) {
		t.Errorf("error is %v", err)
	}
	mu.Lock()
	up = true
	mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := p.Begin(ctx); err != nil {
		t.Error(err)
	}
	cancel()
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	good := Options{Issuer: "https://id.example", ClientID: "x", RedirectURL: callback}
	for name, change := range map[string]func(*Options){
		"issuer": func(o *Options) { o.Issuer = "id.example" }, "redirect URL": func(o *Options) { o.RedirectURL = "/callback" }, "client id": func(o *Options) { o.ClientID = "" },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error is %v", name, err)
		}
	}
	if p, err := New(good); err != nil || p.Name() != "id.example" {
		t.Errorf("provider is %v, %v", p, err)
	}
}

func TestMappingOfClaims(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "x", "=operator@*", "x=operator", "x=operator@lab/red", "x=tenant-admin@*"} {
		if _, err := ParseMapping([]string{bad}); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: error is %v", bad, err)
		}
	}
	var claims map[string]any
	text := `{"groups":["a",7,null,"b"],"one":"a","realm_access":{"roles":["r"]},"flat.name":["f"],"deep":{"x":5},"none":null}`
	if err := json.Unmarshal([]byte(text), &claims); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{
		"groups": {"a", "b"}, "one": {"a"}, "realm_access.roles": {"r"}, "flat.name": {"f"}, "deep.x": nil, "deep.y.z": nil, "one.x": nil, "none": nil, "missing": nil, "": nil,
	} {
		if d := cmp.Diff(want, texts(lookup(claims, path))); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add("a=operator@*")
	f.Add("b = tenant-admin@lab/red")
	f.Fuzz(func(t *testing.T, line string) {
		m, err := ParseMapping([]string{line})
		if err != nil {
			return
		}
		for value, grants := range m {
			if value == "" || len(grants) != 1 || grants[0].Validate() != nil {
				t.Errorf("%q gives %v", line, m)
			}
		}
	})
}
