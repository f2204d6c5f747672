package docs

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fairlane/sim/scenario"
)

// literals returns the strings in a piece of source code.
func literals(t *testing.T, n ast.Node) (words []string) {
	t.Helper()
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			w, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, w)
		}
		return true
	})
	return words
}

// readerKeys returns the keys that the scenario reader accepts: the literals in its calls of mapping, or in the
// function that lists them, by the name that it gives each mapping, with a prefix for those of Ethernet.
func readerKeys(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for name, prefix := range map[string]string{"parse.go": "", "topology.go": "", "ethernetparse.go": "ethernet_", "generatorparse.go": "ethernet_", "seriesparse.go": "ethernet_"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "sim/scenario", name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		lists := map[string]*ast.FuncDecl{}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				lists[f.Name.Name] = f
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if fn, ok := call.Fun.(*ast.SelectorExpr); !ok || fn.Sel.Name != "mapping" {
				return true
			}
			var words []string
			for _, a := range call.Args[1:] {
				list, ok := a.(*ast.CallExpr)
				if !ok {
					words = append(words, literals(t, a)...)
					continue
				}
				if f, ok := list.Fun.(*ast.Ident); ok && len(list.Args) == 0 && lists[f.Name] != nil {
					words = append(words, literals(t, lists[f.Name].Body)...)
				}
			}
			if len(words) < 2 {
				if call.Ellipsis.IsValid() { // keys that depend on the file
					return true
				}
				t.Fatalf("%s: a call of mapping without literal keys", name)
			}
			keys := words[1:]
			slices.Sort(keys)
			out[prefix+words[0]] = keys
			return true
		})
	}
	return out
}

// schemaNode is the part of JSON Schema that the scenario's schema uses for objects.
type schemaNode struct {
	Properties           map[string]json.RawMessage
	AdditionalProperties any
	Defs                 map[string]schemaNode `json:"$defs"`
}

func TestTheScenarioSchemaHasTheKeysOfTheReader(t *testing.T) {
	t.Parallel()
	var s schemaNode
	if err := json.Unmarshal([]byte(page(t, "docs/schema/scenario.schema.json")), &s); err != nil {
		t.Fatal(err)
	}
	objects := map[string]schemaNode{}
	for name, d := range s.Defs {
		if d.Properties != nil {
			objects[name] = d
		}
	}
	reader := readerKeys(t)
	if len(reader) != len(objects) {
		t.Errorf("the reader has %d kinds of mappings, the schema %d", len(reader), len(objects))
	}
	for name, want := range reader {
		o := objects[name]
		var got []string
		for k := range o.Properties {
			got = append(got, k)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: the schema has the keys\n%q, the reader\n%q", name, got, want)
		}
		if o.AdditionalProperties != false {
			t.Errorf("%s: the schema allows unknown keys, the reader does not", name)
		}
	}
}

func TestThePageOfScenariosHasEveryKeyAndItsExamplesRun(t *testing.T) {
	t.Parallel()
	reference := page(t, "docs/scenario-files.md")
	for name, keys := range readerKeys(t) {
		for _, k := range keys {
			if !strings.Contains(reference, "`"+k+"`") {
				t.Errorf("docs/scenario-files.md does not explain the key %s of %s", k, name)
			}
		}
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(reference, -1)
	if len(blocks) == 0 {
		t.Fatal("docs/scenario-files.md has no example")
	}
	for i, b := range blocks {
		s, err := scenario.Parse("example.yaml", []byte(b[1]), nil)
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}
		// A hundredth of the time suffices to show that it runs.
		s.Duration, s.Warmup, s.Changes = s.Duration/100, 0, nil
		if s.Plane() == scenario.PlaneEthernet {
			r, err := scenario.RunEthernet(context.Background(), s, scenario.EtherOptions{})
			if err != nil || r.Totals.Packets == 0 {
				t.Errorf("example %d: %v", i+1, err)
			}
			continue
		}
		r, err := scenario.Run(context.Background(), s, nil)
		if err != nil || r.Totals.Packets == 0 {
			t.Errorf("example %d: %v, %d packets", i+1, err, r.Totals.Packets)
		}
	}
}

func TestThePageOfTheSimulatorListsTheBuiltInScenarios(t *testing.T) {
	t.Parallel()
	text := section(page(t, "docs/simulator.md"), "Built-in scenarios")
	list, err := scenario.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		if !strings.Contains(text, "| `"+b.Name+"` |") {
			t.Errorf("docs/simulator.md does not list the scenario %s", b.Name)
		}
	}
}
