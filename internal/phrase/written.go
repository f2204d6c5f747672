package phrase

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"fairlane/internal/i18n/catalogue"
)

// Sentences that are kept by the hundred thousand, such as the reasons in a plan, are kept as their English text only: Write
// makes the text from the template of an id, and a Reader finds the id and the values of a text again, with the same
// templates. Such a template has plain values only. A text may be several sentences, joined by Clauses.

// between separates the sentences of a text. No sentence has it inside.
const between = "; "

// Write returns the English text of a sentence. pairs are name, value, name, value, as in Of; a value must not be empty.
func Write(id string, pairs ...string) string {
	parts := partsOf(id)
	if len(parts) == 1 && parts[0].Name == "" {
		return parts[0].Text
	}
	b := make([]byte, 0, 192)
	for _, p := range parts {
		b = append(b, p.Text...)
		if p.Name == "" {
			continue
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == p.Name {
				b = append(b, pairs[i+1]...)
				break
			}
		}
	}
	return string(b)
}

// Clauses joins sentences of Write to one text.
func Clauses(texts ...string) string { return strings.Join(texts, between) }

// written has the parts of each template that Write used, by id.
var written sync.Map

func partsOf(id string) []catalogue.Part {
	if parts, ok := written.Load(id); ok {
		return parts.([]catalogue.Part)
	}
	parts := []catalogue.Part{{Text: id}} // visible but harmless; a test checks every call
	if template, ok := catalogue.English(id); ok {
		if found, plain := catalogue.Parts(template); plain {
			parts = found
		}
	}
	written.Store(id, parts)
	return parts
}

// Reader turns texts of Write and Clauses back into sentences. It is safe for concurrent use.
type Reader struct{ forms []form }

// form is a sentence that a Reader knows.
type form struct {
	id    string
	parts []catalogue.Part
	least int // bytes of its own text
}

// NewReader returns a reader of the sentences whose ids begin with a prefix.
func NewReader(prefix string) *Reader {
	r := &Reader{}
	texts, err := catalogue.Load(catalogue.Default)
	if err != nil {
		return r // the catalogue's own test loads it and reports the error
	}
	for id, template := range texts {
		parts, plain := catalogue.Parts(template)
		if !plain || !strings.HasPrefix(id, prefix) {
			continue
		}
		f := form{id: id, parts: parts}
		for _, p := range parts {
			f.least += len(p.Text)
		}
		r.forms = append(r.forms, f)
	}
	slices.SortFunc(r.forms, func(a, b form) int { // the one with most text of its own is tried first
		if a.least != b.least {
			return b.least - a.least
		}
		return strings.Compare(a.id, b.id)
	})
	return r
}

// maxRead bounds the texts that are read. Fairlane's have less than a fourth of it.
const maxRead = 2000

// Read returns the sentence of a text, whose text in English is the same again. It is false for another text, such as a
// number, or one that another version of Fairlane wrote.
func (r *Reader) Read(text string) (Text, bool) {
	if text == "" || len(text) > maxRead {
		return Text{}, false
	}
	var all []Text
	for clause := range strings.SplitSeq(text, between) {
		said, ok := r.clause(clause)
		if !ok {
			return Text{}, false
		}
		all = append(all, said)
	}
	if len(all) == 1 {
		return all[0], true
	}
	return Of("list.whole", "list", all), true
}

func (r *Reader) clause(text string) (Text, bool) {
	for i := range r.forms {
		f := &r.forms[i]
		if len(text) < f.least {
			continue
		}
		if values, ok := match(f.parts, text); ok {
			slices.SortFunc(values, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
			return Text{f.id, values}, true
		}
	}
	return Text{}, false
}

// match returns the values of a text that has the parts. Each value ends where the next part first appears, and the last part is the end of the
// text: if values can be chosen at all, these can, so nothing is tried twice.
func match(parts []catalogue.Part, text string) (values []Param, ok bool) {
	for i, p := range parts {
		if p.Name == "" {
			if text, ok = strings.CutPrefix(text, p.Text); !ok {
				return nil, false
			}
			continue
		}
		end := len(text)
		switch after := parts[i+1:]; {
		case len(after) == 1:
			end -= len(after[0].Text)
		case len(after) > 1 && text != "":
			end = 1 + strings.Index(text[1:], after[0].Text)
		}
		if end < 1 {
			return nil, false
		}
		values, text = append(values, Param{p.Name, readValue(text[:end])}), text[end:]
	}
	return values, text == ""
}

// readValue returns a value: an integer, or a text that is the same in every language.
func readValue(text string) Value {
	if n, err := strconv.ParseInt(text, 10, 53); err == nil && strconv.FormatInt(n, 10) == text {
		return Value{Kind: KindInt, N: n}
	}
	return Value{Plain: text}
}
