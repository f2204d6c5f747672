// Package i18n gives the command line the texts of one language: those of a key (T), and sentences that were made elsewhere (Say). The
// templates are in package catalogue.
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

// Default is the language of everyone whose language has no catalogue.
const Default = catalogue.Default

// Languages lists the catalogues, sorted.
func Languages() []string { return catalogue.Languages() }

// Catalogue is the texts of one language. It is immutable and safe for concurrent use.
type Catalogue struct {
	lang  string
	texts catalogue.Texts
}

// Load reads the catalogue of one of Languages; another language is an error.
func Load(lang string) (*Catalogue, error) {
	texts, err := catalogue.Load(lang)
	if err != nil {
		return nil, err
	}
	return &Catalogue{lang, texts}, nil
}

// Say writes a sentence. What the catalogue does not have is in English.
func (c *Catalogue) Say(t phrase.Text) string { return t.In(c.template) }

func (c *Catalogue) template(id string) (string, bool) {
	template, ok := c.texts[id]
	return template, ok
}

// Either writes said when the catalogue knows it, else english.
func (c *Catalogue) Either(english string, said *phrase.Text) string {
	return c.Say(phrase.Or(english, said))
}

// Error is the text of an error, in the catalogue's language as far as there are sentences for it (phrase.OfError). Errors that are joined
// have a line each.
func (c *Catalogue) Error(err error) string {
	text := err.Error()
	if c.lang == Default {
		return text
	}
	if _, said := err.(phrase.Sentence); !said { //nolint:errorlint // what it wraps comes next
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

// RuleText says in words what a rule of a reason is.
type RuleText struct{ Rule, Text string }

// Rules are the rules among the names used, each once, by name. One that the catalogue does not know is left out.
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

// T returns the text of a key with its values filled in (catalogue.Fill); values come as name, value, name, value. A key without a text
// gives the key, so that a slip shows and nothing breaks.
func (c *Catalogue) T(key string, values ...any) string {
	text, ok := c.texts[key]
	if !ok {
		return key
	}
	return catalogue.Fill(text, func(name string) (string, bool) {
		for i := 0; i+1 < len(values); i += 2 {
			if values[i] == name {
				return fmt.Sprint(values[i+1]), true
			}
		}
		return "", false
	})
}

// Asked finds --lang VALUE or --lang=VALUE among a command's arguments, "" when there is none: help texts
// are made before flags are parsed.
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

// Pick chooses a language: asked (a flag's value) when it has a catalogue, else the first of
// FAIRLANE_LANG, LC_ALL, LC_MESSAGES and LANG that is set, else Default. Locale names such as
// zh_CN.UTF-8 and zh-Hans count as their language.
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

// Known reports whether there is a catalogue in the language of a locale name.
func Known(locale string) bool { return slices.Contains(Languages(), language(locale)) }

// language is that of a locale name.
func language(locale string) string {
	lang := strings.ToLower(locale)
	if i := strings.IndexAny(lang, "_-.@"); i >= 0 {
		lang = lang[:i]
	}
	return lang
}
