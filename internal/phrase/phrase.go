// Package phrase has sentences that are made where something is found and told where somebody reads it, in the reader's language.
package phrase

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Text is a sentence or a part of one: an English template with {} where each value stands, which is also its key in other languages.
type Text struct {
	Template string  `json:"template"`
	Values   []Value `json:"values,omitempty"`
}

// Value stands in a sentence: a plain one, such as a name or a rate, that reads the same in every language, or else sentences with Join
// between them.
type Value struct {
	Plain string `json:"plain,omitempty"`
	Texts []Text `json:"texts,omitempty"`
	Join  string `json:"join,omitempty"` // a template; "" is Separator
}

// Separator and Comma are the templates between sentences that are one value.
const (
	Separator = "; "
	Comma     = ", "
)

// Commas are sentences that are one value, with Comma between them.
type Commas []Text

// mostParts bounds the templates that are filled in to tell one sentence. None of ours needs a hundredth; one from elsewhere may hold itself
// ready to double a thousand times.
const mostParts = 10_000

// Of is the sentence of a template with so many values as it has {}. A value that is a Text, a []Text, Commas or an *Error is told in the
// reader's language, any other as fmt.Sprint prints it.
func Of(template string, values ...any) Text {
	t := Text{Template: template}
	for _, v := range values {
		switch v := v.(type) {
		case Text:
			t.Values = append(t.Values, Value{Texts: []Text{v}})
		case *Error:
			t.Values = append(t.Values, Value{Texts: []Text{v.Text}})
		case []Text:
			t.Values = append(t.Values, Value{Texts: v})
		case Commas:
			t.Values = append(t.Values, Value{Texts: v, Join: Comma})
		default:
			t.Values = append(t.Values, Value{Plain: fmt.Sprint(v)})
		}
	}
	return t
}

// Vouched is said when that is english in another form, else english alone: said may be nil, and nothing proves the two to be one sentence in
// what comes from elsewhere.
func Vouched(english string, said *Text) Text {
	if said != nil && said.String() == english {
		return *said
	}
	return Of("{}", english)
}

// String is the sentence in English.
func (t Text) String() string { return t.In(func(english string) string { return english }) }

// In is the sentence in the language of templates, which gives a template for the English one. {2} is the second value wherever it stands, and
// {} as many as there were before it, numbered ones included. What stands for a value that the sentence has not is left as it is. A sentence
// that would need more than mostParts templates ends early.
func (t Text) In(templates func(english string) string) string {
	x := teller{templates: templates, left: mostParts}
	x.text(t)
	return string(x.out)
}

type teller struct {
	templates func(english string) string
	left      int // templates that may still be filled in
	out       []byte
}

func (x *teller) text(t Text) {
	if x.left == 0 {
		return
	}
	x.left--
	rest := x.templates(t.Template)
	for next := 0; ; next++ {
		before, name, after, ok := slot(rest)
		if !ok {
			break
		}
		x.out = append(x.out, before...)
		at := next
		if name != "" {
			n, _ := strconv.Atoi(name)
			at = n - 1
		}
		if at < 0 || at >= len(t.Values) {
			x.out = append(x.out, "{"+name+"}"...)
		} else {
			x.value(t.Values[at])
		}
		rest = after
	}
	x.out = append(x.out, rest...)
}

func (x *teller) value(v Value) {
	x.out = append(x.out, v.Plain...)
	for i, t := range v.Texts {
		if i > 0 && x.left > 0 {
			x.out = append(x.out, x.templates(cmp.Or(v.Join, Separator))...)
		}
		x.text(t)
	}
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
