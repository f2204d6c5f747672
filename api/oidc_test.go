package api

import (
	"net/url"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/service/control/tenancy"
	"fairlane/service/openid"
	"fairlane/service/openid/openidtest"
	"fairlane/tenants"
)

// newOIDCRig returns a signInRig whose users sign in at a real provider.
func newOIDCRig(t testing.TB) (*signInRig, *openidtest.Server) {
	t.Helper()
	s := openidtest.Start(t, "http://fairlane.example"+OIDCCallback)
	roles, err := openid.ParseMapping([]string{"fabric-admins=fabric-admin@*", "red-team=tenant-admin@lab/red"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := openid.New(openid.Options{
		Issuer: s.Issuer, ClientID: "fairlane", ClientSecret: openidtest.Secret, RedirectURL: "http://fairlane.example" + OIDCCallback, Roles: roles, Name: "staff",
	})
	if err != nil {
		t.Fatal(err)
	}
	return newSignInRig(t, func(o *Options) { o.OIDC = p }), s
}

// atProvider signs in at the provider and returns the path of our callback that it redirected to.
func (b *browser) atProvider(s *openidtest.Server, user, returnTo string) string {
	b.h.t.Helper()
	a := b.do("GET", "/sign-in/oidc?return_to="+url.QueryEscape(returnTo), "").want(302)
	back := s.SignIn(a.header.Get("Location"), user, "secret-"+strings.Replace(user, "No Good", "bad", 1))
	path, ok := strings.CutPrefix(back, "http://fairlane.example/api/v1")
	if !ok {
		b.h.t.Fatalf("the provider sends the browser to %s", back)
	}
	return path
}

func TestSignInThroughAProvider(t *testing.T) {
	t.Parallel()
	h, s := newOIDCRig(t)
	ctx := t.Context()
	_, err := h.service.CreateFabric(ctx, control.Fabric{Name: "lab", Source: "ibsim:unix:star"})
	if err == nil {
		_, err = h.service.CreateTenant(ctx, "lab", tenancy.TenantInput{Name: "red", Weight: 1000})
	}
	if err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	if m := decode[gen.SignInMethods](b.do("GET", "/sign-in", "").want(200)); !m.Oidc || deref(m.OidcName) != "staff" {
		t.Errorf("ways are %+v", m)
	}
	callback := b.atProvider(s, "alice", "/fabrics/lab")
	if c := b.cookies[oidcCookie]; c == nil || !c.HttpOnly || c.Path != oidcPath {
		t.Fatalf("the sign-in's cookie is %+v", c)
	}
	kept := *b.cookies[oidcCookie]
	a := b.do("GET", callback, "").want(302)
	if a.header.Get("Location") != "/fabrics/lab" || b.cookies[oidcCookie] != nil || b.cookies[sessionCookie] == nil {
		t.Fatalf("came back to %s with cookies %v", a.header.Get("Location"), b.cookies)
	}
	me := decode[gen.Me](b.do("GET", "/me", "").want(200))
	if me.Name != "alice" || len(me.Roles) != 1 || me.Roles[0].Role != gen.RoleFabricAdmin || *me.HasPassword {
		t.Errorf("me is %+v", me)
	}
	replay := h.browser()
	replay.do("GET", callback, "").want(401, "sign-in-refused") // in another browser
	replay.cookies[oidcCookie] = &kept
	replay.do("GET", callback, "").want(401, "sign-in-refused") // with the cookie, after the code was used
	if replay.cookies[sessionCookie] != nil {
		t.Error("a replayed callback created a session")
	}
	b.do("GET", "/sign-in/oidc?return_to=//evil.example", "").want(422, "invalid")
	rob := h.browser()
	rob.do("GET", rob.atProvider(s, "rob", "/"), "").want(302)
	if me := decode[gen.Me](rob.do("GET", "/me", "").want(200)); len(me.Roles) != 1 || deref(me.Roles[0].Tenant) != "red" {
		t.Errorf("rob is %+v", me)
	}
}

func TestProviderSignInTakesOverNoLocalAccount(t *testing.T) {
	t.Parallel()
	h, s := newOIDCRig(t)
	if _, err := h.service.CreateUser(t.Context(), identity.UserInput{Name: "alice", Password: "alice is local here", Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.do("GET", b.atProvider(s, "alice", "/"), "").want(403, "forbidden")
	b.do("GET", b.atProvider(s, "No Good", "/"), "").want(403, "forbidden")
	if b.cookies[sessionCookie] != nil {
		t.Error("there is a session")
	}
	rob := h.browser()
	a := rob.do("GET", rob.atProvider(s, "rob", "/"), "").want(302)
	if a.header.Get("Location") != "/" {
		t.Errorf("came back to %s", a.header.Get("Location"))
	}
	// The tenant in rob's mapping does not exist: he is authenticated and has no rights.
	if me := decode[gen.Me](rob.do("GET", "/me", "").want(200)); len(me.Roles) != 0 {
		t.Errorf("me is %+v", me)
	}
	rob.do("GET", "/fabrics/lab/tenants", "").want(404, "not-found")
}

func TestProviderSignInWithoutAProviderIsNotFound(t *testing.T) {
	t.Parallel()
	b := newSignInRig(t).browser()
	b.do("GET", "/sign-in/oidc", "").want(404, "oidc-off")
	b.do("GET", "/sign-in/oidc/callback?state=x&code=y", "").want(404, "oidc-off")
}

func TestSignInRedirectsToOwnPathsOnly(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/fabrics/lab?x=1": "/fabrics/lab?x=1", "/": "/", "": "/", "//evil.example": "/", "https://evil.example": "/", "/\\evil.example": "/", "/a\r\nSet-Cookie: x": "/", "%zz": "/",
	} {
		escaped := url.QueryEscape(path)
		if path == "%zz" {
			escaped = path
		}
		if got := returnTo(escaped); got != want {
			t.Errorf("%q is returned to as %q, want %q", path, got, want)
		}
	}
}

func TestDisabledUserCannotSignInThroughAProvider(t *testing.T) {
	t.Parallel()
	h, s := newOIDCRig(t)
	ada, rob := h.browser(), h.browser()
	ada.signIn("ada", adaPassword).want(200)
	rob.do("GET", rob.atProvider(s, "rob", "/"), "").want(302)
	rob.do("GET", "/me", "").want(200)
	ada.do("PUT", "/users/rob", `{"disabled":true,"roles":[]}`, "If-Match", "*").want(200)
	rob.do("GET", "/me", "").want(401, "unauthorized") // the session has ended
	rob.do("GET", rob.atProvider(s, "rob", "/"), "").want(401, "sign-in-refused")
	rob.do("GET", "/me", "").want(401, "unauthorized")
	list := decode[gen.AuditList](ada.do("GET", "/audit?action=session.refused", "").want(200))
	if len(list.Items) != 1 || list.Items[0].Object != "rob" || list.Items[0].Outcome != gen.AuditOutcomeRefused {
		t.Errorf("the audit log has %+v", list.Items)
	}
	if u := decode[gen.User](ada.do("GET", "/users/rob", "").want(200)); !u.Disabled {
		t.Error("the refused sign-in enabled the account again")
	}
}

// TestSignInSecretsStayOutOfTheLog searches the log and the answers for the secrets of a sign-in at a
// provider.
func TestSignInSecretsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	h, s := newOIDCRig(t)
	b := h.browser()
	callback := b.atProvider(s, "alice", "/")
	_, query, _ := strings.Cut(callback, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, _ := strings.Cut(b.cookies[oidcCookie].Value, ".")
	secrets := []string{values.Get("code"), values.Get("state"), cookie, openidtest.Secret, "secret-alice"}
	refused := h.browser().do("GET", callback, "")
	b.do("GET", callback, "").want(302)
	again := b.do("GET", callback, "")
	h.browser().do("GET", "/sign-in/oidc/callback?error=access_denied&error_description=hunter2&state=x", "").want(401, "sign-in-refused")
	secrets = append(secrets, b.cookies[sessionCookie].Value, "hunter2")
	for _, secret := range secrets {
		if len(secret) < 5 {
			t.Errorf("%q is no secret", secret)
		}
		if strings.Contains(h.log.String(), secret) || strings.Contains(string(refused.body)+string(again.body), secret) {
			t.Errorf("%q is in the log or in an answer:\n%s%s%s", secret, h.log, refused.body, again.body)
		}
	}
}
