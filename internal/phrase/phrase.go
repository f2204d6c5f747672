// Package phrase has sentences that are made where something is found and written where a person reads it, in the reader's language: a
// stable message id and named, typed parameters. The catalogue (internal/i18n/catalogue) has the template of each id in each language.
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

// Text is a sentence or a part of one: the id of its template, and the values that the template names. The zero value is no sentence.
type Text struct {
	ID     string
	Params []Param // by name, each name once
}

// Param is one named value of a sentence.
type Param struct {
	Name  string
	Value Value
}

// Commas are sentences that are one value, with commas between them.
type Commas []Text

// Text is one sentence of them.
func (c Commas) Text() Text { return Of("list.whole", "list", c) }

// The ids of what stands between the sentences of one value.
const (
	semicolon = "list.semicolon"
	comma     = "list.comma"
	nameComma = "list.separator"
)

// verbatim is the id of text that reads the same in every language.
const verbatim = "verbatim"

// Of is the sentence of an id. Parameters come as name, value, name, value; names are strings. A Text, []Text, Commas or error is written
// in the reader's language; quantities (quantity.BitRate, quantity.Picoseconds, Percent), whole numbers and lists of names ([]string) keep
// their types; any other value is as fmt.Sprint prints it. It panics when the pairs are not complete, as a call with a missing argument
// would not compile; a test reads every call.
func Of(id string, pairs ...any) Text {
	t := Text{ID: id}
	for i := 0; i < len(pairs); i += 2 {
		t.Params = append(t.Params, Param{pairs[i].(string), valueOf(pairs[i+1])})
	}
	slices.SortFunc(t.Params, func(a, b Param) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

// Verbatim is text that is the same in every language, such as an error of the operating system.
func Verbatim(text string) Text { return Of(verbatim, "text", text) }

// IsVerbatim reports whether the sentence was made by Verbatim.
func (t Text) IsVerbatim() bool { return t.ID == verbatim }

// Or is said when the catalogue knows it, else english alone: said may be nil, or of a later version of the program.
func Or(english string, said *Text) Text {
	if said != nil && said.Known() {
		return *said
	}
	if english == "" {
		return Text{}
	}
	return Verbatim(english)
}

// Known reports whether the catalogue has the sentence, and the sentence every value that its template names.
func (t Text) Known() bool {
	template, ok := catalogue.English(t.ID)
	return ok && !slices.ContainsFunc(catalogue.Names(template), func(name string) bool {
		_, has := t.Param(name)
		return !has
	})
}

// Param returns the value of a name; false when the sentence has none of that name.
func (t Text) Param(name string) (Value, bool) {
	i, ok := slices.BinarySearchFunc(t.Params, name, func(p Param, name string) int { return cmp.Compare(p.Name, name) })
	if !ok {
		return Value{}, false
	}
	return t.Params[i].Value, true
}

// String is the sentence in English.
func (t Text) String() string { return t.In(catalogue.English) }

// maxParts bounds the templates that are filled in to write one sentence. None of ours needs a hundredth; one from elsewhere may be built to
// double a thousand times.
const maxParts = 10_000

// In is the sentence in the language of templates, which gives the template of an id; one that it does not have is taken in English. A
// sentence of an unknown id is the id with its values. A sentence that would need more than maxParts templates ends early.
func (t Text) In(templates func(id string) (template string, ok bool)) string {
	w := writer{templates: templates, left: maxParts}
	return w.text(t)
}

type writer struct {
	templates func(id string) (string, bool)
	left      int // templates that may still be filled in
}

func (w *writer) text(t Text) string {
	if w.left == 0 || t.ID == "" {
		return ""
	}
	w.left--
	template, ok := w.templates(t.ID)
	if !ok {
		template, ok = catalogue.English(t.ID)
	}
	if !ok {
		return w.unknown(t)
	}
	return catalogue.Fill(template, func(name string) (string, bool) {
		v, ok := t.Param(name)
		if !ok {
			return "", false
		}
		return w.value(v), true
	})
}

// unknown writes a sentence without a template.
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
	if s, ok := w.templates(id); ok {
		return s
	}
	s, _ := catalogue.English(id)
	return s
}

// valueOf types a value.
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
