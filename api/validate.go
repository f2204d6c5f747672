package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
)

// maxFields bounds the faults that one answer lists.
const maxFields = 20

// validate judges the request by the contract.
func (s *Server) validate(c *gin.Context) {
	route := s.spec.of(c)
	if route == nil { // not possible while the routes are generated from the contract
		s.writeProblem(c, fmt.Errorf("route %s %s is not in the contract", c.Request.Method, c.FullPath()))
		return
	}
	params := make(map[string]string, len(c.Params))
	for _, p := range c.Params {
		params[p.Key] = p.Value
	}
	err := openapi3filter.ValidateRequest(c.Request.Context(), &openapi3filter.RequestValidationInput{
		Request: c.Request, PathParams: params, Route: route.Route,
		Options: &openapi3filter.Options{
			MultiError: true, SkipSettingDefaults: true,
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, // authenticate has done it
		},
	})
	if err == nil {
		err = unknownQuery(c, route)
	}
	if err != nil {
		s.writeProblem(c, rewrite(err))
	}
}

// unknownQuery refuses query parameters that the contract does not have, and those that come twice: a misspelt
// dry_run must not pass as a real run, nor one beside another.
func unknownQuery(c *gin.Context, r *route) error {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil { // what cannot be read would be left out without a word
		return &problemError{code: "malformed-request", detail: "the query is not one of names and values with % before two hexadecimal digits and & between them"}
	}
	for name, values := range query {
		if len(values) > 1 {
			return faulty("query parameter given twice", gen.ProblemFieldInQuery, clip(name), fmt.Sprintf("found %d values: want one", len(values)))
		}
		if param(r.PathItem, r.Operation, "query", name) == nil {
			return faulty("unknown query parameter", gen.ProblemFieldInQuery, clip(name), "the operation has no such parameter")
		}
	}
	return nil
}

// rewrite turns the validator's findings into a problem in our own words.
func rewrite(err error) error {
	var known *problemError
	if errors.As(err, &known) {
		return known
	}
	p := &problemError{code: "invalid", detail: "the request does not fit the contract"}
	for _, e := range flatten(err) {
		var re *openapi3filter.RequestError
		if !errors.As(e, &re) {
			continue
		}
		switch {
		case re.Parameter != nil:
			p.fields = append(p.fields, parameterFaults(re)...)
		case re.Err == nil && strings.Contains(re.Reason, "Content-Type"):
			return &problemError{code: "unsupported-media-type", detail: "want Content-Type: application/json"}
		default:
			p.fields = append(p.fields, bodyFaults(re)...)
		}
	}
	p.fields = once(p.fields)
	if len(p.fields) > maxFields {
		p.fields = p.fields[:maxFields]
	}
	return p
}

// once leaves out what was said before: a value that breaks several rules is described by all of them each time.
func once(in []gen.ProblemField) (out []gen.ProblemField) {
	for _, f := range in {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// flatten opens nested lists of errors.
func flatten(err error) []error {
	if many, ok := err.(openapi3.MultiError); ok { //nolint:errorlint // a list inside another error is that error's own detail
		var out []error
		for _, e := range many {
			out = append(out, flatten(e)...)
		}
		return out
	}
	return []error{err}
}

func parameterFaults(re *openapi3filter.RequestError) []gen.ProblemField {
	f := gen.ProblemField{In: gen.ProblemFieldIn(re.Parameter.In), Pointer: re.Parameter.Name}
	var out []gen.ProblemField
	for _, e := range flatten(re.Err) {
		var se *openapi3.SchemaError
		switch {
		case errors.As(e, &se):
			f.Detail = describe(se)
		case errors.Is(e, openapi3filter.ErrInvalidRequired), errors.Is(e, openapi3filter.ErrInvalidEmptyValue):
			f.Detail = "is missing or empty"
		default:
			f.Detail = "want " + wanted(re.Parameter.Schema.Value)
		}
		out = append(out, f)
	}
	return out
}

func bodyFaults(re *openapi3filter.RequestError) []gen.ProblemField {
	if errors.Is(re.Err, openapi3filter.ErrInvalidRequired) {
		return []gen.ProblemField{{In: gen.ProblemFieldInBody, Pointer: "", Detail: "the body is missing: want a JSON object"}}
	}
	var out []gen.ProblemField
	for _, e := range flatten(re.Err) {
		var se *openapi3.SchemaError
		if !errors.As(e, &se) {
			out = append(out, gen.ProblemField{In: gen.ProblemFieldInBody, Pointer: "", Detail: "could not be decoded: want JSON as the contract says"})
			continue
		}
		out = append(out, gen.ProblemField{In: gen.ProblemFieldInBody, Pointer: pointer(se), Detail: describe(se)})
	}
	return out
}

// pointer is the JSON pointer (RFC 6901) of the faulty value.
func pointer(se *openapi3.SchemaError) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, part := range se.JSONPointer() {
		b.WriteString("/" + escape.Replace(part))
	}
	// The validator places an unknown field at its object and names it in its text only.
	if se.SchemaField == "properties" || se.SchemaField == "additionalProperties" {
		if _, rest, ok := strings.Cut(se.Reason, `property "`); ok {
			if name, _, ok := strings.Cut(rest, `" is unsupported`); ok {
				b.WriteString("/" + escape.Replace(clip(name)))
			}
		}
	}
	return b.String()
}

// describe says what was found and what is allowed.
func describe(se *openapi3.SchemaError) string {
	switch se.SchemaField {
	case "required":
		return "is missing"
	case "properties", "additionalProperties":
		return "is not a field of this object"
	case "uniqueItems":
		return "has an entry twice: want each once"
	case "maxItems":
		return fmt.Sprintf("has too many entries: want at most %d", *se.Schema.MaxItems)
	case "minItems":
		return fmt.Sprintf("has too few entries: want at least %d", se.Schema.MinItems)
	}
	return "found " + shown(se.Value) + ": want " + wanted(se.Schema)
}

// wanted puts a schema into words.
func wanted(s *openapi3.Schema) string {
	switch {
	case s == nil:
		return "another value"
	case s.Type == nil && len(s.Enum) == 0 && len(s.AllOf) == 1: // a reference with a description of its own
		return wanted(s.AllOf[0].Value)
	}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(words, ", ")
	}
	if text, ok := s.Extensions["x-want"].(string); ok { // in place of a regular expression
		return text
	}
	kind := "another value"
	if s.Type != nil && len(s.Type.Slice()) > 0 {
		kind = map[string]string{
			"integer": "a whole number", "number": "a number", "string": "a text", "boolean": "true or false",
			"array": "a list", "object": "an object",
		}[s.Type.Slice()[0]]
	}
	switch {
	case s.Min != nil && s.Max != nil:
		kind += fmt.Sprintf(" from %s to %s", number(*s.Min), number(*s.Max))
	case s.Min != nil:
		kind += " of at least " + number(*s.Min)
	case s.Max != nil:
		kind += " of at most " + number(*s.Max)
	}
	if s.MaxLength != nil {
		kind += fmt.Sprintf(" of %d to %d characters", s.MinLength, *s.MaxLength)
	}
	return kind
}

func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

// shown repeats what was found, shortened; compound values by their kind.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("%q", clip(v))
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case float64:
		return number(v)
	}
	return clip(fmt.Sprint(v))
}

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
