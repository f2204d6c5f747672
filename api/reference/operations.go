package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"fairlane/internal/i18n"
)

// group holds the operations of one tag.
type group struct {
	Name       string
	About      template.HTML
	Operations []operation
}

type operation struct {
	ID, Method, Path, Summary string
	About                     template.HTML
	Right                     string
	Params                    []field
	Body                      *body
	Answers                   []answer
	Problems                  []Problem
	Curl                      string
}

type body struct {
	Type    template.HTML
	Fields  []field
	Example string
}

type answer struct {
	Status, Kind string
	About        template.HTML
	Headers      []string
	Type         template.HTML
	Example      string
}

// schema is a named type of the contract.
type schema struct {
	Name   string
	About  template.HTML
	Type   template.HTML // for a type that is not an object
	Fields []field
}

// field is a parameter or a field of an object.
type field struct {
	Name, In string
	Type     template.HTML
	Required bool
	About    template.HTML
	Limits   string
}

// methods is the order of the operations of a path.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// reference builds the page of all operations.
func (s *Site) reference(t *template.Template, words *i18n.Catalogue) (Page, error) {
	doc := s.source.Contract
	v := s.view(words, "", doc.Info.Title+" API")
	v.About = prose(doc.Info.Description)
	v.Common = s.source.Common
	at := map[string]int{}
	for i, tag := range doc.Tags {
		at[tag.Name] = i
		v.Groups = append(v.Groups, group{Name: tag.Name, About: prose(tag.Description)})
	}
	for _, p := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(p)
		for _, m := range methods {
			op := item.GetOperation(m)
			if op == nil {
				continue
			}
			i, ok := at[strings.Join(op.Tags, " ")]
			if !ok {
				return Page{}, fmt.Errorf("operation %s has the tags %q: want one that the contract lists", op.OperationID, op.Tags)
			}
			v.Groups[i].Operations = append(v.Groups[i].Operations, s.operation(m, p, item, op))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		x := doc.Components.Schemas[name].Value
		e := schema{Name: name, About: prose(x.Description), Fields: fields(x)}
		if len(e.Fields) == 0 {
			e.Type = typeOf(&openapi3.SchemaRef{Value: x}) + " " + template.HTML(template.HTMLEscapeString(limits(x))) //nolint:gosec // escaped
		}
		v.Schemas = append(v.Schemas, e)
	}
	return execute(t, v)
}

// prose converts a description of the contract to HTML.
func prose(text string) template.HTML {
	return template.HTML(markdown(text, lead)) //nolint:gosec // the contract's own words, with all HTML in them escaped
}

func (s *Site) operation(method, path string, item *openapi3.PathItem, op *openapi3.Operation) operation {
	o := operation{
		ID: op.OperationID, Method: method, Path: path, Summary: op.Summary, About: prose(op.Description),
		Right: s.source.Right(method, path), Problems: s.source.Problems(method, path),
	}
	for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		for _, p := range list {
			o.Params = append(o.Params, field{
				Name: p.Value.Name, In: p.Value.In, Required: p.Value.Required, Type: typeOf(p.Value.Schema),
				About: prose(cmp.Or(p.Value.Description, p.Value.Schema.Value.Description)), Limits: limits(p.Value.Schema.Value),
			})
		}
	}
	if op.RequestBody != nil {
		if m := op.RequestBody.Value.Content.Get("application/json"); m != nil {
			o.Body = &body{Type: typeOf(m.Schema), Fields: fields(m.Schema.Value), Example: indented(m.Example)}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(op.Responses.Map())) {
		if code != "default" {
			o.Answers = append(o.Answers, answerOf(code, op.Responses.Value(code).Value))
		}
	}
	o.Curl = curl(method, path, op)
	return o
}

func answerOf(code string, r *openapi3.Response) answer {
	a := answer{Status: code, Headers: slices.Sorted(maps.Keys(r.Headers))}
	if r.Description != nil {
		a.About = prose(*r.Description)
	}
	for kind, m := range r.Content {
		a.Kind, a.Type, a.Example = kind, typeOf(m.Schema), indented(m.Example)
	}
	return a
}

// indented formats an example as JSON; a string is unchanged.
func indented(v any) string {
	if v == nil {
		return ""
	}
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

// fields lists the fields of an object, the required ones first.
func fields(s *openapi3.Schema) []field {
	var need, may []field
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		f := field{Name: name, Required: slices.Contains(s.Required, name), Type: typeOf(p), About: prose(p.Value.Description), Limits: limits(p.Value)}
		if f.Required {
			need = append(need, f)
		} else {
			may = append(may, f)
		}
	}
	return append(need, may...)
}

// typeOf names a type, with a link when it is a named one.
func typeOf(ref *openapi3.SchemaRef) template.HTML {
	if name, ok := strings.CutPrefix(ref.Ref, "#/components/schemas/"); ok {
		name = template.HTMLEscapeString(name)
		return template.HTML(`<a href="#schema-` + name + `">` + name + "</a>") //nolint:gosec // escaped
	}
	s := ref.Value
	if len(s.AllOf) == 1 {
		return typeOf(s.AllOf[0])
	}
	switch {
	case s.Type == nil || len(s.Type.Slice()) == 0:
		return "any"
	case s.Type.Is("array"):
		return "list of " + typeOf(s.Items)
	}
	return template.HTML(template.HTMLEscapeString(s.Type.Slice()[0])) //nolint:gosec // escaped
}

// limits describes the constraints of a value briefly.
func limits(s *openapi3.Schema) string {
	if len(s.AllOf) == 1 {
		s = s.AllOf[0].Value
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		say("%s", strings.Join(words, " | "))
	}
	if s.Min != nil {
		say(">= %s", number(*s.Min))
	}
	if s.Max != nil {
		say("<= %s", number(*s.Max))
	}
	if s.MinLength > 0 {
		say("length >= %d", s.MinLength)
	}
	if s.MaxLength != nil {
		say("length <= %d", *s.MaxLength)
	}
	if s.MinItems > 0 {
		say("entries >= %d", s.MinItems)
	}
	if s.MaxItems != nil {
		say("entries <= %d", *s.MaxItems)
	}
	if s.Pattern != "" {
		say("%s", s.Pattern)
	}
	if s.Format != "" && s.Format != "int64" && s.Format != "double" {
		say("%s", s.Format)
	}
	if s.Default != nil {
		say("default %v", s.Default)
	}
	return strings.Join(out, ", ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// curl returns the operation as a curl command.
func curl(method, path string, op *openapi3.Operation) string {
	var b strings.Builder
	b.WriteString("curl")
	if method != http.MethodGet {
		b.WriteString(" -X " + method)
	}
	if op.Security == nil || len(*op.Security) > 0 {
		b.WriteString(` -H "Authorization: Bearer $FAIRLANE_TOKEN"`)
	}
	if op.Parameters.GetByInAndName("header", "Idempotency-Key") != nil {
		b.WriteString(` -H "Idempotency-Key: $(uuidgen)"`)
	}
	if op.Parameters.GetByInAndName("header", "If-Match") != nil {
		b.WriteString(` -H 'If-Match: "1"'`)
	}
	if op.RequestBody != nil {
		if m := op.RequestBody.Value.Content.Get("application/json"); m != nil && m.Example != nil {
			if text, err := json.Marshal(m.Example); err == nil {
				b.WriteString(" \\\n  -H 'Content-Type: application/json' -d '" + strings.ReplaceAll(string(text), "'", `'\''`) + "'")
			}
		}
	}
	b.WriteString(" \\\n  \"$FAIRLANE_URL" + path + `"`)
	return b.String()
}
