// Package docs holds the pages of this folder, so that the service can serve what was written about it.
package docs

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.md
var files embed.FS

// Names lists the pages, sorted: "problems" for problems.md.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil { // not possible: the folder is in the binary
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	slices.Sort(names)
	return names
}

// Page returns the Markdown of a page; ok is false when there is none of that name.
func Page(name string) (text string, ok bool) {
	b, err := files.ReadFile(name + ".md")
	return string(b), err == nil
}
