package docs

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"fairlane/sim/scenario"
)

// validator validates values against the part of JSON Schema (draft 2020-12) that Fairlane's schemas use. An unknown
// keyword is an error, so that none is ignored silently.
type validator struct{ root map[string]any }

// validate returns the faults of a value, each with its path.
func (v *validator) validate(schema map[string]any, value any, at string) (faults []string) {
	for _, key := range slices.Sorted(mapKeys(schema)) {
		arg := schema[key]
		switch key {
		case "$schema", "$id", "$defs", "title", "description", "then", "else":
		case "$ref":
			name := strings.TrimPrefix(arg.(string), "#/$defs/")
			def, ok := v.root["$defs"].(map[string]any)[name].(map[string]any)
			if !ok {
				return []string{at + ": no definition " + name}
			}
			faults = append(faults, v.validate(def, value, at)...)
		case "if":
			branch := "then"
			if len(v.validate(arg.(map[string]any), value, at)) > 0 {
				branch = "else"
			}
			faults = append(faults, v.validate(schema[branch].(map[string]any), value, at)...)
		case "anyOf", "oneOf":
			faults = append(faults, v.some(key, arg.([]any), value, at)...)
		case "properties", "additionalProperties", "required", "maxProperties":
			faults = append(faults, v.object(key, schema, value, at)...)
		case "items", "maxItems", "minItems":
			faults = append(faults, v.array(key, arg, value, at)...)
		default:
			faults = append(faults, scalarFault(key, arg, value, at)...)
		}
	}
	return faults
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (v *validator) some(key string, schemas []any, value any, at string) []string {
	fit := 0
	var faults []string
	for _, s := range schemas {
		f := v.validate(s.(map[string]any), value, at)
		if len(f) == 0 {
			fit++
		}
		faults = append(faults, f...)
	}
	if fit == 0 {
		return faults
	}
	if key == "oneOf" && fit > 1 {
		return []string{at + ": fits more than one of oneOf"}
	}
	return nil
}

func (v *validator) object(key string, schema map[string]any, value any, at string) (faults []string) {
	o, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	switch key {
	case "required":
		for _, k := range schema[key].([]any) {
			if _, ok := o[k.(string)]; !ok {
				faults = append(faults, at+": no "+k.(string))
			}
		}
	case "maxProperties":
		if float64(len(o)) > schema[key].(float64) {
			faults = append(faults, at+": too many properties")
		}
	case "properties":
		for k, s := range properties {
			if x, ok := o[k]; ok {
				faults = append(faults, v.validate(s.(map[string]any), x, at+"."+k)...)
			}
		}
	case "additionalProperties":
		for k, x := range o {
			if _, ok := properties[k]; ok {
				continue
			}
			if s, ok := schema[key].(map[string]any); ok {
				faults = append(faults, v.validate(s, x, at+"."+k)...)
			} else if schema[key] == false {
				faults = append(faults, at+": unknown property "+k)
			}
		}
	}
	return faults
}

func (v *validator) array(key string, arg, value any, at string) (faults []string) {
	a, ok := value.([]any)
	if !ok {
		return nil
	}
	switch {
	case key == "items":
		for i, x := range a {
			faults = append(faults, v.validate(arg.(map[string]any), x, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case key == "maxItems" && float64(len(a)) > arg.(float64), key == "minItems" && float64(len(a)) < arg.(float64):
		faults = append(faults, fmt.Sprintf("%s: %d items against %s %v", at, len(a), key, arg))
	}
	return faults
}

// scalarFault checks the keywords that concern only the value.
func scalarFault(key string, arg, value any, at string) []string {
	var ok bool
	number, isNumber := value.(float64)
	text, isText := value.(string)
	switch key {
	case "type":
		types, many := arg.([]any)
		if !many {
			types = []any{arg}
		}
		ok = slices.ContainsFunc(types, func(t any) bool { return isType(t.(string), value) })
	case "const":
		ok = value == arg
	case "enum":
		ok = slices.Contains(arg.([]any), value)
	case "minimum":
		ok = !isNumber || number >= arg.(float64)
	case "maximum":
		ok = !isNumber || number <= arg.(float64)
	case "minLength":
		ok = !isText || len(text) >= int(arg.(float64))
	case "maxLength":
		ok = !isText || len(text) <= int(arg.(float64))
	case "pattern":
		ok = !isText || regexp.MustCompile(arg.(string)).MatchString(text)
	default:
		return []string{at + ": the test does not know the keyword " + key}
	}
	if !ok {
		return []string{fmt.Sprintf("%s: %v against %s %v", at, value, key, arg)}
	}
	return nil
}

func isType(t string, value any) bool {
	switch x := value.(type) {
	case map[string]any:
		return t == "object"
	case []any:
		return t == "array"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case float64:
		return t == "number" || t == "integer" && x == math.Trunc(x)
	default:
		return t == "null" && value == nil
	}
}

// againstSchema returns the faults of a scenario file according to the published schema.
func againstSchema(t *testing.T, text string) []string {
	t.Helper()
	var v validator
	if err := json.Unmarshal([]byte(page(t, "docs/schema/scenario.schema.json")), &v.root); err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	plain, err := json.Marshal(doc) // converts numbers to float64
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(plain, &value); err != nil {
		t.Fatal(err)
	}
	return v.validate(v.root, value, "file")
}

func TestBuiltInScenariosAndExamplesFitTheSchema(t *testing.T) {
	t.Parallel()
	list, err := scenario.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		text, err := scenario.BuiltinText(b.Name)
		if err != nil {
			t.Fatal(err)
		}
		if faults := againstSchema(t, string(text)); len(faults) > 0 {
			t.Errorf("%s: %s", b.Name, strings.Join(faults, "; "))
		}
	}
	reference := page(t, "docs/scenario-files.md")
	for i, b := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(reference, -1) {
		if faults := againstSchema(t, b[1]); len(faults) > 0 {
			t.Errorf("example %d: %s", i+1, strings.Join(faults, "; "))
		}
	}
}

func TestTheSchemaRefusesWhatTheReaderRefuses(t *testing.T) {
	t.Parallel()
	const good = "name: x\nplane: ethernet\nfabric: {topology: star, hosts: 3}\nflows:\n  - {src: h1, dst: h3}\n"
	if faults := againstSchema(t, good); len(faults) > 0 {
		t.Fatalf("%q: %v", good, faults)
	}
	for _, c := range []struct{ old, new string }{
		{"plane: ethernet", "plane: token-ring"},
		{"plane: ethernet", "plane: infiniband"},
		{"src: h1", "src: 1"},
		{"src: h1, ", ""},
		{"dst: h3", "dst: h3, sl: 1"},
		{"dst: h3", "dst: h3, qps: 0"},
		{"star", "ring"},
		{"name: x", "name: x\nmodel: {payload: 10}"},
		{"name: x", "name: x\nmodel: {buffers: [{bytes: 1}]}"},
		{"name: x", "name: x\ncongestion_control: []"},
		{"name: x", "name: x\ncongestion_control: {g: 1}"},
		{"name: x", "name: x\nworkload: [{kind: gossip}]"},
		{"name: x", "name: x\nwrcc: {}"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if faults := againstSchema(t, text); len(faults) == 0 {
			t.Errorf("the schema accepts %q", text)
		}
		if _, err := scenario.Parse("x.yaml", []byte(text), nil); err == nil {
			t.Errorf("the reader accepts %q", text)
		}
	}
}
