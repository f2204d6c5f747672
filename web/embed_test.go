package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func built() fstest.MapFS {
	return fstest.MapFS{
		"placeholder.html": file("none"), "console.html": file(`c <meta content="__CSP_NONCE__"> __CSP_NONCE__`), "portal.html": file("p __CSP_NONCE__"),
		"assets/main-Bx1_9-aZ.js": file("js"), "assets/main-Bx1_9-aZ.js.br": file("brotli"), "assets/main-Bx1_9-aZ.js.gz": file("gzip"),
		"assets/manifest.json": file("{}"), "assets/lone.gz": file("packed"), "assets/icon-12345678.svg": file("<svg/>"),
	}
}

func site(t *testing.T, files fs.FS) *Site {
	t.Helper()
	s, err := New(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryBuildHasAPage(t *testing.T) {
	t.Parallel()
	s, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range Pages {
		body, policy := s.Render(p, "xyz")
		if len(body) == 0 || strings.Contains(string(body), hole) || !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(string(body), "xyz") != s.Built() {
			t.Errorf("%s: policy %q, page\n%s", p, policy, body)
		}
	}
	if s.Built() != (s.Hash() != "") {
		t.Errorf("built %v with hash %q", s.Built(), s.Hash())
	}
}

func TestTheNonceFillsEveryHole(t *testing.T) {
	t.Parallel()
	s := site(t, built())
	body, policy := s.Render(Console, "abc")
	if string(body) != `c <meta content="abc"> abc` || !strings.Contains(policy, "style-src 'self' 'nonce-abc';") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s, %s", body, policy)
	}
	if body, _ := s.Render(Portal, "d"); string(body) != "p d" {
		t.Errorf("%s", body)
	}
}

func TestIncompleteBuildsAreNotServed(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"console.html", "portal.html"} {
		files := built()
		delete(files, lost)
		s := site(t, files)
		_, ok := s.Asset("assets/main-Bx1_9-aZ.js")
		if body, policy := s.Render(Portal, "d"); s.Built() || s.Hash() != "" || string(body) != "none" || policy != PlaceholderPolicy || ok {
			t.Errorf("without %s: %s", lost, body)
		}
	}
	files := built()
	files["portal.html"] = file("no hole")
	if _, err := New(files); err == nil {
		t.Error("a page without a place for the nonce was accepted")
	}
	delete(files, "placeholder.html")
	if _, err := New(files); err == nil {
		t.Error("a site without a placeholder was accepted")
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	s := site(t, built())
	for _, c := range []struct {
		name, kind string
		hashed     bool
		codings    int
	}{
		{"assets/main-Bx1_9-aZ.js", "text/javascript; charset=utf-8", true, 3},
		{"assets/manifest.json", "application/json", false, 1},
		{"assets/icon-12345678.svg", "image/svg+xml", true, 1},
		{"assets/lone.gz", "application/octet-stream", false, 1},
		{"assets/main-Bx1_9-aZ.js.br", "", false, 0}, // only as a form of its original
		{"assets/", "", false, 0},
		{"assets", "", false, 0},
		{"assets/../portal.html", "", false, 0},
		{"portal.html", "", false, 0},
		{"placeholder.html", "", false, 0},
	} {
		a, ok := s.Asset(c.name)
		if ok != (c.kind != "") || ok && (a.Type != c.kind || a.Hashed != c.hashed || len(a.Bodies) != c.codings || a.Tag == "") {
			t.Errorf("%s: %v, %+v", c.name, ok, a)
		}
	}
}

func TestTheHashCoversNamesAndContents(t *testing.T) {
	t.Parallel()
	sum := func(text string) string { b := sha256.Sum256([]byte(text)); return hex.EncodeToString(b[:]) }
	files := fstest.MapFS{"placeholder.html": file("x"), "portal.html": file(hole), "console.html": file(hole), "assets/a.js": file("a")}
	want := sum(fmt.Sprintf("%s  assets/a.js\n%s  console.html\n%s  portal.html\n", sum("a"), sum(hole), sum(hole)))
	if got := site(t, files).Hash(); got != want {
		t.Errorf("hash %s, sha256sum gives %s", got, want)
	}
	files["placeholder.html"] = file("y")
	if site(t, files).Hash() != want {
		t.Error("the placeholder is not part of the build")
	}
	files["assets/b.js"] = files["assets/a.js"]
	delete(files, "assets/a.js")
	if site(t, files).Hash() == want {
		t.Error("another name has the same hash")
	}
}
