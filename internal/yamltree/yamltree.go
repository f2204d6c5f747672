// Package yamltree decodes YAML into structures with a Decoder, or parses it to a tree of nodes for other dialects.
// Errors are Faults with file, line and field.
package yamltree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
)

// Fault is one error of a file.
type Fault struct {
	File  string
	Line  int         // from 1; 0: the whole file
	Field string      // such as "profiles[0].max_timer"; empty: no field
	Said  phrase.Text // value found and values allowed
}

var _ phrase.Sentence = (*Fault)(nil)

// Error returns "site.yaml:3: profiles[0].max_timer: found 0, want 1 to 65535".
func (f *Fault) Error() string { return f.Sentence().String() }

// Sentence returns the fault as a sentence in any language.
func (f *Fault) Sentence() phrase.Text {
	at, said := f.File, f.Said
	if f.Line > 0 {
		at += ":" + strconv.Itoa(f.Line)
	}
	if f.Field != "" {
		said = phrase.Of("labelled", "label", f.Field, "text", said)
	}
	return phrase.Of("labelled", "label", at, "text", said)
}

// SyntaxError reports why a text is not YAML.
type SyntaxError struct {
	Line int // from 1; 0 if the library gives none
	Text string
}

// Error returns "line 3: did not find expected node content".
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// SecondError reports a second document in a text that must have one.
type SecondError struct{ Line int }

var _ error = (*SecondError)(nil)

func (e *SecondError) Error() string { return fmt.Sprintf("line %d: a second document", e.Line) }

// Documents parses the documents of a text and yields the root of each. It ends with the first error, a *SyntaxError.
func Documents(text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		for doc, err := range documents(text) {
			if err != nil {
				yield(nil, err)
				return
			}
			if len(doc.Content) == 1 && !yield(doc.Content[0], nil) {
				return
			}
		}
	}
}

// Only parses a text's only document and returns its root; nil if there is none. The error is a *SyntaxError or a
// *SecondError.
func Only(text []byte) (root *yaml.Node, err error) {
	for doc, err := range documents(text) {
		switch {
		case err != nil:
			return nil, err
		case root != nil:
			return nil, &SecondError{Line: doc.Line}
		case len(doc.Content) == 1:
			root = doc.Content[0]
		}
	}
	return root, nil
}

// documents yields the library's node of each document, which contains its root.
func documents(text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
			doc := new(yaml.Node)
			err := dec.Decode(doc)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, syntax(err))
				return
			}
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// syntax extracts the line from the library's "yaml: line N: ...".
func syntax(err error) error {
	e := &SyntaxError{Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	if rest, ok := strings.CutPrefix(e.Text, "line "); ok {
		if num, text, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(num); err == nil {
				e.Line, e.Text = line, text
			}
		}
	}
	return e
}

// FirstAlias returns the first anchor or alias below a node; nil if all values are written out.
func FirstAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if a := FirstAlias(c); a != nil {
			return a
		}
	}
	return nil
}

// IsNull reports whether a node is null: written as such, or nothing after a key.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// Entry is a key of a mapping with its value.
type Entry struct {
	Key, Value *yaml.Node
	Index      int // of the key among those allowed, -1 for others
	Earlier    int // line of an earlier occurrence of an allowed key, 0 if there is none
}

// Entries iterates over the keys of a mapping in their order; a node of another kind has none.
func Entries(n *yaml.Node, allowed []string) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if n.Kind != yaml.MappingNode {
			return
		}
		lines := make([]int, len(allowed))
		for i := 0; i+1 < len(n.Content); i += 2 {
			e := Entry{Key: n.Content[i], Value: n.Content[i+1], Index: -1}
			if e.Key.Kind == yaml.ScalarNode {
				e.Index = slices.Index(allowed, e.Key.Value)
			}
			if e.Index >= 0 {
				e.Earlier = lines[e.Index]
				lines[e.Index] = cmp.Or(e.Earlier, e.Key.Line)
			}
			if !yield(e) {
				return
			}
		}
	}
}
