package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/hostset"
	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/internal/yamltree"
	"fairlane/subnet/topofile"
)

// document reads values from a YAML tree, key by key instead of with yamltree.Decoder: the allowed values of a key depend on
// the plane, the preset and other keys, and command-line settings replace nodes. It keeps the first error, with file and line,
// and returns zero values after it, so readers need not check at every step.
type document struct {
	file string
	err  error
	made map[*yaml.Node]string // nodes from a setting, which have no line
	// tenants maps the names of an Ethernet scenario's tenants to their numbers.
	tenants map[string]int
	flows   []*yaml.Node // nodes of the InfiniBand flows, in their order
	names   hostset.Names
}

// at returns an error for the source of a node, a line of the file or a setting. The caller adds the reason.
func (d *document) at(n *yaml.Node) *topofile.ParseError {
	if s, ok := d.made[n]; ok {
		return &topofile.ParseError{Setting: s}
	}
	return &topofile.ParseError{File: d.file, Line: n.Line}
}

func (d *document) fail(n *yaml.Node, field string, found, allowed phrase.Text) {
	if d.err == nil {
		err := d.at(n)
		err.Field, err.Found, err.Allowed = field, found, allowed
		d.err = err
	}
}

// failWith keeps an error that another package found in the values of a node.
func (d *document) failWith(n *yaml.Node, err error) {
	if d.err == nil && err != nil {
		at := d.at(n)
		at.Err = err
		d.err = at
	}
}

// parse returns the root mapping of the document; a file must contain one document.
func (d *document) parse(data []byte) *yaml.Node {
	root, err := yamltree.Only(data)
	var bad *yamltree.SyntaxError
	var second *yamltree.SecondError
	switch {
	case errors.As(err, &bad):
		d.err = &topofile.ParseError{File: d.file, Line: bad.Line, Err: fault(phrase.Of("topofile.not-yaml", "reason", bad.Text))}
	case errors.As(err, &second):
		d.err = &topofile.ParseError{File: d.file, Line: second.Line, Field: "file", Found: phrase.Of("topofile.second-document"), Allowed: phrase.Of("scenario.want-one")}
	case err != nil:
		d.err = fmt.Errorf("read %s: %w", d.file, err)
	case root == nil:
		d.err = &topofile.ParseError{File: d.file, Line: 1, Field: "file", Found: topofile.Quoted(""), Allowed: phrase.Of("scenario.want-scenario")}
	}
	return root
}

// fields is a YAML mapping with checked keys.
type fields struct {
	d    *document
	node *yaml.Node
	name string
	m    map[string]*yaml.Node
}

// mapping checks that a node is a mapping with only these keys, without duplicates.
func (d *document) mapping(n *yaml.Node, name string, keys ...string) fields {
	f := fields{d: d, node: n, name: name, m: map[string]*yaml.Node{}}
	if n == nil || d.err != nil {
		f.node = &yaml.Node{}
		return f
	}
	if n.Kind != yaml.MappingNode {
		d.fail(n, name, describe(n), phrase.Of("topofile.want-keys", "keys", keys))
		return f
	}
	for e := range yamltree.Entries(n, keys) {
		switch {
		case e.Index < 0:
			d.fail(e.Key, "unknown key in "+name, describe(e.Key), phrase.Of("topofile.want-one-of", "keys", keys))
		case e.Earlier > 0:
			d.fail(e.Key, "repeated key in "+name, topofile.Quoted(e.Key.Value), phrase.Of("topofile.want-key-once"))
		}
		f.m[e.Key.Value] = e.Value
	}
	return f
}

func (f fields) has(key string) bool { return f.m[key] != nil }

// path returns the name of a key for messages.
func (f fields) path(key string) string {
	if f.name == "" || f.name == "file" {
		return key
	}
	return f.name + "." + key
}

// at returns the node of a key, or the mapping itself, for the line in a message.
func (f fields) at(key string) *yaml.Node {
	if n := f.m[key]; n != nil {
		return n
	}
	return f.node
}

// need records an error unless the keys are present.
func (f fields) need(keys ...string) {
	for _, k := range keys {
		if !f.has(k) {
			f.d.fail(f.node, f.path(k), phrase.Of("scenario.found-nothing"), phrase.Of("scenario.want-given"))
		}
	}
}

// child returns the value of a key of a mapping, or the mapping if the key is absent.
func (d *document) child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return m
}

func (f fields) text(key string) string {
	n := f.m[key]
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		f.d.fail(n, f.path(key), describe(n), phrase.Of("topofile.want-single"))
	}
	return n.Value
}

// word reads one of the allowed words; if absent, it returns the first.
func (f fields) word(key string, allowed ...string) string {
	if !f.has(key) {
		return allowed[0]
	}
	w := f.text(key)
	if !slices.Contains(allowed, w) {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(w), phrase.Of("topofile.want-one-of", "keys", allowed))
	}
	return w
}

func (f fields) number(key string, def, low, high uint64) uint64 {
	if !f.has(key) {
		return def
	}
	s := f.text(key)
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil || v < low || v > high {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(s), phrase.Of("topofile.want-number", "min", low, "max", high))
		return def
	}
	return v
}

func (f fields) flag(key string) bool { return f.flagOr(key, false) }

func (f fields) flagOr(key string, def bool) bool {
	if !f.has(key) {
		return def
	}
	return f.word(key, "false", "true") == "true"
}

func (f fields) span(key string, def quantity.Picoseconds) quantity.Picoseconds {
	return scalar(f, key, def, phrase.Of("scenario.want-duration"), quantity.ParsePicoseconds)
}

func (f fields) rate(key string) quantity.BitRate {
	return scalar(f, key, 0, phrase.Of("scenario.want-rate"), quantity.ParseBitRate)
}

// rateOrNone reads a rate to which a setting refers; the word none means that the setting does not depend on the rate.
func (f fields) rateOrNone(key string) (rate quantity.BitRate, none bool) {
	if n := f.m[key]; n != nil && n.Value == "none" {
		return 0, true
	}
	rate = scalar(f, key, 0, phrase.Of("scenario.want-none-or-rate"), quantity.ParseBitRate)
	if rate == 0 {
		f.d.fail(f.at(key), f.path(key), topofile.Quoted(f.text(key)), phrase.Of("scenario.want-none-or-rate"))
	}
	return rate, false
}

// someRate reads a rate that must be above 0. An absent rate means no limit.
func (f fields) someRate(key string) quantity.BitRate {
	r := f.rate(key)
	if f.has(key) && r == 0 {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(f.text(key)), phrase.Of("scenario.want-some-rate"))
	}
	return r
}

// startBefore reads the start of a flow, which must be before the end of the run.
func (f fields) startBefore(key string, end quantity.Picoseconds) quantity.Picoseconds {
	at := f.span(key, 0)
	if f.has(key) && at >= end {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(at.String()), phrase.Of("scenario.want-before-end", "duration", end))
	}
	return at
}

// scalar reads a value with the parser of its type.
func scalar[T any](f fields, key string, def T, allowed phrase.Text, parse func(string) (T, error)) T {
	if !f.has(key) {
		return def
	}
	s := f.text(key)
	v, err := parse(s)
	if err != nil {
		f.d.fail(f.m[key], f.path(key), topofile.Quoted(s), allowed)
		return def
	}
	return v
}

// list returns the items of a sequence; an absent sequence is empty.
func (f fields) list(key string, most int) []*yaml.Node {
	n := f.m[key]
	if n == nil || yamltree.IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > most {
		f.d.fail(n, f.path(key), describe(n), phrase.Of("yaml.want-list-most", "max", most))
		return nil
	}
	return n.Content
}

// values returns a single value or a list of values.
func (f fields) values(key string, most int) []*yaml.Node {
	n := f.m[key]
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	items := f.list(key, most)
	for _, it := range items {
		if it.Kind != yaml.ScalarNode {
			f.d.fail(it, f.path(key), describe(it), phrase.Of("scenario.want-singles"))
			return nil
		}
	}
	return items
}

func describe(n *yaml.Node) phrase.Text {
	switch n.Kind {
	case yaml.MappingNode:
		return phrase.Of("topofile.mapping")
	case yaml.SequenceNode:
		return phrase.Of("scenario.found-list", "n", len(n.Content))
	case yaml.AliasNode:
		return topofile.Quoted("*" + n.Value)
	default:
		return topofile.Quoted(n.Value)
	}
}

// fault returns an error with the given text.
func fault(said phrase.Text) error { return &phrase.Error{Text: said} }
