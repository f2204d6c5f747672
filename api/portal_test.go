package api

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"fairlane/web"
)

// withPortal returns a rig whose server has a built portal.
func withPortal(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	page := `<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><title>`
	site, err := web.New(fstest.MapFS{
		"placeholder.html": file("none"), "console.html": file(page + "console"), "portal.html": file(page + "portal"),
		"assets/main-Bx1_9-aZ.js": file(strings.Repeat("js ", 1000)), "assets/main-Bx1_9-aZ.js.br": file("brotli"), "assets/main-Bx1_9-aZ.js.gz": file("gzip"),
		"assets/manifest.json": file("{}"), "assets/plain-Bx1_9-aZ.css": file("a{}"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.server, err = New(r.Service, Options{Portal: site}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDeepLinksLeadToTheApplication(t *testing.T) {
	t.Parallel()
	r := withPortal(t)
	for path, title := range map[string]string{
		"/console": "console", "/console/": "console", "/console/fabrics/demo/tenants/gold?range=6h": "console", "/console/x.js": "console",
		"/portal": "portal", "/portal/": "portal", "/portal/demo/gold/shares": "portal", "/portal/%2e%2e/console.html": "portal",
		"/portal/../assets": "portal", "/portal/hosts/h1%2F1": "portal", "/portal//x": "portal",
	} {
		a := visit(r, "GET", path).want(200)
		if !strings.HasSuffix(string(a.body), "<title>"+title) || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %s, %v", path, a.body, a.header)
		}
		if head := visit(r, "HEAD", path).want(200); len(head.body) > 0 || head.header.Get("Content-Length") == "0" || head.header.Get("Content-Security-Policy") == "" {
			t.Errorf("HEAD %s: %d bytes, %v", path, len(head.body), head.header)
		}
	}
	for _, method := range []string{"GET", "HEAD"} {
		if a := visit(r, method, "/").want(302); a.header.Get("Location") != "/portal/" {
			t.Errorf("%s / leads to %s", method, a.header.Get("Location"))
		}
	}
	for path, code := range map[string]string{
		"/consoles": "no-such-route", "/portal.html": "no-such-route", "/index.html": "no-such-route", "/placeholder.html": "no-such-route", "/api/v1/none": "no-such-route",
	} {
		visit(r, "GET", path).want(404, code)
	}
	visit(r, "GET", "/portal/%ff").want(400, "malformed-request")
	visit(r, "POST", "/portal/").want(405, "method-not-allowed")
}

func TestPagesHaveAFreshNonceAndTheWholePolicy(t *testing.T) {
	t.Parallel()
	r := withPortal(t)
	seen := map[string]bool{}
	for range 50 {
		a := visit(r, "GET", "/console/").want(200)
		m := regexp.MustCompile(`content="([A-Za-z0-9_-]{24})"`).FindStringSubmatch(string(a.body))
		if m == nil || seen[m[1]] {
			t.Fatalf("nonce %q in %s", m, a.body)
		}
		seen[m[1]] = true
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + m[1] + "'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
				"worker-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"X-Frame-Options": "DENY", "Cache-Control": "no-store", "Set-Cookie": "", "ETag": "",
		} {
			if got := a.header.Get(name); got != want {
				t.Fatalf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

func TestTheSecurityPageHasThePolicy(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "`" + fmt.Sprintf(web.Policy, "…") + "`"; !strings.Contains(string(text), want) {
		t.Errorf("docs/security.md lacks %s", want)
	}
}

func TestAssetsAreSentInTheBestCoding(t *testing.T) {
	t.Parallel()
	r := withPortal(t)
	const main, year = "/assets/main-Bx1_9-aZ.js", "public, max-age=31536000, immutable"
	for _, c := range []struct {
		path, accept        string
		coding, body, cache string
		vary                bool
	}{
		{main, "gzip, deflate, br, zstd", "br", "brotli", year, true},
		{main, "gzip", "gzip", "gzip", year, true},
		{main, "br;q=0, gzip;q=0.1", "gzip", "gzip", year, true},
		{main, "*", "br", "brotli", year, true},
		{main, "", "", strings.Repeat("js ", 1000), year, true},
		{main, "zstd", "", strings.Repeat("js ", 1000), year, true},
		{"/assets/plain-Bx1_9-aZ.css", "gzip, br", "", "a{}", year, false},
		{"/assets/manifest.json", "gzip, br", "", "{}", "no-cache", false},
	} {
		a := visit(r, "GET", c.path, "Accept-Encoding", c.accept).want(200)
		h := a.header
		if h.Get("Content-Encoding") != c.coding || string(a.body) != c.body || h.Get("Cache-Control") != c.cache || (h.Get("Vary") == "Accept-Encoding") != c.vary || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s for %q: %.20q, %v", c.path, c.accept, a.body, h)
		}
		head := visit(r, "HEAD", c.path, "Accept-Encoding", c.accept).want(200)
		if len(head.body) > 0 || head.header.Get("Content-Length") != h.Get("Content-Length") || head.header.Get("Content-Type") != h.Get("Content-Type") {
			t.Errorf("HEAD %s: %v, GET has %v", c.path, head.header, h)
		}
	}
	tag := visit(r, "GET", "/assets/manifest.json").want(200).header.Get("ETag")
	if again := visit(r, "GET", "/assets/manifest.json", "If-None-Match", tag).want(304); tag == "" || len(again.body) > 0 {
		t.Errorf("304 with %q, tag %q", again.body, tag)
	}
	for _, path := range []string{
		"/assets", "/assets/", "/assets/none.js", "/assets/../portal.html", "/assets/%2e%2e/portal.html", "/assets/..%2fportal.html", "/assets/main-Bx1_9-aZ.js.br",
		"/assets/main-Bx1_9-aZ.js/", "/assets//main-Bx1_9-aZ.js", `/assets/..\portal.html`, "/assets/%00",
	} {
		if a := visit(r, "GET", path); a.status != 404 && a.status != 400 || strings.Contains(string(a.body), "<title>") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestABuildWithoutThePortalSaysSo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	site, err := web.New(fstest.MapFS{"placeholder.html": {Data: []byte("no portal")}})
	if err != nil {
		t.Fatal(err)
	}
	if r.server, err = New(r.Service, Options{Portal: site}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/console/", "/portal/demo/gold"} {
		a := visit(r, "GET", path).want(200)
		if string(a.body) != "no portal" || a.header.Get("Content-Security-Policy") != web.PlaceholderPolicy || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s, %v", path, a.body, a.header)
		}
	}
	visit(r, "GET", "/assets/main.js").want(404, "no-such-route")
}

func TestPageLoadsAndRequestsHaveSeparatePlaces(t *testing.T) {
	t.Parallel()
	r := withPortal(t)
	fill := func(s shares) (leave func()) {
		var all []func()
		for range s.strangers {
			one, full := r.server.load.places.enterAll(1, bound{s.what + " from all who are not signed in", s.strangers})
			if full != nil {
				t.Fatal(full)
			}
			all = append(all, one)
		}
		return func() {
			for _, one := range all {
				one()
			}
		}
	}
	leave := fill(paging)
	visit(r, "GET", "/portal/").want(503, "busy")
	visit(r, "GET", "/api/v1/version").want(200)
	leave()
	leave = fill(reading)
	visit(r, "GET", "/api/v1/version").want(503, "busy")
	for _, path := range []string{"/portal/", "/assets/manifest.json", "/docs"} {
		visit(r, "GET", path).want(200)
	}
	leave()
}
