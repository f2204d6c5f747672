// Package phrase has sentences that are built where something is found and written in the user's language where they
// are shown: a stable message id with named, typed parameters. The catalogue (internal/i18n/catalogue) has the template
// of each id in each language.
package phrase

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"fairlane/internal/i18n/catalogue"
	"fairlane/internal/quantity"
)

// Text is a sentence or a part of one: the id of its template, and the values for the template. The zero value means no
// sentence.
type Text struct {
	ID     string
	Params []Param // by name, each name once
}

// Param is one named value of a sentence.
type Param struct {
	Name  string
	Value Value
}

// Commas are sentences that form one value, separated by commas.
type Commas []Text

// Text returns them as one sentence.
func (c Commas) Text() Text { return Of("list.whole", "list", c) }

// Ids of the separators between the sentences of one value.
const (
	semicolon = "list.semicolon"
	comma     = "list.comma"
	nameComma = "list.separator"
)

// verbatim is the id of text that is the same in every language.
const verbatim = "verbatim"

// Of returns the sentence of an id. Parameters are name, value, name, value; names are strings. A Text, []Text, Commas
// or error is written in the user's language; quantities (quantity.BitRate, quantity.Picoseconds, Percent), integers
// and lists of names ([]string) keep their types; any other value is converted by fmt.Sprint. Of panics if a value is
// missing, like a call with a missing argument, which would not compile; a test checks every call.
func Of(id string, pairs ...any) Text {
	t := Text{ID: id}
	for i := 0; i < len(pairs); i += 2 {
		t.Params = append(t.Params, Param{pairs[i].(string), valueOf(pairs[i+1])})
	}
	slices.SortFunc(t.Params, func(a, b Param) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

// Joined returns two sentences as one. The zero Text is no sentence.
func Joined(first, second Text) Text {
	switch {
	case first.ID == "":
		return second
	case second.ID == "":
		return first
	}
	return Of("joined", "first", first, "second", second)
}

// Verbatim is text that is the same in every language, such as an error of the operating system.
func Verbatim(text string) Text { return Of(verbatim, "text", text) }

// Quoted is text in English that Fairlane does not word itself, such as an answer of a device. Other languages show it in
// quotation marks.
func Quoted(text string) Text { return Of("quoted", "text", text) }

// QuotedError is OfError for errors that may have no sentence: their text is quoted.
func QuotedError(err error) Text {
	if said := OfError(err); !said.IsVerbatim() {
		return said
	}
	return Quoted(err.Error())
}

// IsVerbatim reports whether the sentence was made by Verbatim.
func (t Text) IsVerbatim() bool { return t.ID == verbatim }

// Or returns said if the catalogue has a template for it, else english: said may be nil, or from a later version of the program.
func Or(english string, said *Text) Text {
	if said != nil && said.Known() {
		return *said
	}
	if english == "" {
		return Text{}
	}
	return Verbatim(english)
}

// Known reports whether the catalogue has the sentence, and the sentence has every value that its template names.
func (t Text) Known() bool {
	template, ok := catalogue.English(t.ID)
	return ok && !slices.ContainsFunc(catalogue.Names(template), func(name string) bool {
		_, has := t.Param(name)
		return !has
	})
}

// Param returns the value of a parameter; false if the sentence has none of that name.
func (t Text) Param(name string) (Value, bool) {
	i, ok := slices.BinarySearchFunc(t.Params, name, func(p Param, name string) int { return cmp.Compare(p.Name, name) })
	if !ok {
		return Value{}, false
	}
	return t.Params[i].Value, true
}

// String returns the sentence in English.
func (t Text) String() string { return t.In(catalogue.English) }

// maxParts limits the number of templates in one sentence. Fairlane's sentences need less than a hundredth; one from
// elsewhere may be built to double a thousand times.
const maxParts = 10_000

// In returns the sentence in the language of templates, which returns the template of an id; missing templates are
// taken in English. For an unknown id the result is the id with its values. A sentence that needs more than maxParts
// templates is truncated.
func (t Text) In(templates func(id string) (template string, ok bool)) string {
	w := writer{templates: templates, left: maxParts}
	return w.text(t)
}

type writer struct {
	templates func(id string) (string, bool)
	left      int // remaining number of templates
}

func (w *writer) text(t Text) string {
	if w.left == 0 || t.ID == "" {
		return ""
	}
	w.left--
	template, ok := w.template(t.ID)
	if !ok {
		return w.unknown(t)
	}
	return catalogue.Fill(template, w.template, func(name string) (string, bool) {
		v, ok := t.Param(name)
		if !ok {
			return "", false
		}
		return w.value(v), true
	})
}

// template returns the template of an id, in English if the language lacks it.
func (w *writer) template(id string) (string, bool) {
	if template, ok := w.templates(id); ok {
		return template, true
	}
	return catalogue.English(id)
}

// unknown writes a sentence that has no template.
func (w *writer) unknown(t Text) string {
	parts := make([]string, 0, len(t.Params))
	for _, p := range t.Params {
		parts = append(parts, p.Name+": "+w.value(p.Value))
	}
	if len(parts) == 0 {
		return t.ID
	}
	return t.ID + " (" + strings.Join(parts, ", ") + ")"
}

func (w *writer) value(v Value) string {
	switch v.Kind {
	case KindTexts:
		parts := make([]string, 0, len(v.Texts))
		for _, t := range v.Texts {
			if w.left == 0 {
				break
			}
			parts = append(parts, w.text(t))
		}
		return strings.Join(parts, w.separator(cmp.Or(v.Join, semicolon)))
	case KindNames:
		return strings.Join(v.Names, w.separator(nameComma))
	default:
		return strings.ReplaceAll(v.String(), "\n", "; ") // such as joined errors
	}
}

func (w *writer) separator(id string) string {
	s, _ := w.template(id)
	return s
}

// valueOf converts a value to its typed form.
func valueOf(v any) Value {
	switch v := v.(type) {
	case Value:
		return v
	case Text:
		return Value{Kind: KindTexts, Texts: []Text{v}}
	case []Text:
		return Value{Kind: KindTexts, Texts: v}
	case Commas:
		return Value{Kind: KindTexts, Texts: v, Join: comma}
	case []string:
		return Value{Kind: KindNames, Names: v}
	case quantity.BitRate:
		return Value{Kind: KindRate, N: int64(v)}
	case quantity.Picoseconds:
		return Value{Kind: KindTime, N: int64(v)}
	case Percent:
		return Value{Kind: KindPercent, N: int64(v)}
	case string:
		return Value{Plain: v}
	case error:
		return Value{Kind: KindTexts, Texts: []Text{OfError(v)}}
	case fmt.Stringer:
		return Value{Plain: fmt.Sprint(v)}
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return Value{Kind: KindInt, N: r.Int()}
	case r.CanUint() && r.Uint() <= 1<<53:
		return Value{Kind: KindInt, N: int64(r.Uint())}
	case r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.String:
		names := make([]string, r.Len())
		for i := range names {
			names[i] = r.Index(i).String()
		}
		return Value{Kind: KindNames, Names: names}
	}
	return Value{Plain: fmt.Sprint(v)}
}
