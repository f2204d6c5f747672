package api

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed openapi.yaml
var contract []byte

// Contract returns the OpenAPI document.
func Contract() []byte { return append([]byte(nil), contract...) }

// spec is the parsed contract with its operations by method and route pattern.
type spec struct {
	doc    *openapi3.T
	routes map[string]*routers.Route // key: "GET /api/v1/fabrics/:fabric"
	rules  map[string]rule           // by the same key
}

func loadSpec() (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(contract)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	// Examples are judged by a test, once, and not at every start.
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("check contract: %w", err)
	}
	// The validator compiles a 3.1 schema anew on every request and reports in its library's
	// words. The contract uses only vocabulary that 3.0 has too (a test holds it to that), so
	// requests are judged by the faster rules of 3.0.
	rules := *doc
	rules.OpenAPI = "3.0.3"
	s := &spec{doc: doc, routes: make(map[string]*routers.Route), rules: make(map[string]rule)}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			s.routes[method+" "+ginPattern(path)] = &routers.Route{
				Spec: &rules, Path: path, PathItem: item, Method: method, Operation: op,
			}
			r, _, err := ruleOf(op)
			if err != nil {
				return nil, err
			}
			s.rules[method+" "+ginPattern(path)] = r
			if _, err := problemsOf(item, op); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// ginPattern turns /fabrics/{fabric} into /fabrics/:fabric.
func ginPattern(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// public reports whether the route needs no token: its operation says "security: []".
func public(r *routers.Route) bool {
	return r.Operation.Security != nil && len(*r.Operation.Security) == 0
}
