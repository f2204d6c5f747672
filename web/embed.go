// Package web holds the built portal and console. `make web` builds them into dist; a build without them holds a page that
// says so.
package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed all:dist
var dist embed.FS

// Embedded returns the site of this build. An error is a defect of the build.
var Embedded = sync.OnceValues(func() (*Site, error) {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, err
	}
	return New(files)
})

// Page is one of the two applications.
type Page string

// The applications.
const (
	Console Page = "console"
	Portal  Page = "portal"
)

// Pages lists the applications.
var Pages = []Page{Console, Portal}

// Policy is the content-security policy of the applications, without the source of the nonce. Their styles carry the
// nonce, since the component library creates style elements.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"worker-src 'self' blob:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// PlaceholderPolicy is the policy of the placeholder, which consists of text and links.
const PlaceholderPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// hole is the text in the page of an application that the nonce replaces.
const hole = "__CSP_NONCE__"

// placeholder is the page of a build without applications.
const placeholder = "placeholder.html"

// Site is a built portal and console, or the placeholder.
type Site struct {
	pages       map[Page]string
	placeholder string
	assets      map[string]*Asset // by path below the root, "assets/portal-1a2b3c4d.js"
	hash        string
}

// Asset is a file that pages load.
type Asset struct {
	Type   string            // media type
	Hashed bool              // its name changes with its content
	Tag    string            // hash of the content
	Bodies map[string][]byte // by content coding: "br", "gzip", or "" for the content itself
}

// New reads a built site.
func New(files fs.FS) (*Site, error) {
	text, err := fs.ReadFile(files, placeholder)
	if err != nil {
		return nil, err
	}
	s := &Site{pages: map[Page]string{}, placeholder: string(text), assets: map[string]*Asset{}}
	for _, p := range Pages {
		text, err := fs.ReadFile(files, string(p)+".html")
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !bytes.Contains(text, []byte(hole)):
			return nil, fmt.Errorf("%s.html of the portal has no %s", p, hole)
		}
		s.pages[p] = string(text)
	}
	if len(s.pages) < len(Pages) {
		s.pages = nil
		return s, nil
	}
	return s, s.read(files)
}

// codings maps the suffix of a compressed file to its content coding.
var codings = map[string]string{".br": "br", ".gz": "gzip"}

// read reads the assets and hashes all files.
func (s *Site) read(files fs.FS) error {
	sums := map[string]string{}
	bodies := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == placeholder {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		sums[name], bodies[name] = hex.EncodeToString(sum[:]), body
		return nil
	})
	if err != nil {
		return err
	}
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		_, _ = fmt.Fprintf(all, "%s  %s\n", sums[name], name) // the form of sha256sum, which can verify it; a hash never fails
		s.add(name, sums[name], bodies)
	}
	s.hash = hex.EncodeToString(all.Sum(nil))
	return nil
}

// hashed matches the names that the build derives from the content: "index-Bx1_9-aZ.js".
var hashed = regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.[a-z0-9]+(\.map)?$`)

// add adds an asset with its compressed forms.
func (s *Site) add(name, sum string, bodies map[string][]byte) {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".br"), ".gz")
	if _, compressed := bodies[plain]; !strings.HasPrefix(name, "assets/") || plain != name && compressed {
		return
	}
	a := &Asset{Type: typeOf(name), Hashed: hashed.MatchString(name), Tag: sum[:32], Bodies: map[string][]byte{"": bodies[name]}}
	for suffix, coding := range codings {
		if b, ok := bodies[name+suffix]; ok {
			a.Bodies[coding] = b
		}
	}
	s.assets[name] = a
}

// typeOf returns the media type of a file. The table of the host is not consulted: its content varies.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".json", ".map":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// Built reports whether the site has the applications.
func (s *Site) Built() bool { return s.pages != nil }

// Hash returns the SHA-256 of the sorted names and contents of the built files, as printed by sha256sum for the list that
// sha256sum prints for them; "" without applications.
func (s *Site) Hash() string { return s.hash }

// Asset returns the asset with a path, "assets/…"; ok is false when there is none.
func (s *Site) Asset(name string) (a *Asset, ok bool) {
	a, ok = s.assets[name]
	return a, ok
}

// Render returns the page of an application with a nonce, and its policy. Without applications it returns the
// placeholder.
func (s *Site) Render(p Page, nonce string) (body []byte, policy string) {
	text, ok := s.pages[p]
	if !ok {
		return []byte(s.placeholder), PlaceholderPolicy
	}
	return []byte(strings.ReplaceAll(text, hole, nonce)), fmt.Sprintf(Policy, nonce)
}
