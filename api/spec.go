package api

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var contract []byte

// Contract returns the OpenAPI document.
func Contract() []byte { return append([]byte(nil), contract...) }

// spec is the parsed contract.
type spec struct {
	doc    *openapi3.T
	routes map[string]*route // key: "GET /api/v1/fabrics/:fabric"
}

// route is an operation of the contract, with the right that it requires.
type route struct {
	*routers.Route

	rule     rule
	problems []string // codes that it may return beyond the ambient ones, sorted by status
}

// of returns the operation of a request; nil without one.
func (s *spec) of(c *gin.Context) *route { return s.routes[c.Request.Method+" "+c.FullPath()] }

// at returns the operation of a method and a path of the contract.
func (s *spec) at(method, path string) *route { return s.routes[method+" "+ginPattern(path)] }

func loadSpec() (*spec, error) {
	doc, err := openapi3.NewLoader().LoadFromData(contract)
	if err != nil {
		return nil, fmt.Errorf("read contract: %w", err)
	}
	// A test validates the examples, so that not every start has to.
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("check contract: %w", err)
	}
	// The validator compiles a 3.1 schema anew on every request and reports in its library's words. The contract uses
	// only vocabulary that 3.0 also has (a test ensures it), so requests are validated by the faster rules of 3.0.
	rules := *doc
	rules.OpenAPI = "3.0.3"
	s := &spec{doc: doc, routes: make(map[string]*route)}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			r := &route{Route: &routers.Route{Spec: &rules, Path: path, PathItem: item, Method: method, Operation: op}}
			if r.rule, _, err = ruleOf(op); err != nil {
				return nil, err
			}
			if r.problems, err = problemsOf(r.rule, item, op); err != nil {
				return nil, err
			}
			s.routes[method+" "+ginPattern(path)] = r
		}
	}
	return s, nil
}

// ginPattern converts /fabrics/{fabric} into /fabrics/:fabric.
func ginPattern(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// public reports whether an operation needs no token: it says "security: []".
func public(op *openapi3.Operation) bool { return op.Security != nil && len(*op.Security) == 0 }

// param returns a parameter of an operation, which its path may declare; nil when there is none of that name.
func param(item *openapi3.PathItem, op *openapi3.Operation, in, name string) *openapi3.Parameter {
	if p := op.Parameters.GetByInAndName(in, name); p != nil {
		return p
	}
	return item.Parameters.GetByInAndName(in, name)
}
