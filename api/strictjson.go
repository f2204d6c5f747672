package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
)

// maxDepth bounds the nesting of objects and lists in a body; the contract needs 6.
const maxDepth = 32

// Faults of a JSON text.
var (
	hasNUL  = phrase.Of("problem.has-nul")
	notUTF8 = phrase.Of("problem.not-utf8")
	hasHalf = phrase.Of("problem.half-surrogate")
)

// checkJSON rejects a body that is not one complete JSON text in UTF-8, is nested too deep, or is ambiguous (RFC 8259, 4
// and 8.2): a duplicate field in an object, the character 0, half of a surrogate pair. The error has the position and,
// where the text is JSON, the field.
func checkJSON(body []byte) error {
	if at, ok := tooDeep(body); ok {
		return malformed(body, at, phrase.Of("problem.too-deep", "max", maxDepth), nil)
	}
	if !utf8.Valid(body) {
		at, what := notText(string(body))
		return malformed(body, at, what, nil)
	}
	if !json.Valid(body) {
		var v json.RawMessage
		var syntax *json.SyntaxError
		at := len(body)
		if err := json.Unmarshal(body, &v); errors.As(err, &syntax) {
			at = min(int(syntax.Offset), len(body))
		}
		return malformed(body, max(at-1, 0), phrase.Of("problem.not-json"), nil)
	}
	w := walk{body: body}
	return w.texts()
}

// malformed reports a fault at the byte at of a body, counted from 0, with its field where known.
func malformed(body []byte, at int, what phrase.Text, field *gen.ProblemField) error {
	before := body[:min(at+1, len(body))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	p := &problemError{code: "malformed-body", said: phrase.Of("problem.malformed-json", "what", what, "line", line, "column", max(column, 1), "byte", at)}
	if field != nil {
		p.fields = []gen.ProblemField{*field}
	}
	return p
}

// tooDeep returns the position where nesting first exceeds maxDepth. It counts brackets outside of strings, in one pass
// and without allocating, before any recursive decoder reads the body.
func tooDeep(body []byte) (at int, deep bool) {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return i, true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return 0, false
}

// walk visits the strings of a valid JSON text.
type walk struct {
	body []byte
	open []level // the objects and lists around the position, the outermost first
}

// level is an object or a list that is not closed yet.
type level struct {
	fields map[string]bool // seen so far; nil for a list
	name   string          // of the field whose value follows
	index  int             // of the entry, in a list
}

// texts rejects the first string that is not text, and the first duplicate field of an object.
func (w *walk) texts() error {
	key := false // whether the next string names a field
	for i := 0; i < len(w.body); i++ {
		switch w.body[i] {
		case '{':
			w.open, key = append(w.open, level{fields: map[string]bool{}}), true
		case '[':
			w.open, key = append(w.open, level{}), false
		case '}', ']':
			w.open, key = w.open[:len(w.open)-1], false
		case ',':
			in := &w.open[len(w.open)-1] // a comma is always inside an object or list
			in.index++
			key = in.fields != nil
		case ':':
			key = false
		case '"':
			end := endOfText(w.body, i)
			if err := w.text(i, end, key); err != nil {
				return err
			}
			i = end - 1
		}
	}
	return nil
}

// text checks the string in w.body[from:end], quotation marks included. A key becomes the name of the field whose value follows.
func (w *walk) text(from, end int, key bool) error {
	raw := w.body[from:end]
	at, what := badEscape(raw)
	if key {
		name := string(raw[1 : len(raw)-1])
		if bytes.IndexByte(raw, '\\') >= 0 { // a name can be written in several forms
			_ = json.Unmarshal(raw, &name) // valid, since the whole body is
		}
		in := &w.open[len(w.open)-1]
		in.name = name
		if what.ID == "" && in.fields[name] {
			at, what = 0, phrase.Of("problem.field-twice", "field", clip(strconv.Quote(name)))
		}
		in.fields[name] = true
	}
	if what.ID == "" {
		return nil
	}
	return malformed(w.body, from+at, what, new(fieldOf(gen.ProblemFieldInBody, w.pointer(), what)))
}

// pointer returns the JSON pointer (RFC 6901) of the position.
func (w *walk) pointer() string {
	var b strings.Builder
	for _, l := range w.open {
		name := l.name
		if l.fields == nil {
			name = strconv.Itoa(l.index)
		}
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(clip(name)))
	}
	return b.String()
}

// badEscape returns the position of the first \u0000 in a string, or of an escaped half of a surrogate pair without the
// other half, with a description; "" when there is neither.
func badEscape(raw []byte) (at int, what phrase.Text) {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if raw[i+1] != 'u' {
			i++ // an escaped character starts no escape
			continue
		}
		r := escaped(raw[i:])
		switch {
		case r == 0:
			return i, hasNUL
		case utf16.IsSurrogate(r):
			if utf16.DecodeRune(r, escaped(raw[i+6:])) == '\uFFFD' {
				return i, hasHalf
			}
			i += 6
		}
		i += 5
	}
	return 0, phrase.Text{}
}

// escaped decodes the escape \uXXXX at the start of raw and returns its UTF-16 code unit; -1 when raw does not start with
// such an escape.
func escaped(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	v, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(v)
}

// endOfText returns the index after the string whose opening quotation mark is at index at.
func endOfText(body []byte, at int) int {
	for at++; body[at] != '"'; at++ {
		if body[at] == '\\' {
			at++
		}
	}
	return at + 1
}
