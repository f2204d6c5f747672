package topofile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/subnet/ident"
)

// maxYAMLParts bounds the marks that can begin a YAML node, and with them the memory of the
// document's tree.
const maxYAMLParts = 4_000_000

// yamlDoc turns nodes of a YAML tree into values, with errors that name file, line and field.
type yamlDoc struct{ file string }

func (d yamlDoc) fail(n *yaml.Node, field, found, allowed string) error {
	return &ParseError{File: d.file, Line: n.Line, Field: field, Found: found, Allowed: allowed}
}

// parse reads the tree and checks that there is one document with a mapping at its root.
func (d yamlDoc) parse(data []byte) (*yaml.Node, error) {
	parts := 0
	for _, c := range []byte(",:\n[{-") {
		parts += bytes.Count(data, []byte{c})
	}
	if parts > maxYAMLParts {
		return nil, &ParseError{File: d.file, Field: "file size", Found: fmt.Sprintf("%d YAML marks", parts), Allowed: fmt.Sprintf("at most %d", maxYAMLParts)}
	}
	var doc, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, d.syntax(err)
	}
	switch err := documents.Decode(&second); {
	case err == nil:
		return nil, d.fail(&second, "file", "a second document", "one YAML document")
	case !errors.Is(err, io.EOF):
		return nil, d.syntax(err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, &ParseError{File: d.file, Line: 1, Field: "file", Found: "", Allowed: "a YAML mapping with version, nodes and links"}
	}
	return doc.Content[0], nil
}

// syntax takes the line out of the YAML library's message: "yaml: line 3: did not find ...".
func (d yamlDoc) syntax(err error) error {
	e := &ParseError{File: d.file, Err: fmt.Errorf("not YAML: %w", err)}
	if m := regexp.MustCompile(`line (\d+): `).FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		text := err.Error()
		text = text[strings.Index(text, m[0])+len(m[0]):]
		e.Err = errors.New("not YAML: " + text)
	}
	return e
}

// mapping returns the values of a mapping by key. Keys that are not in the list and keys that
// appear twice are refused.
func (d yamlDoc) mapping(n *yaml.Node, field string, keys []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, d.fail(n, field, describe(n), "a mapping with "+strings.Join(keys, ", "))
	}
	m := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !slices.Contains(keys, key.Value) || key.Kind != yaml.ScalarNode {
			return nil, d.fail(key, "unknown key in "+field, describe(key), "one of "+strings.Join(keys, ", "))
		}
		if _, dup := m[key.Value]; dup {
			return nil, d.fail(key, "repeated key in "+field, key.Value, "each key once")
		}
		m[key.Value] = n.Content[i+1]
	}
	return m, nil
}

func (d yamlDoc) sequence(n *yaml.Node, field string) ([]*yaml.Node, error) {
	if n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, d.fail(n, field, describe(n), "a list")
	}
	return n.Content, nil
}

// text returns a scalar as it is written.
func (d yamlDoc) text(n *yaml.Node, field string) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", d.fail(n, field, describe(n), "a single value")
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
		return 0, d.fail(n, field, s, fmt.Sprintf("a number from %d to %d", low, high))
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
		return 0, d.fail(n, field, s, "1 to 16 hexadecimal digits, such as 0x0002c90300a1b2c3")
	}
	return g, nil
}

// parsed reads a scalar with a parser whose error says what is allowed.
func parsed[T any](d yamlDoc, n *yaml.Node, field, allowed string, parse func(string) (T, error)) (T, error) {
	s, err := d.text(n, field)
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := parse(s)
	if err != nil {
		return v, d.fail(n, field, s, allowed)
	}
	return v, nil
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "*" + n.Value
	default:
		return n.Value
	}
}
