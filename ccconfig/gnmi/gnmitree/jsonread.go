package gnmitree

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is the default limit of the nesting of values.
const maxJSONDepth = 64

// doc is a parsed JSON text: an object, an array or otherwise a scalar.
type doc struct {
	object  bool
	array   bool
	members []member // only in an object
	items   []doc    // only in an array
	value   Value
}

type member struct {
	name string
	doc  doc
}

// ParseJSON parses a JSON text as a value: a scalar, a list of scalars, or a value of KindJSON. It returns an error for invalid
// JSON, null, duplicate members, and nesting deeper than 64.
func ParseJSON(text []byte) (Value, error) { return parseJSON(text, maxJSONDepth) }

func parseJSON(text []byte, depth int) (Value, error) {
	d, err := readJSON(text, depth)
	if err != nil {
		return Value{}, err
	}
	switch {
	case d.object:
		return JSON(text), nil
	case !d.array:
		return d.value, nil
	}
	list := make([]Value, len(d.items))
	for i, item := range d.items {
		if item.object || item.array {
			return JSON(text), nil
		}
		list[i] = item.value
	}
	return Value{kind: KindList, list: list}, nil
}

// readJSON parses a complete text, with limited nesting.
func readJSON(text []byte, depth int) (doc, error) {
	if isPlainString(text) {
		return doc{value: String(string(text[1 : len(text)-1]))}, nil
	}
	if !utf8.Valid(text) {
		return doc{}, fmt.Errorf("value is not UTF-8: %.*q", shown, text)
	}
	if !json.Valid(text) {
		return doc{}, fmt.Errorf("value is no JSON: %.*q", shown, text)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return readDoc(dec, depth)
}

// isPlainString reports whether a text is a string of ASCII without escapes, which needs no parser: the numbers in a Set are
// such strings, and there may be thousands.
func isPlainString(text []byte) bool {
	n := len(text)
	if n < 2 || text[0] != '"' || text[n-1] != '"' {
		return false
	}
	return !slices.ContainsFunc(text[1:n-1], func(c byte) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
}

func readDoc(dec *json.Decoder, depth int) (doc, error) {
	t, err := dec.Token()
	if err != nil {
		return doc{}, fmt.Errorf("value is no JSON: %w", err)
	}
	switch t := t.(type) {
	case json.Delim:
		if depth == 0 {
			return doc{}, fmt.Errorf("value is nested too deep")
		}
		if t == '{' {
			return readObject(dec, depth-1)
		}
		return readArray(dec, depth-1)
	case string:
		return doc{value: String(t)}, nil
	case bool:
		return doc{value: Bool(t)}, nil
	case json.Number:
		v, err := number(t.String())
		return doc{value: v}, err
	default:
		return doc{}, fmt.Errorf("value is or holds null, want one, or leave it out")
	}
}

func readObject(dec *json.Decoder, depth int) (doc, error) {
	d := doc{object: true}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return doc{}, fmt.Errorf("value is no JSON: %w", err)
		}
		name, _ := t.(string)
		if name == "" {
			return doc{}, fmt.Errorf("value has a member without a name")
		}
		if seen[name] {
			return doc{}, fmt.Errorf("value has member %q twice", name)
		}
		seen[name] = true
		m, err := readDoc(dec, depth)
		if err != nil {
			return doc{}, err
		}
		d.members = append(d.members, member{name, m})
	}
	_, err := dec.Token()
	return d, err
}

func readArray(dec *json.Decoder, depth int) (doc, error) {
	d := doc{array: true}
	for dec.More() {
		item, err := readDoc(dec, depth)
		if err != nil {
			return doc{}, err
		}
		d.items = append(d.items, item)
	}
	_, err := dec.Token()
	return d, err
}

// number parses a JSON number, as an integer if it has no fraction and exponent.
func number(text string) (Value, error) {
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return Uint(n), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || !strings.ContainsAny(text, ".eE") {
		return Value{}, fmt.Errorf("number %.*s is out of range", shown, text)
	}
	return Decimal(f), nil
}

// Schema holds the properties of a model that Flatten needs.
type Schema struct {
	// Keys returns the names of the keys of a list at a path, whose last element has no keys; empty for a node that is not a
	// list. It may be nil for trees without lists.
	Keys func(list Path) []string
	// Modules are the names of modules that may be prefixes, as in "module:name". Flatten removes them.
	Modules []string
}

// Flatten splits the value of an operation at a path into leaves, in the order of the text; a scalar or a list of scalars is
// one leaf, and an object without members has none. The keys of list entries are also leaves. Kinds follow the text: a number
// of the model may be a string, which the accessors of Value accept. Flatten returns an error for an array at a node that is
// not a list in the schema, for entries with missing keys, and for keys that contradict the path. It does not set the leaves'
// classes.
func Flatten(at Path, v Value, s Schema) ([]Leaf, error) {
	f := flattener{schema: s}
	switch {
	case v.kind == KindList && len(f.keys(at)) > 0:
		if len(v.list) > 0 {
			return nil, fmt.Errorf("%s: an array of scalars, but this is a list, whose entries are objects", at)
		}
		return nil, nil
	case v.kind != KindJSON:
		return []Leaf{{Path: at, Value: v}}, nil
	}
	d, err := readJSON([]byte(v.text), maxJSONDepth)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	err = f.node(at, d)
	return f.leaves, err
}

type flattener struct {
	schema Schema
	leaves []Leaf
}

func (f *flattener) node(at Path, d doc) error {
	switch {
	case d.array:
		return f.list(at, d)
	case !d.object:
		f.leaves = append(f.leaves, Leaf{Path: at, Value: d.value})
		return nil
	}
	if len(at.Elems) > 0 {
		if err := f.agree(at, at.Elems[len(at.Elems)-1].Keys, d); err != nil {
			return err
		}
	}
	for _, m := range d.members {
		if err := f.node(at.Child(f.bare(m.name)), m.doc); err != nil {
			return err
		}
	}
	return nil
}

// agree returns an error if an entry's members contradict the keys in its path.
func (f *flattener) agree(at Path, keys []Key, d doc) error {
	for _, k := range keys {
		for _, m := range d.members {
			if f.bare(m.name) == k.Name && !m.doc.object && !m.doc.array && keyText(m.doc.value) != k.Value {
				return fmt.Errorf("%s: member %q is %s, but the path says %q", at, m.name, m.doc.value, k.Value)
			}
		}
	}
	return nil
}

// list splits an array: a list of scalars, or the entries of a list.
func (f *flattener) list(at Path, d doc) error {
	if n := len(at.Elems); n > 0 && len(at.Elems[n-1].Keys) > 0 {
		return fmt.Errorf("%s: an array, want an object for an entry of a list", at)
	}
	if !slices.ContainsFunc(d.items, func(i doc) bool { return i.object || i.array }) {
		if len(f.keys(at)) > 0 {
			if len(d.items) > 0 {
				return fmt.Errorf("%s: an array of scalars, but this is a list, whose entries are objects", at)
			}
			return nil
		}
		values := make([]Value, len(d.items))
		for i := range d.items {
			values[i] = d.items[i].value
		}
		f.leaves = append(f.leaves, Leaf{Path: at, Value: Value{kind: KindList, list: values}})
		return nil
	}
	names := f.keys(at)
	if len(names) == 0 {
		return fmt.Errorf("%s: an array of objects, but this is no list", at)
	}
	for i, item := range d.items {
		keys, err := f.keysOf(item, names)
		if err != nil {
			return fmt.Errorf("%s: entry %d: %w", at, i, err)
		}
		parent := at.First(len(at.Elems) - 1)
		if err := f.node(parent.Child(at.Last(), keys...), item); err != nil {
			return err
		}
	}
	return nil
}

func (f *flattener) keys(at Path) []string {
	if f.schema.Keys == nil || len(at.Elems) == 0 {
		return nil
	}
	return f.schema.Keys(at)
}

func (f *flattener) keysOf(entry doc, names []string) ([]Key, error) {
	keys := make([]Key, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(entry.members, func(m member) bool { return f.bare(m.name) == name })
		if i < 0 {
			return nil, fmt.Errorf("key %q is missing", name)
		}
		m := entry.members[i].doc
		if m.object || m.array {
			return nil, fmt.Errorf("key %q is no scalar", name)
		}
		keys = append(keys, Key{name, keyText(m.value)})
	}
	return keys, nil
}

// bare returns a name without its module prefix.
func (f *flattener) bare(name string) string { return bare(name, f.schema.Modules) }

func bare(name string, modules []string) string {
	module, rest, found := strings.Cut(name, ":")
	if found && rest != "" && slices.Contains(modules, module) {
		return rest
	}
	return name
}

// keyText formats a scalar as a key in a path.
func keyText(v Value) string {
	if v.kind == KindString {
		return v.text
	}
	return string(v.append(nil, EncodingJSON))
}
