// Package chart tests the Helm chart: its schema and docs against the code, and, where make kube provides Helm and an API server, its
// renders and releases.
package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	agentapp "fairlane/agent/app"
	"fairlane/internal/testkit/goldentest"
	"fairlane/service/config"
)

const (
	chartDir   = "../../deploy/helm/fairlane"
	schemaFile = chartDir + "/values.schema.json"
)

// object is a JSON object.
type object = map[string]any

// read returns a file.
func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readSchema(t *testing.T) object {
	t.Helper()
	var s object
	if err := json.Unmarshal(read(t, schemaFile), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The keys of the service and the agent that the chart sets itself.
var (
	setOfManager = []string{"listen", "database", "operations.listen", "series.path", "series.advertise", "tls.cert_file", "tls.key_file", "tls.client_auth"}
	setOfAgent   = regexp.MustCompile(`^(listen|insecure|tls\..*|root|journal|pods\..*|dms\..*)$`)
)

// managerConfig returns the schema of manager.config, and the keys whose values are files, of manager.secretFiles.
func managerConfig() (tree object, files []any) {
	tree = object{}
	for _, k := range config.Keys() {
		var leaf object
		switch {
		case slices.Contains(setOfManager, k.Name):
			continue
		case strings.HasSuffix(k.Name, "_file"):
			files = append(files, k.Name)
			continue
		case k.Kind() == "list":
			leaf = object{"type": "array", "items": object{"type": "string", "minLength": 1}, "maxItems": 1000}
		case k.Kind() == "true or false":
			leaf = object{"type": "boolean"}
		case k.Kind() == "number":
			leaf = object{"type": "number", "minimum": 0}
		case k.Kind() == "duration":
			leaf = duration()
		default:
			leaf = object{"type": "string"}
		}
		leaf["description"] = strings.ToUpper(k.Doc[:1]) + k.Doc[1:]
		put(tree, k.Name, leaf)
	}
	return tree, files
}

func duration() object {
	return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`}
}

// agentConfig returns the schema of agent.config.
func agentConfig(t *testing.T) object {
	t.Helper()
	number := regexp.MustCompile(`^number, (\S+) to (\S+)$`)
	tree := object{}
	for _, k := range agentapp.Keys() {
		if setOfAgent.MatchString(k.Name) {
			continue
		}
		var leaf object
		texts := object{"type": "array", "items": object{"type": "string", "minLength": 1}, "maxItems": 256}
		switch m := number.FindStringSubmatch(k.Kind); {
		case m != nil:
			low, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			high, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			leaf = object{"type": "number", "minimum": low, "maximum": high}
		case k.Name == "back_ends":
			// nv needs programs of the vendor and more rights, and dms a service on loopback: for both the agent runs as a service of the host.
			leaf = object{"type": "array", "items": object{"enum": words(strings.TrimPrefix(k.Kind, "list of "), "nv", "dms")}, "minItems": 1, "uniqueItems": true}
		case k.Kind == "auto, or list of text":
			texts["minItems"] = 1.0
			leaf = object{"anyOf": []any{object{"const": "auto"}, texts}}
		case k.Kind == "true or false":
			leaf = object{"type": "boolean"}
		case strings.HasPrefix(k.Kind, "duration"):
			leaf = duration()
		case k.Kind == "text":
			leaf = object{"type": "string"}
		case strings.Contains(k.Kind, ", "):
			leaf = object{"enum": words(k.Kind)}
		default:
			t.Fatalf("%s: no schema is known for %q", k.Name, k.Kind)
		}
		leaf["description"] = k.Doc
		put(tree, k.Name, leaf)
	}
	return tree
}

// words returns the words of a list but some.
func words(list string, without ...string) []any {
	var out []any
	for w := range strings.SplitSeq(list, ", ") {
		if !slices.Contains(without, w) {
			out = append(out, w)
		}
	}
	return out
}

// put adds a key to a tree of closed objects.
func put(tree object, name string, leaf object) {
	if len(tree) == 0 {
		maps.Copy(tree, object{"type": "object", "additionalProperties": false, "properties": object{}})
	}
	head, rest, nested := strings.Cut(name, ".")
	properties := tree["properties"].(object)
	if !nested {
		properties[head] = leaf
		return
	}
	if properties[head] == nil {
		properties[head] = object{}
	}
	put(properties[head].(object), rest, leaf)
}

// TestTheSchemaHasTheKeysOfThePrograms compares the schema's definitions with the tables of keys; -update writes them.
func TestTheSchemaHasTheKeysOfThePrograms(t *testing.T) {
	s := readSchema(t)
	tree, files := managerConfig()
	definitions := s["definitions"].(object)
	definitions["managerConfig"], definitions["agentConfig"], definitions["secretConfig"] = tree, agentConfig(t), object{"enum": files}
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	goldentest.Compare(t, schemaFile, want.Bytes())
}

// TestTheSchemaRefusesUnknownKeysEverywhere looks at every object of the schema.
func TestTheSchemaRefusesUnknownKeysEverywhere(t *testing.T) {
	t.Parallel()
	objects := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s/%d", at, i), x)
			}
		case object:
			_, properties := v["properties"]
			if v["type"] == "object" || properties {
				objects++
				if extra, closed := v["additionalProperties"]; !closed || extra == true || extra == nil {
					t.Errorf("%s: additional properties are allowed", at)
				}
			}
			for k, x := range v {
				walk(at+"/"+k, x)
			}
		}
	}
	walk("", readSchema(t))
	if objects < 40 {
		t.Errorf("only %d objects were found", objects)
	}
}

// leaf is a value of the chart.
type leaf struct{ path, meaning, standard string }

// leaves returns the values that the schema has, with their defaults, and checks that values.yaml has the same keys.
func leaves(t *testing.T) []leaf {
	t.Helper()
	var values yaml.Node
	if err := yaml.Unmarshal(read(t, chartDir+"/values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	s := readSchema(t)
	definitions := s["definitions"].(object)
	var out []leaf
	var walk func(path string, s object, v *yaml.Node)
	walk = func(path string, s object, v *yaml.Node) {
		meaning, _ := s["description"].(string)
		target := s
		for name := refOf(target); name != ""; name = refOf(target) {
			target = definitions[name].(object)
		}
		properties, isObject := target["properties"].(object)
		if !isObject || slices.Contains([]string{"agentConfig", "managerConfig", "resources"}, refOf(s)) {
			if meaning == "" {
				meaning, _ = target["description"].(string)
			}
			out = append(out, leaf{path, meaning, flow(t, v)})
			return
		}
		have := map[string]*yaml.Node{}
		var order []string
		for i := 0; i+1 < len(v.Content); i += 2 {
			have[v.Content[i].Value] = v.Content[i+1]
			order = append(order, v.Content[i].Value)
		}
		for name := range properties {
			if have[name] == nil && path+name != "global" {
				t.Errorf("values.yaml has no default for %s%s", path, name)
			}
		}
		for _, name := range order { // the order of values.yaml
			p, known := properties[name].(object)
			if !known {
				t.Errorf("the schema does not have %s%s", path, name)
				continue
			}
			walk(strings.TrimPrefix(path+"."+name, "."), p, have[name])
		}
	}
	walk("", s, values.Content[0])
	return out
}

// refOf returns the name of the definition that a schema refers to.
func refOf(s object) string {
	ref, _ := s["$ref"].(string)
	if all, ok := s["allOf"].([]any); ok {
		ref, _ = all[0].(object)["$ref"].(string)
	}
	return strings.TrimPrefix(ref, "#/definitions/")
}

// flow returns a value in one line.
func flow(t *testing.T, v *yaml.Node) string {
	t.Helper()
	var any any
	if err := v.Decode(&any); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(any)
	if err != nil {
		t.Fatal(err)
	}
	if v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return string(text)
}

// TestThePageHasEveryValue compares the table of values in docs/kubernetes.md with the schema and values.yaml; -update writes it.
func TestThePageHasEveryValue(t *testing.T) {
	const path, begin, end = "../../docs/kubernetes.md", "<!-- values -->\n", "<!-- /values -->\n"
	page := string(read(t, path))
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("the page has no %q", begin)
	}
	var b strings.Builder
	b.WriteString("| value | default | meaning |\n|---|---|---|\n")
	for _, l := range leaves(t) {
		if l.meaning == "" {
			t.Errorf("%s has no description in the schema", l.path)
		}
		standard := ""
		if l.standard != "" {
			standard = "`" + l.standard + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", l.path, standard, l.meaning)
	}
	goldentest.Compare(t, path, []byte(before+begin+b.String()+end+after))
}
