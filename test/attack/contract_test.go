package attack

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// operation is one operation in the contract.
type operation struct {
	id, method, path string // the path below /api/v1
	hasBody          bool
	example          any // of its body
	public           bool
	domain           string // scope of its rights: all, fabric, tenant, own or self
	action           string
	query            []string // names of its parameters
}

// contract is the part of the contract that the attackers need.
type contract struct{ ops []operation }

type yamlOperation struct {
	ID       string                          `yaml:"operationId"`
	Security *[]any                          `yaml:"security"`
	Authz    struct{ Action, Domain string } `yaml:"x-fairlane-authz"`
	Params   []struct{ Name, In string }     `yaml:"parameters"`
	Body     *struct {
		Content map[string]struct{ Example any }
	} `yaml:"requestBody"`
}

// readContract reads api/openapi.yaml.
func readContract(t *testing.T) *contract {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]yaml.Node
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	c := &contract{}
	for path, item := range doc.Paths {
		for method, node := range item {
			if method == "parameters" {
				continue
			}
			var y yamlOperation
			if err := node.Decode(&y); err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			op := operation{
				id: y.ID, method: strings.ToUpper(method), path: strings.TrimPrefix(path, "/api/v1"), public: y.Security != nil && len(*y.Security) == 0,
				domain: y.Authz.Domain, action: y.Authz.Action,
			}
			for _, p := range y.Params {
				if p.In == "query" {
					op.query = append(op.query, p.Name)
				}
			}
			if y.Body != nil {
				op.hasBody, op.example = true, y.Body.Content["application/json"].Example
			}
			c.ops = append(c.ops, op)
		}
	}
	slices.SortFunc(c.ops, func(a, b operation) int { return strings.Compare(a.id, b.id) }) // the seed decides the order, not the map
	if len(c.ops) < 100 {
		t.Fatalf("%d operations in the contract", len(c.ops))
	}
	return c
}

// fill inserts the values of a path's parameters.
func fill(path string, values map[string]string) string {
	for name, v := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", v)
	}
	return path
}
