package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/api/reference"
)

// problemsExtension is the key of an operation's specific problem codes. Codes that follow from its form, such as
// precondition-failed from If-Match, are not repeated there.
const problemsExtension = "x-fairlane-problems"

// ambient lists the codes that every operation may return.
func ambient() []string {
	return []string{
		"malformed-request", "malformed-body", "body-too-large", "unsupported-media-type", "unauthorized", "csrf", "locked", "invalid",
		"internal", "busy", "storage-full", "storage-read-only", "storage-blocked", "storage-damaged", "storage-unavailable", "timeout",
	}
}

// routing lists the codes of requests that match no operation.
func routing() []string { return []string{"no-such-route", "method-not-allowed"} }

// problemsOf lists the codes that an operation may return beyond the ambient ones, sorted by status.
func problemsOf(r rule, item *openapi3.PathItem, op *openapi3.Operation) ([]string, error) {
	codes, err := ownProblems(op)
	if err != nil {
		return nil, err
	}
	if r.Domain != reachPublic && r.Domain != reachSelf {
		codes = append(codes, "forbidden")
	}
	if slices.ContainsFunc(item.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.In == "path" }) {
		codes = append(codes, "not-found")
	}
	if param(item, op, "header", "If-Match") != nil {
		codes = append(codes, "precondition-failed", "precondition-required")
	}
	if param(item, op, "header", idempotencyHeader) != nil {
		codes = append(codes, "idempotency-mismatch", "idempotency-in-progress", "idempotency-answer-lost")
	}
	known := kinds()
	slices.SortFunc(codes, func(a, b string) int {
		if known[a].status != known[b].status {
			return known[a].status - known[b].status
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(codes), nil
}

// ownProblems reads an operation's codes from the contract.
func ownProblems(op *openapi3.Operation) ([]string, error) {
	value, ok := op.Extensions[problemsExtension]
	if !ok {
		return nil, nil
	}
	codes, err := recast[[]string](value)
	if err != nil {
		return nil, fmt.Errorf("operation %s: %s: %w", op.OperationID, problemsExtension, err)
	}
	known := kinds()
	for _, c := range codes {
		if _, ok := known[c]; !ok {
			return nil, fmt.Errorf("operation %s: %s: %q is no code of this API", op.OperationID, problemsExtension, c)
		}
	}
	return codes, nil
}

// described adds status and title to codes.
func described(codes []string) []reference.Problem {
	known := kinds()
	out := make([]reference.Problem, 0, len(codes))
	for _, c := range codes {
		out = append(out, reference.Problem{Code: c, Title: known[c].title.String(), Status: known[c].status})
	}
	slices.SortStableFunc(out, func(a, b reference.Problem) int { return a.Status - b.Status })
	return out
}

// newSite builds the pages that explain this API.
func newSite(sp *spec) (*reference.Site, error) {
	return reference.New(reference.Source{
		Contract: sp.doc, YAML: contract, Common: described(append(ambient(), routing()...)),
		Problems: func(method, path string) []reference.Problem { return described(sp.at(method, path).problems) },
		Right: func(method, path string) string {
			r := sp.at(method, path).rule
			switch r.Domain {
			case reachPublic:
				return ""
			case reachSelf:
				return "self"
			}
			return fmt.Sprintf("%s:%s (%s)", r.Object, r.Action, r.Domain)
		},
	})
}
