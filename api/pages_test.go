package api

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairlane/api/gen"
	"fairlane/api/reference"
	"fairlane/docs"
)

// visit requests a page as a browser does, without credentials.
func visit(r *rig, method, path string, header ...string) answer {
	return serve(r.t, r.server, newRequest(r.t, method, path, "", header...))
}

func TestTheReferenceNamesEveryOperation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, lang := range []string{"en", "zh"} {
		a := visit(r, "GET", "/docs?lang="+lang).want(200)
		text := string(a.body)
		if !strings.Contains(text, `<html lang="`+lang+`">`) || strings.Contains(text, "docs.") {
			t.Errorf("page in %s: a text is missing", lang)
		}
		for _, o := range operationsOf(r.server.spec.doc) {
			for _, want := range []string{
				`id="` + o.OperationID + `"`, `href="#` + o.OperationID + `"`, "<code class=\"path\">" + o.path + "</code>",
				html.EscapeString(o.Summary),
			} {
				if !strings.Contains(text, want) {
					t.Errorf("page in %s lacks %s of %s", lang, want, o)
				}
			}
		}
		for name := range r.server.spec.doc.Components.Schemas {
			if !strings.Contains(text, `id="schema-`+name+`"`) {
				t.Errorf("page in %s lacks the type %s", lang, name)
			}
		}
		for _, m := range regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(text, `id="`+m[1]+`"`) {
				t.Errorf("page in %s: link to #%s leads nowhere", lang, m[1])
			}
		}
	}
}

func TestPagesFetchNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	seen := map[string]bool{}
	todo := []string{"/docs"}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		a := visit(r, "GET", path).want(200)
		if a.header.Get("Content-Security-Policy") != reference.Policy || a.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s has headers %v", path, a.header)
		}
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			if strings.Contains(a.header.Get("Content-Type"), "css") && strings.Contains(string(a.body), "url(") {
				t.Errorf("%s fetches something", path)
			}
			continue
		}
		for _, m := range regexp.MustCompile(`(?i)<([a-z]+)\b[^>]*?\b(src|href|srcset|action|data|poster)="([^"]*)"`).FindAllStringSubmatch(string(a.body), -1) {
			target, _, _ := strings.Cut(html.UnescapeString(m[3]), "#")
			target, _, _ = strings.Cut(target, "?")
			outside := !strings.HasPrefix(target, "/docs") && target != ""
			if outside && m[1] != "a" {
				t.Errorf("%s fetches %s", path, m[3])
			}
			if !outside && target != "" {
				todo = append(todo, target)
			}
		}
		for _, bad := range []string{"<style", "<iframe", " style=", " onclick=", " onload=", "@import", "<script>"} {
			if strings.Contains(string(a.body), bad) {
				t.Errorf("%s has %s, which its policy forbids", path, bad)
			}
		}
	}
	for _, name := range docs.Names() {
		if !seen["/docs/"+name] {
			t.Errorf("no link leads to the page %s", name)
		}
	}
	for _, want := range []string{"/docs/openapi.json", "/docs/openapi.yaml", "/docs/page.css", "/docs/page.js"} {
		if !seen[want] {
			t.Errorf("no link leads to %s", want)
		}
	}
	if !strings.HasPrefix(reference.Policy, "default-src 'none';") || strings.Contains(reference.Policy, "http") {
		t.Errorf("policy is %s", reference.Policy)
	}
}

func TestEveryProblemLeadsToItsExplanation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := decode[gen.Problem](r.call("GET", "/fabrics/none", "").want(404))
	if p.Type != "/docs/problems#not-found" {
		t.Errorf("type is %s", p.Type)
	}
	path, _, _ := strings.Cut(p.Type, "#")
	text := string(visit(r, "GET", path).want(200).body)
	for code, k := range kinds() {
		_, rest, ok := strings.Cut(text, `<h2 id="`+code+`">`)
		if !ok {
			t.Errorf("the page has no section %s", code)
			continue
		}
		_, rest, _ = strings.Cut(rest, "<p>")
		if !strings.HasPrefix(rest, strconv.Itoa(k.status)+". ") {
			t.Errorf("section %s begins with %.20q, want its status %d", code, rest, k.status)
		}
	}
}

func TestTheContractIsServed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	y := visit(r, "GET", "/docs/openapi.yaml").want(200)
	if string(y.body) != string(contract) || y.header.Get("Content-Type") != "application/yaml" {
		t.Errorf("%d bytes of %s", len(y.body), y.header.Get("Content-Type"))
	}
	j := visit(r, "GET", "/docs/openapi.json").want(200)
	doc := document(t, j.body)
	if j.header.Get("Content-Type") != "application/json" {
		t.Errorf("the JSON is of type %s", j.header.Get("Content-Type"))
	}
	if found := append(breaking(doc, r.server.spec.doc), breaking(r.server.spec.doc, doc)...); len(found) > 0 {
		t.Errorf("the JSON is another contract: %q", found)
	}
}

func TestPagesAreCachedByETag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	en := visit(r, "GET", "/docs/problems").want(200)
	zh := visit(r, "GET", "/docs/problems", "Accept-Language", "zh-CN").want(200)
	if tag := en.header.Get("ETag"); tag == "" || tag == zh.header.Get("ETag") || !strings.Contains(en.header.Get("Vary"), "Accept-Language") {
		t.Errorf("tags are %q and %q, Vary %q", tag, zh.header.Get("ETag"), en.header.Get("Vary"))
	}
	if again := visit(r, "GET", "/docs/problems", "If-None-Match", en.header.Get("ETag")).want(304); len(again.body) > 0 {
		t.Error("304 with a body")
	}
	visit(r, "GET", "/docs/problems", "If-None-Match", zh.header.Get("ETag")).want(200)
	if head := visit(r, "HEAD", "/docs/problems").want(200); len(head.body) > 0 || head.header.Get("Content-Length") == "0" {
		t.Errorf("HEAD gives %d bytes, %v", len(head.body), head.header)
	}
	if packed := visit(r, "GET", "/docs", "Accept-Encoding", "gzip").want(200); packed.header.Get("Content-Encoding") != "gzip" {
		t.Error("the page is not compressed")
	}
	for _, path := range []string{"/docs/none", "/docs/../go.mod", "/docs/problems.md", "/docs/img/x", "/docs/%2e%2e/x"} {
		visit(r, "GET", path).want(404, "no-such-route")
	}
	visit(r, "GET", "/docs/%ff").want(400, "malformed-request")
	visit(r, "POST", "/docs").want(405, "method-not-allowed")
}
