// Package zhtest finds English words in errors for Chinese users.
package zhtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"fairlane/internal/i18n"
)

var (
	quoted = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	// tokens are words, and names recognized by their form: a GUID, a path, a unit, an address.
	tokens = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9_./@+=:\[\]-]*`)
	word   = regexp.MustCompile(`^[A-Za-z]*[a-z][A-Za-z]+$`)
)

// alike are words that also occur in Chinese texts.
var alike = strings.Fields("ms us ns ps KiB MiB true false OpenSM OpenID SQLite")

// Error fails unless an error has a Chinese text without English words. Names, such as the keys of a file, and quoted
// text are the same in every language. name is that of the test case.
func Error(t testing.TB, name string, err error, names ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	zh, loadErr := i18n.Load("zh")
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	Text(t, name, zh.Error(err), names...)
}

// Text is Error for a text.
func Text(t testing.TB, name, text string, names ...string) {
	t.Helper()
	if !strings.ContainsFunc(text, han) {
		t.Errorf("%s: %q is not Chinese", name, text)
	}
	for _, found := range tokens.FindAllString(quoted.ReplaceAllString(text, `""`), -1) {
		if w := strings.TrimRight(found, ".:"); word.MatchString(w) && !slices.Contains(alike, w) && !slices.Contains(names, w) {
			t.Errorf("%s: %q in %s", name, w, text)
		}
	}
}

func han(r rune) bool { return r >= 0x4e00 && r <= 0x9fff }
