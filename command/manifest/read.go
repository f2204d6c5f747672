package manifest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/yamltree"
)

// Read reads the documents of a file; name is the file's, for messages. The error joins up to fifty *yamltree.Fault.
func Read(name string, r io.Reader) ([]Resource, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	d := &decoder{file: name}
	if len(text) > MaxBytes {
		d.fault(0, "", fmt.Sprintf("has more than %d bytes; want fewer", MaxBytes))
		return nil, joined(d.faults)
	}
	var out []Resource
	for n, err := range yamltree.Documents(text) {
		var bad *yamltree.SyntaxError
		if errors.As(err, &bad) {
			d.fault(bad.Line, "", "found "+quote(bad.Text)+"; want valid YAML")
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if a := yamltree.FirstAlias(n); a != nil {
			d.fault(a.Line, "", "found the anchor or alias "+quote(a.Anchor+a.Value)+"; want values written out")
			break
		}
		if !yamltree.IsNull(n) {
			out = append(out, d.resource(n)...)
		}
	}
	return out, joined(d.faults)
}

// decoder notes what is wrong with a file.
type decoder struct {
	file   string
	faults []error
}

func (d *decoder) fault(line int, field, text string) {
	d.faults = append(d.faults, &yamltree.Fault{File: d.file, Line: line, Field: field, Text: text})
}

// resource reads one document; none when it has a fault.
func (d *decoder) resource(n *yaml.Node) []Resource {
	before := len(d.faults)
	var head struct {
		Kind   string     `json:"kind" want:"yes"`
		Name   string     `json:"name"`
		Fabric string     `json:"fabric"`
		Spec   *yaml.Node `json:"spec" want:"yes"`
	}
	d.value(n, &head, "")
	if len(d.faults) > before {
		return nil
	}
	r := Resource{Kind: Kind(head.Kind), Name: head.Name, Fabric: head.Fabric, At: Place{d.file, n.Line}}
	rule := r.Kind.rule()
	switch {
	case rule.spec == nil:
		d.fault(lineOf(n, "kind"), "kind", fmt.Sprintf("found %s; want one of %s", quote(head.Kind), words(Kinds())))
	case rule.named && r.Name == "":
		d.fault(n.Line, "name", "missing; want the name of the "+head.Kind)
	case !rule.named && r.Name != "":
		d.fault(lineOf(n, "name"), "name", "found "+quote(r.Name)+"; want none, since there is one for "+map[bool]string{true: "each fabric", false: "all"}[rule.inFabric])
	case !rule.inFabric && r.Kind != KindServiceAccount && r.Fabric != "":
		d.fault(lineOf(n, "fabric"), "fabric", "found "+quote(r.Fabric)+"; want none, since a resource of this kind belongs to no fabric")
	default:
		r.Spec = rule.spec()
		d.value(head.Spec, r.Spec, "spec")
	}
	if len(d.faults) > before {
		return nil
	}
	return []Resource{r}
}

// lineOf is the line of a key.
func lineOf(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1].Line
		}
	}
	return n.Line
}

// value reads a node into what to points to.
func (d *decoder) value(n *yaml.Node, to any, field string) {
	switch to := to.(type) {
	case **yaml.Node:
		*to = n
		return
	case noder:
		to.setNode(d, n, field)
		return
	case texter:
		if text, ok := d.scalar(n, field, "a single value"); ok {
			if err := to.setText(text); err != nil {
				d.fault(n.Line, field, err.Error())
			}
		}
		return
	}
	v := reflect.ValueOf(to).Elem()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Interface(), field)
	case reflect.Struct:
		d.fields(n, v, field)
	case reflect.Slice:
		d.items(n, v, field)
	case reflect.String:
		if text, ok := d.scalar(n, field, "a text"); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if text, ok := d.scalar(n, field, "true or false"); ok {
			if text != "true" && text != "false" {
				d.fault(n.Line, field, "found "+quote(text)+"; want true or false")
			}
			v.SetBool(text == "true")
		}
	case reflect.Int:
		if text, ok := d.scalar(n, field, "a whole number"); ok {
			i, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				d.fault(n.Line, field, "found "+quote(text)+"; want a whole number")
			}
			v.SetInt(i)
		}
	case reflect.Float64:
		if text, ok := d.scalar(n, field, "a number"); ok {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
				d.fault(n.Line, field, "found "+quote(text)+"; want a number")
			}
			v.SetFloat(f)
		}
	}
}

// scalar returns a scalar's text; false, with a fault, when there is none.
func (d *decoder) scalar(n *yaml.Node, field, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode || yamltree.IsNull(n) {
		d.fault(n.Line, field, "found "+describe(n)+"; want "+want)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) items(n *yaml.Node, v reflect.Value, field string) {
	if yamltree.IsNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fault(n.Line, field, "found "+describe(n)+"; want a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.value(c, v.Index(i).Addr().Interface(), fmt.Sprintf("%s[%d]", field, i))
	}
}

// fields reads a mapping into a structure, whose json tags are the keys.
func (d *decoder) fields(n *yaml.Node, v reflect.Value, field string) {
	keys := make([]string, v.NumField())
	for i := range keys {
		keys[i] = v.Type().Field(i).Tag.Get("json")
	}
	if n.Kind != yaml.MappingNode {
		d.fault(n.Line, field, "found "+describe(n)+"; want the keys "+words(keys))
		return
	}
	prefix := field
	if field != "" {
		prefix += "."
	}
	given := make([]bool, len(keys))
	for e := range yamltree.Entries(n, keys) {
		switch name := prefix + e.Key.Value; {
		case e.Index < 0:
			d.fault(e.Key.Line, field, "unknown key "+quote(e.Key.Value)+"; want "+words(keys))
		case e.Earlier > 0:
			d.fault(e.Key.Line, name, fmt.Sprintf("was given in line %d already; want it once", e.Earlier))
		default:
			given[e.Index] = true
			d.value(e.Value, v.Field(e.Index).Addr().Interface(), name)
		}
	}
	for i, key := range keys {
		if !given[i] && v.Type().Field(i).Tag.Get("want") != "" {
			d.fault(n.Line, prefix+key, "missing")
		}
	}
}

func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "keys"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case yamltree.IsNull(n):
		return "nothing"
	}
	return quote(n.Value)
}

func quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return strconv.Quote(s)
}

func words[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return strings.Join(out, ", ")
}
