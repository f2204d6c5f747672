package topofile

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/yamltree"
	"fairlane/subnet/ident"
)

// maxYAMLParts bounds the marks that can start a YAML node, and with them the memory of the document's tree.
const maxYAMLParts = 4_000_000

// yamlDoc converts nodes of a YAML tree into values, with errors that name file, line and field. Unlike yamltree.Decoder
// it stops at the first fault and builds no intermediate values, because a fabric may have a million links.
type yamlDoc struct{ file string }

func (d yamlDoc) fail(n *yaml.Node, field string, found, allowed phrase.Text) error {
	return &ParseError{File: d.file, Line: n.Line, Field: field, Found: found, Allowed: allowed}
}

// parse reads the tree and checks that there is one document with a mapping at its root.
func (d yamlDoc) parse(data []byte) (*yaml.Node, error) {
	parts := 0
	for _, c := range []byte(",:\n[{-") {
		parts += bytes.Count(data, []byte{c})
	}
	if parts > maxYAMLParts {
		return nil, &ParseError{File: d.file, Field: "file size", Found: phrase.Of("topofile.marks", "n", parts), Allowed: phrase.Of("topofile.want-most", "max", maxYAMLParts)}
	}
	root, err := yamltree.Only(data)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		return nil, &ParseError{File: d.file, Line: bad.Line, Err: fault(phrase.Of("topofile.not-yaml", "reason", bad.Text))}
	case errors.As(err, &second):
		return nil, &ParseError{File: d.file, Line: second.Line, Field: "file", Found: phrase.Of("topofile.second-document"), Allowed: phrase.Of("topofile.want-one-document")}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", d.file, err)
	case root == nil:
		return nil, &ParseError{File: d.file, Line: 1, Field: "file", Found: Quoted(""), Allowed: phrase.Of("topofile.want-fabric")}
	}
	return root, nil
}

// mapping returns the values of a mapping by key. It rejects unknown and duplicate keys.
func (d yamlDoc) mapping(n *yaml.Node, field string, keys []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, d.fail(n, field, describe(n), phrase.Of("topofile.want-keys", "keys", keys))
	}
	m := make(map[string]*yaml.Node, len(n.Content)/2)
	for e := range yamltree.Entries(n, keys) {
		if e.Index < 0 {
			return nil, d.fail(e.Key, "unknown key in "+field, describe(e.Key), phrase.Of("topofile.want-one-of", "keys", keys))
		}
		if e.Earlier > 0 {
			return nil, d.fail(e.Key, "repeated key in "+field, Quoted(e.Key.Value), phrase.Of("topofile.want-key-once"))
		}
		m[e.Key.Value] = e.Value
	}
	return m, nil
}

func (d yamlDoc) sequence(n *yaml.Node, field string) ([]*yaml.Node, error) {
	if n == nil || yamltree.IsNull(n) {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, d.fail(n, field, describe(n), phrase.Of("topofile.want-a-list"))
	}
	return n.Content, nil
}

// text returns a scalar unchanged.
func (d yamlDoc) text(n *yaml.Node, field string) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", d.fail(n, field, describe(n), phrase.Of("topofile.want-single"))
	}
	return n.Value, nil
}

func (d yamlDoc) number(n *yaml.Node, field string, low, high uint64) (uint64, error) {
	s, err := d.text(n, field)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil || v < low || v > high {
		return 0, d.fail(n, field, Quoted(s), phrase.Of("topofile.want-number", "min", low, "max", high))
	}
	return v, nil
}

func (d yamlDoc) guid(n *yaml.Node, field string) (ident.GUID, error) {
	s, err := d.text(n, field)
	if err != nil {
		return 0, err
	}
	g, err := ident.ParseGUID(s)
	if err != nil {
		return 0, d.fail(n, field, Quoted(s), phrase.Of("topofile.want-guid"))
	}
	return g, nil
}

// parsed parses a scalar; allowed describes the valid values in errors.
func parsed[T any](d yamlDoc, n *yaml.Node, field string, allowed phrase.Text, parse func(string) (T, error)) (T, error) {
	s, err := d.text(n, field)
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := parse(s)
	if err != nil {
		return v, d.fail(n, field, Quoted(s), allowed)
	}
	return v, nil
}

func describe(n *yaml.Node) phrase.Text {
	switch n.Kind {
	case yaml.MappingNode:
		return phrase.Of("topofile.mapping")
	case yaml.SequenceNode:
		return phrase.Of("topofile.list")
	case yaml.AliasNode:
		return Quoted("*" + n.Value)
	default:
		return Quoted(n.Value)
	}
}
