// Package i18n provides the command line with the texts of one language: those of a key (T), and sentences from other
// packages (Say). The templates are in package catalogue.
package i18n

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/phrase"
)

// Default is the language for users without a catalogue in their language.
const Default = catalogue.Default

// Languages lists the catalogues, sorted.
func Languages() []string { return catalogue.Languages() }

// Catalogue is the texts of one language. It is immutable and safe for concurrent use.
type Catalogue struct {
	lang  string
	texts catalogue.Texts
}

// Load loads the catalogue of one of Languages; it fails for another language.
func Load(lang string) (*Catalogue, error) {
	texts, err := catalogue.Load(lang)
	if err != nil {
		return nil, err
	}
	return &Catalogue{lang, texts}, nil
}

// Say returns a sentence. Parts that the catalogue lacks are in English.
func (c *Catalogue) Say(t phrase.Text) string { return t.In(c.template) }

func (c *Catalogue) template(id string) (string, bool) {
	template, ok := c.texts[id]
	return template, ok
}

// Either returns said if the catalogue has a template for it, else english.
func (c *Catalogue) Either(english string, said *phrase.Text) string {
	return c.Say(phrase.Or(english, said))
}

// Error returns the text of an error. Parts that have sentences are in the catalogue's language (phrase.OfError). Each
// of several joined errors has its own line.
func (c *Catalogue) Error(err error) string {
	text := err.Error()
	if c.lang == Default {
		return text
	}
	if _, said := err.(phrase.Sentence); !said { //nolint:errorlint // below, a sentence is only a part of the text
		if inner := errors.Unwrap(err); inner != nil && inner.Error() == text {
			return c.Error(inner)
		}
		if joined, ok := err.(interface{ Unwrap() []error }); ok && errors.Join(joined.Unwrap()...).Error() == text {
			var lines []string
			for _, e := range joined.Unwrap() {
				lines = append(lines, c.Error(e))
			}
			return strings.Join(lines, "\n")
		}
	}
	if said := phrase.OfError(err); !said.IsVerbatim() {
		text = c.Say(said)
	}
	return text
}

// RuleText explains a rule of reasons.
type RuleText struct{ Rule, Text string }

// Rules returns the texts of the rules used, each once, by name. It omits rules that the catalogue does not know.
func (c *Catalogue) Rules(used []string) []RuleText {
	used = slices.Clone(used)
	slices.Sort(used)
	var out []RuleText
	for _, r := range slices.Compact(used) {
		if key := "rule." + r; c.Has(key) {
			out = append(out, RuleText{r, c.T(key)})
		}
	}
	return out
}

// Lang returns the catalogue's language.
func (c *Catalogue) Lang() string { return c.lang }

// Keys returns the catalogue's keys, sorted.
func (c *Catalogue) Keys() []string { return slices.Sorted(maps.Keys(c.texts)) }

// Has reports whether the key has a text.
func (c *Catalogue) Has(key string) bool { _, ok := c.texts[key]; return ok }

// T returns the text of a key with its values inserted (catalogue.Fill); values are name, value, name, value. For a key
// without a text it returns the key, so that the error is visible but harmless.
func (c *Catalogue) T(key string, values ...any) string {
	text, ok := c.texts[key]
	if !ok {
		return key
	}
	return catalogue.Fill(text, c.template, func(name string) (string, bool) {
		for i := 0; i+1 < len(values); i += 2 {
			if values[i] == name {
				return fmt.Sprint(values[i+1]), true
			}
		}
		return "", false
	})
}

// Asked returns the value of --lang among a command's arguments, "" if there is none. It is needed because help texts
// are built before flags are parsed.
func Asked(args []string) string {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--lang="); ok {
			return v
		}
		if a == "--lang" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// Pick selects a language: asked (a flag's value) if it has a catalogue, else the first of FAIRLANE_LANG, LC_ALL,
// LC_MESSAGES and LANG that is set, else Default. Locale names such as zh_CN.UTF-8 and zh-Hans select their language.
func Pick(asked string, getenv func(string) string) string {
	for _, v := range []string{asked, getenv("FAIRLANE_LANG"), getenv("LC_ALL"), getenv("LC_MESSAGES"), getenv("LANG")} {
		if v == "" {
			continue
		}
		if Known(v) {
			return language(v)
		}
		return Default
	}
	return Default
}

// Known reports whether the language of a locale name has a catalogue.
func Known(locale string) bool { return slices.Contains(Languages(), language(locale)) }

// language returns the language of a locale name.
func language(locale string) string {
	lang := strings.ToLower(locale)
	if i := strings.IndexAny(lang, "_-.@"); i >= 0 {
		lang = lang[:i]
	}
	return lang
}
