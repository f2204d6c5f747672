// Package reference serves the contract and the pages of docs to browsers: the parameters and results of every operation,
// and the meaning of every problem. All content is in the binary; a page fetches nothing from elsewhere, and its
// security policy forbids that.
package reference

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/docs"
	"fairlane/internal/i18n"
)

// Root is the path prefix of all pages.
const Root = "/docs"

// Policy is the content security policy of the pages: only our style and our script.
const Policy = "default-src 'none'; style-src 'self'; script-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.html page.css page.js
var assets embed.FS

// Problem is a stable code of an error.
type Problem struct {
	Code, Title string
	Status      int
}

// Source is the input of the pages.
type Source struct {
	Contract *openapi3.T
	YAML     []byte // the contract as written
	// Problems lists the problems of an operation; Common those of every one.
	Problems func(method, path string) []Problem
	Common   []Problem
	// Right describes the right that an operation requires; "" means none.
	Right func(method, path string) string
}

// Page is one answer.
type Page struct {
	Type string // media type
	Body []byte
	ETag string
}

// Site answers paths below Root. It is safe for concurrent use.
type Site struct {
	source Source
	pages  map[string]func() (Page, error) // by path and language; each is built on first use
}

// New returns the site of a contract. An error is a defect of the embedded parts, which the tests find.
func New(s Source) (*Site, error) {
	site := &Site{source: s, pages: map[string]func() (Page, error){}}
	for _, lang := range i18n.Languages() {
		words, err := i18n.Load(lang)
		if err != nil {
			return nil, err
		}
		t, err := template.New("page.html").Funcs(template.FuncMap{"t": words.T}).ParseFS(assets, "page.html")
		if err != nil {
			return nil, fmt.Errorf("read template: %w", err)
		}
		site.add(lang, "", func() (Page, error) { return site.reference(t, words) })
		for _, name := range docs.Names() {
			site.add(lang, name, func() (Page, error) { return site.words(t, words, name) })
		}
		site.add(lang, "openapi.yaml", func() (Page, error) { return page("application/yaml", s.YAML), nil })
		site.add(lang, "openapi.json", func() (Page, error) {
			b, err := json.MarshalIndent(s.Contract, "", "  ")
			return page("application/json", append(b, '\n')), err
		})
		for name, kind := range map[string]string{"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"} {
			site.add(lang, name, func() (Page, error) {
				b, err := assets.ReadFile(name)
				return page(kind, b), err
			})
		}
	}
	return site, nil
}

func (s *Site) add(lang, name string, f func() (Page, error)) {
	s.pages[lang+" "+name] = sync.OnceValues(f)
}

func page(kind string, body []byte) Page {
	sum := sha256.Sum256(body)
	return Page{Type: kind, Body: body, ETag: `W/"` + hex.EncodeToString(sum[:12]) + `"`}
}

// Find returns the page of a path below Root, "/docs/problems", in a language of i18n.Languages. ok is false when there
// is none.
func (s *Site) Find(urlPath, lang string) (p Page, ok bool, err error) {
	name := strings.Trim(strings.TrimPrefix(urlPath, Root), "/")
	f, ok := s.pages[lang+" "+name]
	if !ok {
		return Page{}, false, nil
	}
	p, err = f()
	return p, true, err
}

// Language returns the language of a reader: ?lang= first, then the browser's preference.
func Language(r *http.Request) string {
	for tag := range strings.SplitSeq(r.URL.Query().Get("lang")+","+r.Header.Get("Accept-Language"), ",") {
		tag, _, _ = strings.Cut(strings.TrimSpace(tag), ";")
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		for _, lang := range i18n.Languages() {
			if base == lang {
				return lang
			}
		}
	}
	return i18n.Default
}

// view is the input of the template.
type view struct {
	Lang, Title string
	Pages       []pageLink
	Other       string        // the other language, to switch to
	Here        string        // path of the page itself
	Words       template.HTML // of a page of docs
	About       template.HTML // of the contract
	Version     string
	Groups      []group
	Schemas     []schema
	Common      []Problem
}

type pageLink struct {
	Path, Title string
	Here        bool
}

// title returns the first heading of a page.
func title(name, text string) string {
	for line := range strings.Lines(text) {
		if h, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(h)
		}
	}
	return name
}

func (s *Site) view(words *i18n.Catalogue, here, heading string) view {
	v := view{Lang: words.Lang(), Title: heading, Here: path.Join(Root, here), Version: s.source.Contract.Info.Version}
	for _, lang := range i18n.Languages() {
		if lang != words.Lang() {
			v.Other = lang
		}
	}
	v.Pages = append(v.Pages, pageLink{Root, words.T("docs.reference"), here == ""})
	for _, name := range docs.Names() {
		text, _ := docs.Page(name)
		v.Pages = append(v.Pages, pageLink{path.Join(Root, name), title(name, text), here == name})
	}
	return v
}

// words builds the page of a file of docs.
func (s *Site) words(t *template.Template, words *i18n.Catalogue, name string) (Page, error) {
	text, _ := docs.Page(name)
	v := s.view(words, name, title(name, text))
	v.Words = template.HTML(markdown(text, lead)) //nolint:gosec // our own words, with all HTML in them escaped
	return execute(t, v)
}

func execute(t *template.Template, v view) (Page, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return Page{}, fmt.Errorf("make page %s: %w", v.Here, err)
	}
	return page("text/html; charset=utf-8", b.Bytes()), nil
}

// lead maps the target of a link in a page of docs to its path here; "" for anything that is not served.
func lead(target string) string {
	file, anchor, found := strings.Cut(target, "#")
	if found {
		anchor = "#" + anchor
	}
	switch name := strings.TrimSuffix(file, ".md"); {
	case strings.HasPrefix(target, "https://"), strings.HasPrefix(target, "http://"):
		return target
	case file == "":
		return anchor
	case path.Base(file) == "openapi.yaml":
		return Root + "/openapi.yaml"
	case name == file: // no page
		return ""
	default:
		if _, ok := docs.Page(name); ok {
			return path.Join(Root, name) + anchor
		}
	}
	return ""
}
