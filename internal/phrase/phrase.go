// Package phrase has sentences that are made where something is found and told where somebody reads it, in the reader's language.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
)

// Text is a sentence or a part of one: an English template with {} where each value stands, which is also its key in other languages.
type Text struct {
	Template string  `json:"template"`
	Values   []Value `json:"values,omitempty"`
}

// Value stands in a sentence: a plain one, such as a name or a rate, that reads the same in every language, or else sentences, which
// Separator joins.
type Value struct {
	Plain string `json:"plain,omitempty"`
	Texts []Text `json:"texts,omitempty"`
}

// Separator is the template between sentences that are one value.
const Separator = "; "

// Of is the sentence of a template with so many values as it has {}. A value that is a Text or a []Text is told in the reader's language,
// any other as fmt.Sprint prints it.
func Of(template string, values ...any) Text {
	t := Text{Template: template}
	for _, v := range values {
		switch v := v.(type) {
		case Text:
			t.Values = append(t.Values, Value{Texts: []Text{v}})
		case []Text:
			t.Values = append(t.Values, Value{Texts: v})
		default:
			t.Values = append(t.Values, Value{Plain: fmt.Sprint(v)})
		}
	}
	return t
}

// String is the sentence in English.
func (t Text) String() string { return t.In(func(english string) string { return english }) }

// In is the sentence in the language of templates, which gives a template for the English one. In other languages {2} is the second value,
// wherever it stands. What stands for a value that the sentence has not is left as it is.
func (t Text) In(templates func(english string) string) string {
	return string(t.appendTo(nil, templates))
}

func (t Text) appendTo(out []byte, templates func(english string) string) []byte {
	rest := templates(t.Template)
	for next := 0; ; next++ {
		before, name, after, ok := slot(rest)
		if !ok {
			return append(out, rest...)
		}
		out = append(out, before...)
		at := next
		if name != "" {
			n, _ := strconv.Atoi(name)
			at = n - 1
		}
		if at < 0 || at >= len(t.Values) {
			out = append(out, "{"+name+"}"...)
		} else {
			out = t.Values[at].appendTo(out, templates)
		}
		rest = after
	}
}

func (v Value) appendTo(out []byte, templates func(english string) string) []byte {
	out = append(out, v.Plain...)
	for i, t := range v.Texts {
		if i > 0 {
			out = append(out, templates(Separator)...)
		}
		out = t.appendTo(out, templates)
	}
	return out
}

// slot finds the first {} or {number} of a template.
func slot(template string) (before, name, after string, ok bool) {
	for from := 0; ; {
		i := strings.IndexByte(template[from:], '{')
		if i < 0 {
			return "", "", "", false
		}
		i += from
		n := len(template[i+1:]) - len(strings.TrimLeft(template[i+1:], "0123456789"))
		if end := i + 1 + n; end < len(template) && template[end] == '}' {
			return template[:i], template[i+1 : end], template[end+1:], true
		}
		from = i + 1
	}
}

// Slots counts where values stand in a template.
func Slots(template string) int {
	n := 0
	for {
		_, _, after, ok := slot(template)
		if !ok {
			return n
		}
		n, template = n+1, after
	}
}
