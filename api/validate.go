package api

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/gin-gonic/gin"

	"fairlane/api/gen"
	"fairlane/internal/phrase"
)

// maxFields bounds the faults that one answer lists.
const maxFields = 20

// validate validates the request against the contract.
func (s *Server) validate(c *gin.Context) {
	route := s.spec.of(c)
	if route == nil { // cannot happen while the routes are generated from the contract
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
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, // authenticate has done this
		},
	})
	if err == nil && route.Operation.Extensions["x-fairlane-unknown-query"] != "ignore" { // as Prometheus does
		err = unknownQuery(c, route)
	}
	if err != nil {
		s.writeProblem(c, rewrite(err))
	}
}

// unknownQuery rejects query parameters that are not in the contract, and repeated ones: a misspelt or contradicted
// dry_run must not pass as a real run.
func unknownQuery(c *gin.Context, r *route) error {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil { // unparsable parameters would be dropped silently
		return &problemError{code: "malformed-request", said: phrase.Of("problem.malformed-query")}
	}
	for name, values := range query {
		if len(values) > 1 {
			return faulty(phrase.Of("problem.query-twice"), gen.ProblemFieldInQuery, clip(name), phrase.Of("problem.values", "n", len(values)))
		}
		if param(r.PathItem, r.Operation, "query", name) == nil {
			return faulty(phrase.Of("problem.query-unknown"), gen.ProblemFieldInQuery, clip(name), phrase.Of("problem.no-parameter"))
		}
	}
	return nil
}

// rewrite converts the validator's findings into a problem in this project's own words.
func rewrite(err error) error {
	var known *problemError
	if errors.As(err, &known) {
		return known
	}
	p := &problemError{code: "invalid", said: phrase.Of("problem.contract")}
	for _, e := range flatten(err) {
		var re *openapi3filter.RequestError
		if !errors.As(e, &re) {
			continue
		}
		switch {
		case re.Parameter != nil:
			p.fields = append(p.fields, parameterFaults(re)...)
		case re.Err == nil && strings.Contains(re.Reason, "Content-Type"):
			return &problemError{code: "unsupported-media-type", said: phrase.Of("problem.want-json")}
		default:
			p.fields = append(p.fields, bodyFaults(re)...)
		}
	}
	p.fields = distinct(p.fields)
	if len(p.fields) > maxFields {
		p.fields = p.fields[:maxFields]
	}
	return p
}

// distinct removes duplicates: a value that breaks several rules is described by all of them each time.
func distinct(in []gen.ProblemField) (out []gen.ProblemField) {
	for _, f := range in {
		said := func(g gen.ProblemField) bool { return g.In == f.In && g.Pointer == f.Pointer && g.Detail == f.Detail }
		if !slices.ContainsFunc(out, said) {
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
	var out []gen.ProblemField
	for _, e := range flatten(re.Err) {
		var se *openapi3.SchemaError
		said := phrase.Of("problem.want", "want", wanted(re.Parameter.Schema.Value))
		switch {
		case errors.As(e, &se):
			said = describe(se)
		case errors.Is(e, openapi3filter.ErrInvalidRequired), errors.Is(e, openapi3filter.ErrInvalidEmptyValue):
			said = phrase.Of("problem.missing-or-empty")
		}
		out = append(out, fieldOf(gen.ProblemFieldIn(re.Parameter.In), re.Parameter.Name, said))
	}
	return out
}

func bodyFaults(re *openapi3filter.RequestError) []gen.ProblemField {
	if errors.Is(re.Err, openapi3filter.ErrInvalidRequired) {
		return []gen.ProblemField{fieldOf(gen.ProblemFieldInBody, "", phrase.Of("problem.body-missing"))}
	}
	var out []gen.ProblemField
	for _, e := range flatten(re.Err) {
		var se *openapi3.SchemaError
		if !errors.As(e, &se) {
			out = append(out, fieldOf(gen.ProblemFieldInBody, "", phrase.Of("problem.body-undecodable")))
			continue
		}
		out = append(out, fieldOf(gen.ProblemFieldInBody, pointer(se), describe(se)))
	}
	return out
}

// pointer returns the JSON pointer (RFC 6901) of the faulty value.
func pointer(se *openapi3.SchemaError) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, part := range se.JSONPointer() {
		b.WriteString("/" + escape.Replace(part))
	}
	// The validator reports an unknown field at its object and names it only in its text.
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
func describe(se *openapi3.SchemaError) phrase.Text {
	switch se.SchemaField {
	case "required":
		return phrase.Of("problem.missing")
	case "properties", "additionalProperties":
		return phrase.Of("problem.no-field")
	case "uniqueItems":
		return phrase.Of("problem.entry-twice")
	case "maxItems":
		return phrase.Of("problem.too-many-entries", "max", *se.Schema.MaxItems)
	case "minItems":
		return phrase.Of("problem.too-few-entries", "min", se.Schema.MinItems)
	}
	return phrase.Of("problem.found", "found", shown(se.Value), "want", wanted(se.Schema))
}

// types are the names of a schema's types.
var types = map[string]phrase.Text{
	"integer": phrase.Of("want.integer"), "number": phrase.Of("want.number"), "string": phrase.Of("want.text"), "boolean": phrase.Of("want.boolean"),
	"array": phrase.Of("want.list"), "object": phrase.Of("want.object"),
}

// wanted describes a schema in words.
func wanted(s *openapi3.Schema) phrase.Text {
	switch {
	case s == nil:
		return phrase.Of("want.other")
	case s.Type == nil && len(s.Enum) == 0 && len(s.AllOf) == 1: // a reference with a description of its own
		return wanted(s.AllOf[0].Value)
	}
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return phrase.Of("want.one-of", "values", words)
	}
	if id, ok := s.Extensions["x-want"].(string); ok { // a message that replaces a regular expression
		return phrase.Text{ID: id}
	}
	kind := phrase.Of("want.other")
	if s.Type != nil && len(s.Type.Slice()) > 0 {
		kind = types[s.Type.Slice()[0]]
	}
	switch {
	case s.Min != nil && s.Max != nil:
		kind = phrase.Of("want.between", "kind", kind, "min", number(*s.Min), "max", number(*s.Max))
	case s.Min != nil:
		kind = phrase.Of("want.at-least", "kind", kind, "min", number(*s.Min))
	case s.Max != nil:
		kind = phrase.Of("want.at-most", "kind", kind, "max", number(*s.Max))
	}
	if s.MaxLength != nil {
		kind = phrase.Of("want.length", "kind", kind, "min", s.MinLength, "max", *s.MaxLength)
	}
	return kind
}

func number(v float64) string {
	if v == float64(int64(v)) {
		return fmt.Sprint(int64(v))
	}
	return fmt.Sprint(v)
}

// shown quotes the found value, shortened; for compound values, their kind.
func shown(v any) phrase.Text {
	switch v := v.(type) {
	case nil:
		return phrase.Verbatim("null")
	case string:
		return phrase.Verbatim(strconv.Quote(clip(v)))
	case map[string]any:
		return phrase.Of("want.object")
	case []any:
		return phrase.Of("want.list")
	case float64:
		return phrase.Verbatim(number(v))
	}
	return phrase.Verbatim(clip(fmt.Sprint(v)))
}

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
