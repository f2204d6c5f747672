// Package catalogue holds the templates of all user-visible texts in English and in Chinese. Each language has two
// files, flat YAML maps from id to template: the texts of the command line (en.yaml), and the messages from other
// packages (messages.en.yaml, see internal/phrase). A template names its values in braces, "rollout {id} of {fabric}";
// {n:port|ports} stands for its first part if the value n prints as 1, else for the second. {state@rollout} stands for
// the word of a value that is one of a fixed set: the text with the id word.rollout.VALUE, which badges on pages show
// too. A value without a word, as of a later release, stands for itself.
package catalogue

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed *.yaml
var files embed.FS

// Default is the language for users without a catalogue in their language, and that of sentences in the API.
const Default = "en"

// Languages lists the languages, sorted.
func Languages() []string { return []string{"en", "zh"} }

// Texts maps ids to the templates of one language. They are shared and must not be changed.
type Texts map[string]string

// loaders load each language once.
var loaders = func() map[string]func() (Texts, error) {
	out := map[string]func() (Texts, error){}
	for _, lang := range Languages() {
		out[lang] = sync.OnceValues(func() (Texts, error) { return read(lang) })
	}
	return out
}()

// Load returns the texts of one of Languages; it fails for another language.
func Load(lang string) (Texts, error) {
	load, ok := loaders[lang]
	if !ok {
		return nil, fmt.Errorf("language %q: want one of %s", lang, strings.Join(Languages(), ", "))
	}
	return load()
}

// English returns the template of an id in the default language.
func English(id string) (template string, ok bool) {
	texts, err := Load(Default)
	if err != nil {
		return "", false // the catalogue's own test loads it and reports the error
	}
	template, ok = texts[id]
	return template, ok
}

func read(lang string) (Texts, error) {
	out := Texts{}
	for _, name := range []string{lang + ".yaml", "messages." + lang + ".yaml"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read catalogue: %w", err)
		}
		var texts Texts
		if err := yaml.Unmarshal(b, &texts); err != nil {
			return nil, fmt.Errorf("read catalogue %s: %w", name, err)
		}
		for id, template := range texts {
			if _, twice := out[id]; twice {
				return nil, fmt.Errorf("read catalogue %s: id %s stands in another file too", name, id)
			}
			out[id] = template
		}
	}
	return out, nil
}

// Word returns the id of the word for one value of a set, such as "rolled-back" of "rollout".
func Word(set, value string) string { return "word." + set + "." + value }

// Fill returns the template with its values inserted; value returns them by name, and text the texts of the template's
// language by id, for words. It keeps braces that contain no name of a value. It does not search values for names.
func Fill(template string, text func(id string) (string, bool), value func(name string) (string, bool)) string {
	var out []byte
	for {
		before, s, after, ok := next(template)
		out = meet(out, before, false)
		if !ok {
			return string(out)
		}
		if v, known := value(s.name); !known {
			out = append(out, s.text...)
		} else if !s.counts {
			if word, ok := text(Word(s.set, v)); ok && s.set != "" {
				v = word
			}
			out = meet(out, v, true)
		} else if v == "1" {
			out = append(out, s.one...)
		} else {
			out = append(out, s.other...)
		}
		template = after
	}
}

// Names lists the names of a template's values, sorted, each once.
func Names(template string) []string {
	var out []string
	for {
		_, s, after, ok := next(template)
		if !ok {
			slices.Sort(out)
			return slices.Compact(out)
		}
		out, template = append(out, s.name), after
	}
}

// Sets returns the set of each value of a template that stands for a word, by the value's name.
func Sets(template string) map[string]string {
	out := map[string]string{}
	for {
		_, s, after, ok := next(template)
		if !ok {
			return out
		}
		if s.set != "" {
			out[s.name] = s.set
		}
		template = after
	}
}

// Part is a part of a template: text, or the place of the value with a name.
type Part struct{ Text, Name string }

// Parts returns the parts of a template in their order; false if one of its values selects a form or stands for a word.
func Parts(template string) ([]Part, bool) {
	var out []Part
	for {
		before, s, after, ok := next(template)
		if before != "" {
			out = append(out, Part{Text: before})
		}
		if !ok {
			return out, true
		}
		if s.counts || s.set != "" {
			return nil, false
		}
		out, template = append(out, Part{Name: s.name}), after
	}
}

// slot is the place of a value in a template.
type slot struct {
	text       string // its text in the template
	name       string
	set        string // the set of words for its value; "" for a value that stands for itself
	counts     bool   // it selects one or other
	one, other string // depending on the value
}

// next returns the first slot of a template. If there is none, before is the whole template.
func next(template string) (before string, s slot, after string, ok bool) {
	for from := 0; ; {
		open := strings.IndexByte(template[from:], '{')
		if open < 0 {
			return template, slot{}, "", false
		}
		open += from
		end := strings.IndexByte(template[open:], '}')
		if end < 0 {
			return template, slot{}, "", false
		}
		end += open
		if s, ok := parse(template[open : end+1]); ok {
			return template[:open], s, template[end+1:], true
		}
		from = open + 1
	}
}

// parse parses {name}, {name@set} or {name:one|other}.
func parse(text string) (slot, bool) {
	whole, forms, counts := strings.Cut(text[1:len(text)-1], ":")
	name, set, words := strings.Cut(whole, "@")
	if !isName(name) || words && (counts || !isName(set)) {
		return slot{}, false
	}
	s := slot{text: text, name: name, set: set, counts: counts}
	if counts {
		var two bool
		if s.one, s.other, two = strings.Cut(forms, "|"); !two || strings.Contains(s.other, "|") {
			return slot{}, false
		}
	}
	return s, true
}

// isName reports whether a text can name a value or a set of words.
func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
