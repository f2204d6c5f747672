package api

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlane/api/gen"
	"fairlane/service/control"
	"fairlane/service/control/identity"
	"fairlane/service/control/usecases"
	"fairlane/tenants"
)

// clock is the time of a test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// signInRig is a server with the administrator ada; the test controls its clock.
type signInRig struct {
	t       testing.TB
	path    string
	clock   *clock
	service *usecases.Services
	server  *Server
	log     *bytes.Buffer
	rig     *rig // checks answers against the contract
}

const adaPassword = "correct horse battery"

func newSignInRig(t testing.TB, change ...func(*Options)) *signInRig {
	t.Helper()
	r := newRig(t)
	h := &signInRig{t: t, path: r.Path, clock: &clock{now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}, log: &bytes.Buffer{}, rig: r}
	d := r.deps()
	d.Clock = h.clock.read
	var err error
	if h.service, err = usecases.New(d); err != nil {
		t.Fatal(err)
	}
	o := Options{Log: slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, f := range change {
		f(&o)
	}
	if h.server, err = New(h.service, o); err != nil {
		t.Fatal(err)
	}
	in := identity.UserInput{Name: "ada", Password: adaPassword, Grants: []tenants.Grant{{Role: tenants.RoleFabricAdmin}}}
	if _, err = h.service.CreateUser(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return h
}

// browser stores cookies as a browser does, and sends the CSRF token on request.
type browser struct {
	h       *signInRig
	addr    string
	cookies map[string]*http.Cookie
	csrf    string
}

func (h *signInRig) browser() *browser {
	return &browser{h: h, addr: "192.0.2.7:4000", cookies: map[string]*http.Cookie{}}
}

func (b *browser) do(method, path, body string, header ...string) answer {
	b.h.t.Helper()
	if b.csrf != "" {
		header = append([]string{csrfHeader, b.csrf}, header...)
	}
	req := newRequest(b.h.t, method, "/api/v1"+path, body, header...)
	req.RemoteAddr = b.addr
	for _, c := range b.cookies {
		req.AddCookie(c)
	}
	a := serve(b.h.t, b.h.server, req)
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c
		}
	}
	b.h.rig.judge(req, a)
	return a
}

func (b *browser) signIn(name, password string) answer {
	b.h.t.Helper()
	body, err := json.Marshal(map[string]string{"name": name, "password": password})
	if err != nil {
		b.h.t.Fatal(err)
	}
	a := b.do("POST", "/sign-in", string(body))
	if a.status == 200 {
		b.csrf = decode[gen.SignedIn](a).CsrfToken
	}
	return a
}

const newUser = `{"name":"bob","password":"a long enough word"}`

func TestASessionFromSignInToSignOut(t *testing.T) {
	t.Parallel()
	b := newSignInRig(t).browser()
	b.do("GET", "/me", "").want(401, "unauthorized")
	in := decode[gen.SignedIn](b.signIn("ada", adaPassword).want(200))
	if in.Name != "ada" || !in.ExpiresAt.Equal(time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("signed in as %+v", in)
	}
	c := b.cookies[sessionCookie]
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.Secure {
		t.Fatalf("session's cookie is %+v", c)
	}
	if f := b.cookies[csrfCookie]; f == nil || f.HttpOnly || f.SameSite != http.SameSiteStrictMode || f.Value != in.CsrfToken {
		t.Errorf("CSRF cookie is %+v", f)
	}
	me := decode[gen.Me](b.do("GET", "/me", "").want(200))
	if me.Name != "ada" || me.Kind != gen.MeKindUser || len(me.Roles) != 1 || len(me.Permissions) != 22 || me.HasPassword == nil || !*me.HasPassword {
		t.Errorf("me is %+v", me)
	}
	b.do("POST", "/users", newUser).want(201)
	stolen := *c
	b.do("POST", "/sign-out", "").want(204)
	if len(b.cookies) != 0 {
		t.Errorf("cookies are left: %v", b.cookies)
	}
	b.cookies[sessionCookie] = &stolen
	b.do("GET", "/me", "").want(401, "unauthorized")
}

func TestCookiesAreForTLSOnlyWhenBrowsersUseIt(t *testing.T) {
	t.Parallel()
	b := newSignInRig(t, func(o *Options) { o.PublicURL = "https://fairlane.example" }).browser()
	b.signIn("ada", adaPassword).want(200)
	c := b.cookies[secureSessionCookie]
	if c == nil || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" {
		t.Errorf("session's cookie is %+v", c)
	}
	b.do("GET", "/me", "").want(200)
	planted := *c // by another host of the domain, or over plain HTTP: neither can set a name with the prefix
	planted.Name = sessionCookie
	other := b.h.browser()
	other.cookies[sessionCookie] = &planted
	other.do("GET", "/me", "").want(401, "unauthorized")
}

func TestASessionsUnsafeRequestsNeedItsCSRFToken(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b, other := h.browser(), h.browser()
	b.signIn("ada", adaPassword).want(200)
	other.signIn("ada", adaPassword).want(200)
	token := b.csrf
	for name, value := range map[string]string{"none": "", "wrong": "x", "another session's": other.csrf} {
		b.csrf = value
		if a := b.do("POST", "/users", newUser); a.status != 403 || decode[gen.Problem](a).Code != "csrf" {
			t.Errorf("token %s: %d %s", name, a.status, a.body)
		}
	}
	b.csrf = token
	planted := *b.cookies[csrfCookie]
	planted.Value = "planted"
	genuine := b.cookies[csrfCookie]
	b.cookies[csrfCookie] = &planted
	b.csrf = "planted"
	b.do("POST", "/users", newUser).want(403, "csrf")
	b.cookies[csrfCookie], b.csrf = genuine, token
	b.do("POST", "/users", newUser, "Sec-Fetch-Site", "cross-site").want(403, "csrf")
	b.do("POST", "/users", newUser, "Origin", "https://evil.example").want(403, "csrf")
	b.do("GET", "/users", "", "Sec-Fetch-Site", "cross-site").want(200)
	if _, err := h.service.User(t.Context(), "bob"); err == nil {
		t.Fatal("a forged request made bob")
	}
	b.do("POST", "/users", newUser, "Sec-Fetch-Site", "same-origin").want(201)
	b.cookies = map[string]*http.Cookie{}
	b.csrf = ""
	b.do("POST", "/sign-in", `{"name":"ada","password":"`+adaPassword+`"}`, "Sec-Fetch-Site", "cross-site").want(403, "csrf")
}

func TestPlantedSessionHasNoEffect(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	attacker, victim := h.browser(), h.browser()
	attacker.signIn("ada", adaPassword).want(200)
	planted := attacker.cookies[sessionCookie].Value
	victim.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: planted}
	victim.signIn("ada", adaPassword).want(200)
	if victim.cookies[sessionCookie].Value == planted {
		t.Error("the planted secret became the victim's session")
	}
	attacker.do("GET", "/me", "").want(401, "unauthorized")
	victim.do("GET", "/me", "").want(200)
	victim.cookies[sessionCookie] = &http.Cookie{Name: sessionCookie, Value: "made-up"}
	victim.do("GET", "/me", "").want(401, "unauthorized")
}

func TestSessionsEndByIdlenessAndByAge(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	b.signIn("ada", adaPassword).want(200)
	h.clock.pass(control.SessionIdle - time.Second)
	b.do("GET", "/me", "").want(200) // renews
	h.clock.pass(control.SessionIdle - time.Second)
	b.do("GET", "/me", "").want(200)
	h.clock.pass(2 * time.Second) // 24 hours
	b.do("GET", "/me", "").want(401, "unauthorized")

	idle := h.browser()
	idle.signIn("ada", adaPassword).want(200)
	h.clock.pass(control.SessionIdle)
	idle.do("GET", "/me", "").want(401, "unauthorized")
}

func TestASessionKnowsItsEndAndIsExtended(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	in := decode[gen.SignedIn](b.signIn("ada", adaPassword).want(200))
	began := h.clock.read()
	ends := func(idle time.Time) {
		t.Helper()
		ses := decode[gen.Me](b.do("GET", "/me", "").want(200)).Session
		if ses == nil || !ses.ExpiresAt.Equal(in.ExpiresAt) || !ses.IdleExpiresAt.Equal(idle) {
			t.Errorf("session is %+v, want its ends at %v and, by idleness, %v", ses, in.ExpiresAt, idle)
		}
	}
	ends(began.Add(control.SessionIdle))
	h.clock.pass(30 * time.Second) // less than the resolution in which other requests count
	ends(began.Add(control.SessionIdle))
	b.do("POST", "/me/session/extend", "").want(200)
	ends(began.Add(30*time.Second + control.SessionIdle))
	h.clock.pass(control.SessionIdle - time.Second)
	got := decode[gen.Session](b.do("POST", "/me/session/extend", "").want(200))
	h.clock.pass(time.Minute)
	if again := decode[gen.Session](b.do("POST", "/me/session/extend", "").want(200)); !again.IdleExpiresAt.Equal(in.ExpiresAt) || !got.ExpiresAt.Equal(in.ExpiresAt) {
		t.Errorf("extended to %+v, then %+v: no activity moves the end at %v", got, again, in.ExpiresAt)
	}
	h.rig.call("POST", "/me/session/extend", "").want(409, "no-session")
	if me := decode[gen.Me](h.rig.call("GET", "/me", "").want(200)); me.Session != nil {
		t.Errorf("a token has session %+v", me.Session)
	}
}

func TestDisabledUserLosesAccessAtOnce(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	ada, bob := h.browser(), h.browser()
	ada.signIn("ada", adaPassword).want(200)
	made := ada.do("POST", "/users", `{"name":"bob","password":"a long enough word","roles":[{"role":"auditor"}]}`).want(201)
	bob.signIn("bob", "a long enough word").want(200)
	token := decode[gen.NewToken](bob.do("POST", "/me/tokens", `{"name":"laptop"}`).want(201)).Secret
	bob.do("GET", "/users", "").want(200)
	ada.do("PUT", "/users/bob", `{"roles":[]}`, "If-Match", `"99"`).want(412, "precondition-failed")
	a := ada.do("GET", "/users/bob", "").want(200)
	up := ada.do("PUT", "/users/bob", `{"roles":[]}`, "If-Match", a.header.Get("ETag")).want(200)
	bob.do("GET", "/users", "").want(403, "forbidden") // the role is missing from the next request on
	ada.do("PUT", "/users/bob", `{"disabled":true,"roles":[]}`, "If-Match", up.header.Get("ETag")).want(200)
	bob.do("GET", "/me", "").want(401, "unauthorized")
	bob.cookies = map[string]*http.Cookie{}
	bob.do("GET", "/me", "", "Authorization", "Bearer "+token).want(401, "unauthorized")
	bob.signIn("bob", "a long enough word").want(401, "sign-in-refused")
	if bytes.Contains(made.body, []byte("argon2")) || bytes.Contains(a.body, []byte("argon2")) {
		t.Error("a password's hash is shown")
	}
}

func TestFailedSignInsLockTheNameWhetherItExistsOrNot(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	for i, name := range []string{"ada", "nobody"} {
		b := h.browser()
		b.addr = []string{"192.0.2.1:1", "192.0.2.2:1"}[i]
		var seen []string
		for range 5 {
			a := b.signIn(name, "wrong wrong wrong")
			seen = append(seen, decode[gen.Problem](a).Code)
		}
		a := b.signIn(name, adaPassword).want(429, "locked")
		if a.header.Get("Retry-After") != "2" {
			t.Errorf("%s: retry after %s, want 2", name, a.header.Get("Retry-After"))
		}
		h.clock.pass(2 * time.Second)
		b.signIn(name, "wrong wrong wrong").want(401, "sign-in-refused")
		if a := b.signIn(name, adaPassword).want(429, "locked"); a.header.Get("Retry-After") != "4" {
			t.Errorf("%s: retry after %s, want 4", name, a.header.Get("Retry-After"))
		}
		if strings.Join(seen, " ") != "sign-in-refused sign-in-refused sign-in-refused sign-in-refused sign-in-refused" {
			t.Errorf("%s: answers are %v", name, seen)
		}
	}
	h.clock.pass(4 * time.Second)
	b := h.browser()
	b.signIn("ada", adaPassword).want(200) // and clears the failures
	h.browser().signIn("ada", "wrong wrong wrong").want(401, "sign-in-refused")
	h.browser().signIn("ada", adaPassword).want(200)
}

func TestASourceWithManyRefusalsWaitsAndOthersDoNot(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b, other := h.browser(), h.browser()
	other.addr = "198.51.100.9:1"
	ada := h.browser()
	ada.signIn("ada", adaPassword).want(200)
	for range 20 {
		b.do("GET", "/me", "", "Authorization", "Bearer flt_guess").want(401, "unauthorized")
	}
	a := b.do("GET", "/me", "", "Authorization", "Bearer flt_guess").want(429, "locked")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	b.signIn("ada", adaPassword).want(429, "locked")
	other.do("GET", "/me", "", "Authorization", "Bearer flt_guess").want(401, "unauthorized")
	ada.do("GET", "/me", "").want(200) // a valid session passes from the same address
	h.clock.pass(7 * time.Second)
	b.signIn("ada", adaPassword).want(200)
}

func TestPasswordsAreChangedInASessionOnly(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b, elsewhere := h.browser(), h.browser()
	b.signIn("ada", adaPassword).want(200)
	elsewhere.signIn("ada", adaPassword).want(200)
	token := decode[gen.NewToken](b.do("POST", "/me/tokens", `{"name":"laptop"}`).want(201)).Secret
	b.do("PUT", "/me/password", `{"password":"not the present one","new_password":"another long word"}`).want(422, "invalid")
	b.do("PUT", "/me/password", `{"password":"`+adaPassword+`","new_password":"short"}`).want(422, "invalid")
	h.browser().do("PUT", "/me/password", `{"password":"`+adaPassword+`","new_password":"another long word"}`, "Authorization", "Bearer "+token).want(403, "forbidden")
	b.do("PUT", "/me/password", `{"password":"`+adaPassword+`","new_password":"another long word"}`).want(204)
	b.do("GET", "/me", "").want(200)
	elsewhere.do("GET", "/me", "").want(401, "unauthorized")
	h.browser().signIn("ada", adaPassword).want(401, "sign-in-refused")
	h.browser().signIn("ada", "another long word").want(200)
}

func TestTokensAreNarrowedExpireAndEnd(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	b.signIn("ada", adaPassword).want(200)
	ask := func(token, method, path, body string) answer {
		return h.browser().do(method, path, body, bearer(token)...)
	}
	made := decode[gen.NewToken](b.do("POST", "/me/tokens", `{"name":"reader","scopes":["user:read"],"expires_in_s":3600}`).want(201))
	if !strings.HasPrefix(made.Secret, "flt_") || made.Token.ExpiresAt == nil || !made.Token.ExpiresAt.Equal(h.clock.read().Add(time.Hour)) {
		t.Errorf("token is %+v", made.Token)
	}
	ask(made.Secret, "GET", "/users", "").want(200)
	ask(made.Secret, "POST", "/users", newUser).want(403, "forbidden")
	ask(made.Secret, "GET", "/fabrics", "").want(403, "forbidden")
	ask(made.Secret, "POST", "/me/tokens", `{"name":"wider"}`).want(403, "forbidden")
	ask(made.Secret, "DELETE", "/me/tokens/reader", "").want(403, "forbidden")
	ask(made.Secret, "GET", "/me/tokens", "").want(200)
	if me := decode[gen.Me](ask(made.Secret, "GET", "/me", "").want(200)); len(me.Permissions) != 1 || me.Permissions[0].Object != "user" || len(me.Scopes) != 1 {
		t.Errorf("me is %+v", me)
	}
	whole := decode[gen.NewToken](b.do("POST", "/me/tokens", `{"name":"whole","expires_in_s":7200}`).want(201))
	longer := decode[gen.NewToken](ask(whole.Secret, "POST", "/me/tokens", `{"name":"longer","expires_in_s":86400}`).want(201))
	if !longer.Token.ExpiresAt.Equal(*whole.Token.ExpiresAt) {
		t.Errorf("a token outlives the one that made it: %v, %v", longer.Token.ExpiresAt, whole.Token.ExpiresAt)
	}
	b.do("POST", "/me/tokens", `{"name":"reader"}`).want(409, "already-exists")
	b.do("POST", "/me/tokens", `{"name":"x","scopes":["everything"]}`).want(422, "invalid")
	b.do("POST", "/me/tokens", `{"name":"x","expires_in_s":999999999}`).want(422, "invalid")
	list := decode[gen.TokenList](b.do("GET", "/me/tokens", "").want(200))
	if len(list.Items) != 3 || list.Items[1].Name != "reader" || list.Items[1].UsedAt == nil || list.Items[0].UsedAt != nil {
		t.Errorf("tokens are %+v", list.Items)
	}
	b.do("DELETE", "/me/tokens/whole", "").want(204)
	b.do("DELETE", "/me/tokens/whole", "").want(404, "not-found")
	ask(whole.Secret, "GET", "/me", "").want(401, "unauthorized")
	h.clock.pass(time.Hour)
	ask(made.Secret, "GET", "/me", "").want(401, "unauthorized")
}

func TestTheLastAdministratorStays(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	b.signIn("ada", adaPassword).want(200)
	b.do("DELETE", "/users/ada", "", "If-Match", "*").want(409, "last-admin")
	b.do("PUT", "/users/ada", `{"roles":[{"role":"auditor"}]}`, "If-Match", "*").want(409, "last-admin")
	b.do("PUT", "/users/ada", `{"disabled":true,"roles":[{"role":"fabric-admin"}]}`, "If-Match", "*").want(409, "last-admin")
	b.do("GET", "/me", "").want(200)
	b.do("POST", "/users", `{"name":"eve","roles":[{"role":"fabric-admin"}]}`).want(201)
	b.do("DELETE", "/users/ada", "", "If-Match", "*").want(409, "last-admin") // eve cannot sign in
	b.do("PUT", "/users/eve", `{"password":"a long enough word","roles":[{"role":"fabric-admin"}]}`, "If-Match", "*").want(200)
	b.do("DELETE", "/users/ada", "", "If-Match", "*").want(204)
}

// TestSecretsAreNeverDisclosed searches the log, the database and later answers for every secret.
func TestSecretsAreNeverDisclosed(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	b := h.browser()
	b.signIn("ada", adaPassword).want(200)
	secrets := []string{adaPassword, b.cookies[sessionCookie].Value, b.csrf, "a long enough word", "a wrong password!", "flt_not-one-of-ours-but-a-secret"}
	b.do("POST", "/users", newUser).want(201)
	secrets = append(secrets, decode[gen.NewToken](b.do("POST", "/me/tokens", `{"name":"laptop"}`).want(201)).Secret)
	b.do("POST", "/service-accounts", `{"name":"ci","role":"operator"}`).want(201)
	secrets = append(secrets, decode[gen.NewToken](b.do("POST", "/service-accounts/ci/tokens", `{"name":"runner"}`).want(201)).Secret)
	answers := []answer{
		h.browser().signIn("ada", "a wrong password!"),
		h.browser().do("GET", "/me", "", "Authorization", "Bearer flt_not-one-of-ours-but-a-secret"),
		b.do("GET", "/users", ""), b.do("GET", "/users/ada", ""), b.do("GET", "/me", ""), b.do("GET", "/me/tokens", ""),
		b.do("GET", "/service-accounts/ci/tokens", ""), b.do("GET", "/audit", ""),
	}
	if !bytes.Contains(answers[7].body, []byte("laptop")) {
		t.Errorf("the audit log does not record the token: %s", answers[7].body)
	}
	for _, s := range secrets {
		for i, a := range answers {
			if bytes.Contains(a.body, []byte(s)) {
				t.Errorf("answer %d holds the secret %q", i, s)
			}
		}
		if bytes.Contains(h.log.Bytes(), []byte(s)) {
			t.Errorf("the log holds the secret %q", s)
		}
		for _, suffix := range []string{"", "-wal"} {
			file, err := os.ReadFile(h.path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(file, []byte(s)) {
				t.Errorf("the database%s holds the secret %q", suffix, s)
			}
		}
	}
}

func TestUnauthenticatedCallersLearnNothing(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	read := false
	body := readerFunc(func([]byte) (int, error) { read = true; return 0, io.ErrUnexpectedEOF })
	for _, token := range []string{"", "flt_guess"} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/api/v1/users", body)
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		if a := serve(t, h.server, req); a.status != 401 || read {
			t.Errorf("token %q: answer is %d, body read: %v", token, a.status, read)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestEveryOperationOfIdentityAnswersByTheContract calls all of them successfully except the two of a sign-in at a
// provider, which TestSignInThroughAProvider calls.
func TestEveryOperationOfIdentityAnswersByTheContract(t *testing.T) {
	t.Parallel()
	h := newSignInRig(t)
	h.rig.Lab(t)
	b := h.browser()
	b.do("GET", "/sign-in", "").want(200)
	b.signIn("ada", adaPassword).want(200)
	b.do("GET", "/me", "").want(200)
	b.do("POST", "/me/session/extend", "").want(200)
	b.do("GET", "/roles", "").want(200)
	b.do("PUT", "/me/password", `{"password":"`+adaPassword+`","new_password":"another long word"}`).want(204)
	b.do("POST", "/me/tokens", `{"name":"laptop","scopes":["*:read"]}`).want(201)
	b.do("GET", "/me/tokens", "").want(200)
	b.do("DELETE", "/me/tokens/laptop", "").want(204)
	b.do("POST", "/users", newUser).want(201)
	b.do("GET", "/users?limit=1", "").want(200)
	b.do("GET", "/users/bob", "").want(200)
	b.do("PUT", "/users/bob", `{"display_name":"Bob","roles":[{"role":"tenant-admin","fabric":"lab","tenant":"red"}]}`, "If-Match", "*").want(200)
	b.do("PUT", "/users/bob", `{"roles":[{"role":"tenant-admin","fabric":"lab","tenant":"nix"}]}`, "If-Match", "*").want(422, "invalid")
	const red = "/fabrics/lab/tenants/red"
	for at, role := range map[string]string{red: "tenant-viewer", "/fabrics/lab": "auditor"} {
		b.do("PUT", at+"/members/eve", `{"role":"`+role+`"}`).want(200)
		b.do("GET", at+"/members?limit=1", "").want(200)
		b.do("DELETE", at+"/members/eve", "").want(204)
	}
	for _, base := range []string{"", red} {
		role := "operator"
		if base != "" {
			role = "tenant-admin"
		}
		b.do("POST", base+"/service-accounts", `{"name":"ci","role":"`+role+`"}`).want(201)
		b.do("POST", base+"/service-accounts", `{"name":"ci","role":"`+role+`"}`).want(409, "already-exists")
		b.do("GET", base+"/service-accounts", "").want(200)
		b.do("POST", base+"/service-accounts/ci/tokens", `{"name":"runner"}`).want(201)
		b.do("GET", base+"/service-accounts/ci/tokens", "").want(200)
		b.do("DELETE", base+"/service-accounts/ci/tokens/runner", "").want(204)
		b.do("DELETE", base+"/service-accounts/ci", "").want(204)
	}
	b.do("DELETE", "/users/bob", "", "If-Match", "*").want(204)
	b.do("POST", "/sign-out", "").want(204)
	for _, o := range operationsOf(h.server.spec.doc) {
		if o.Tags[0] == "identity" && !h.rig.seen[o.OperationID] && !strings.HasSuffix(o.OperationID, "Oidc") {
			t.Errorf("operation %s was never answered", o.OperationID)
		}
	}
}
