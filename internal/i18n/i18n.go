// Package i18n holds every text that the command line shows to people, in English and in
// Chinese: one YAML file a language, key to template. A template names its values in braces:
// "rollout {id} ended as {state}". Sentences that are made where something is found (phrase.Text) are in English
// there; a second file has the others by their English template, for whoever says the same: one of few words needs some of its own
// around it to be told rightly.
package i18n

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
)

//go:embed catalogue/*.yaml
var files embed.FS

// Default is the language of everyone whose language has no catalogue.
const Default = "en"

// Languages lists the catalogues, sorted.
func Languages() []string { return []string{"en", "zh"} }

// Catalogue is the texts of one language. It is immutable and safe for concurrent use.
type Catalogue struct {
	lang    string
	texts   map[string]string
	phrases map[string]string // by English template
}

// Load reads the catalogue of one of Languages; another language is an error.
func Load(lang string) (*Catalogue, error) {
	if !slices.Contains(Languages(), lang) {
		return nil, fmt.Errorf("language %q: want one of %s", lang, strings.Join(Languages(), ", "))
	}
	b, err := files.ReadFile(path.Join("catalogue", lang+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", lang, err)
	}
	c := &Catalogue{lang: lang}
	if err := yaml.Unmarshal(b, &c.texts); err != nil {
		return nil, fmt.Errorf("read catalogue %s: %w", lang, err)
	}
	if lang == Default {
		return c, nil
	}
	if b, err = files.ReadFile(path.Join("catalogue", "phrases."+lang+".yaml")); err != nil {
		return nil, fmt.Errorf("read sentences of %s: %w", lang, err)
	}
	if err := yaml.Unmarshal(b, &c.phrases); err != nil {
		return nil, fmt.Errorf("read sentences of %s: %w", lang, err)
	}
	return c, nil
}

// Say tells a sentence. What the catalogue has no words for is told in English.
func (c *Catalogue) Say(t phrase.Text) string {
	return t.In(func(english string) string {
		if own, ok := c.phrases[english]; ok {
			return own
		}
		return english
	})
}

// Told is what somebody says in English, in the catalogue's language when said is the same sentence (phrase.Vouched).
func (c *Catalogue) Told(english string, said *phrase.Text) string {
	return c.Say(phrase.Vouched(english, said))
}

// Error is the text of an error; a sentence that it is or wraps (phrase.Error) is in the catalogue's language.
func (c *Catalogue) Error(err error) string {
	text := err.Error()
	if said := new(phrase.Error); errors.As(err, &said) {
		text = strings.Replace(text, said.Error(), c.Say(said.Text), 1)
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
func (c *Catalogue) Keys() []string {
	keys := make([]string, 0, len(c.texts))
	for k := range c.texts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Has reports whether the key has a text.
func (c *Catalogue) Has(key string) bool { _, ok := c.texts[key]; return ok }

// plural is what a text says of one and of any other number: {n:port|ports}.
var plural = regexp.MustCompile(`\{([a-z0-9_]+):([^{}|]*)\|([^{}|]*)\}`)

// T returns the text of a key with its values filled in; values come as name, value, name,
// value. {n:port|ports} stands for its first part where the value n prints as 1, else for the second.
// A key without a text gives the key, so that a slip shows and nothing breaks.
func (c *Catalogue) T(key string, values ...any) string {
	text, ok := c.texts[key]
	if !ok {
		return key
	}
	if len(values) < 2 {
		return text
	}
	pairs := make([]string, 0, len(values))
	for i := 0; i+1 < len(values); i += 2 {
		pairs = append(pairs, fmt.Sprintf("{%v}", values[i]), fmt.Sprint(values[i+1]))
	}
	if strings.ContainsRune(text, '|') {
		text = plural.ReplaceAllStringFunc(text, func(found string) string {
			parts := plural.FindStringSubmatch(found)
			if i := slices.Index(pairs, "{"+parts[1]+"}"); i >= 0 && pairs[i+1] == "1" {
				return parts[2]
			}
			return parts[3]
		})
	}
	return strings.NewReplacer(pairs...).Replace(text)
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
