package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Read reads the documents of a file; name is the file's, for messages. The error joins up to fifty *Fault.
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
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			d.syntax(err)
			break
		}
		if n := firstAlias(&doc); n != nil {
			d.fault(n.Line, "", "found the anchor or alias "+quote(n.Anchor+n.Value)+"; want values written out")
			break
		}
		if len(doc.Content) == 1 && !empty(doc.Content[0]) {
			out = append(out, d.resource(doc.Content[0])...)
		}
	}
	return out, joined(d.faults)
}

func empty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func firstAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return n
	}
	for _, c := range n.Content {
		if a := firstAlias(c); a != nil {
			return a
		}
	}
	return nil
}

// decoder notes what is wrong with a file.
type decoder struct {
	file   string
	faults []error
}

func (d *decoder) fault(line int, field, text string) {
	d.faults = append(d.faults, &Fault{Place{d.file, line}, field, text})
}

// syntax gives the YAML library's errors the form of ours; they carry "yaml: line N: ...".
func (d *decoder) syntax(err error) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 0
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if num, msg, ok := strings.Cut(rest, ": "); ok {
			line, _ = strconv.Atoi(num)
			text = msg
		}
	}
	d.fault(line, "", "found "+quote(text)+"; want valid YAML")
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
	if n.Kind != yaml.ScalarNode || empty(n) {
		d.fault(n.Line, field, "found "+describe(n)+"; want "+want)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) items(n *yaml.Node, v reflect.Value, field string) {
	if empty(n) {
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
	lines := make([]int, len(keys))
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := -1
		for j, key := range keys {
			if k.Kind == yaml.ScalarNode && k.Value == key {
				at = j
			}
		}
		switch {
		case at < 0:
			d.fault(k.Line, field, "unknown key "+quote(k.Value)+"; want "+words(keys))
		case lines[at] > 0:
			d.fault(k.Line, prefix+k.Value, fmt.Sprintf("was given in line %d already; want it once", lines[at]))
		default:
			lines[at] = k.Line
			d.value(n.Content[i+1], v.Field(at).Addr().Interface(), prefix+k.Value)
		}
	}
	for i, key := range keys {
		if lines[i] == 0 && v.Type().Field(i).Tag.Get("want") != "" {
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
	case empty(n):
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
