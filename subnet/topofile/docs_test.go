package topofile

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet"
)

func TestEveryExampleInTheDocumentIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/fabric-files.md")
	if err != nil {
		t.Fatal(err)
	}
	// The section on inventories has examples of another kind, which package inventory reads.
	page = regexp.MustCompile(`(?ms)^## Inventory of .*?^## `).ReplaceAll(page, []byte("## "))
	blocks := regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	// Nodes and links of each example.
	want := [][2]int{{3, 2}, {4, 4}, {2, 1}, {3, 2}}
	if len(blocks) != len(want) {
		t.Fatalf("%d examples, want %d", len(blocks), len(want))
	}
	for i, b := range blocks {
		f, err := Read("example", strings.NewReader(b[2]))
		if err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}
		if got := [2]int{len(f.Nodes), len(f.Links)}; got != want[i] {
			t.Errorf("example %d: %d nodes and %d links, want %v", i+1, got[0], got[1], want[i])
		}
		for _, h := range f.Hosts() {
			if f.LFTs == nil {
				break
			}
			for lid := range f.TopLID() + 1 {
				if _, ok := f.PortByLID(lid); !ok {
					continue
				}
				if _, err := subnet.Path(f, subnet.PortRef{Node: h, Port: 1}, lid); err != nil {
					t.Errorf("example %d: %v", i+1, err)
				}
			}
		}
	}
}

func TestTheMessageInTheDocumentIsReal(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/fabric-files.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nnodes:\n" + strings.Repeat("\n", 8) + "  - {name: h, kind: host}\nlinks:\n  - {a: h:1,\n     b: leaf3:1, rate: 1G}\n"
	_, err = Read("pod1.yaml", strings.NewReader(text))
	if err == nil || !strings.Contains(string(page), "    "+err.Error()+"\n") {
		t.Errorf("the document does not have the message %v", err)
	}
}

// schemaNode is the part of JSON Schema that the fabric's schema uses for objects.
type schemaNode struct {
	Properties           map[string]schemaNode
	Items                *schemaNode
	AdditionalProperties json.RawMessage
	Enum                 []any
}

func TestTheSchemaHasTheKeysOfTheReader(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/schema/fabric.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	node := *root.Properties["nodes"].Items
	var port schemaNode
	if err := json.Unmarshal(node.Properties["port"].AdditionalProperties, &port); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		schema schemaNode
		keys   []string
	}{
		"file": {root, rootKeys()}, "node": {node, nodeKeys()}, "port": {port, portKeys()},
		"link": {*root.Properties["links"].Items, linkKeys()},
		"lids": {*root.Properties["lids"].Items, lidKeys()},
		"lfts": {*root.Properties["lfts"].Items, lftKeys()},
	} {
		var got []string
		for key := range c.schema.Properties {
			got = append(got, key)
		}
		slices.Sort(got)
		slices.Sort(c.keys)
		if diff := cmp.Diff(c.keys, got); diff != "" {
			t.Errorf("%s (-reader +schema)\n%s", name, diff)
		}
		if string(c.schema.AdditionalProperties) != "false" {
			t.Errorf("%s: the schema allows unknown keys", name)
		}
	}
	link := root.Properties["links"].Items
	for s := subnet.SDR; s <= subnet.XDR; s++ {
		if !slices.Contains(link.Properties["speed"].Enum, any(s.String())) {
			t.Errorf("the schema lacks the speed %s", s)
		}
	}
	for st := subnet.PortState(0); st <= subnet.PortActive; st++ {
		if !slices.Contains(node.Properties["state"].Enum, any(st.String())) {
			t.Errorf("the schema lacks the state %s", st)
		}
	}
}
