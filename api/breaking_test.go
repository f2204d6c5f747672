package api

import (
	"flag"
	"fmt"
	"os"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// release makes this contract the one that later ones are compared with: go test ./api -run NothingBreaks -release.
var release = flag.Bool("release", false, "take the contract as released")

const released = "testdata/released.yaml"

// breaks collects the differences that break a client of the earlier contract.
type breaks struct{ found []string }

func (b *breaks) add(at, format string, args ...any) {
	b.found = append(b.found, at+": "+fmt.Sprintf(format, args...))
}

// breaking compares two contracts. Requests may accept more and answers may return more; the reverse breaks. Values of an
// enumeration in answers may be added: clients must accept unknown words.
func breaking(before, after *openapi3.T) []string {
	b := &breaks{}
	next := map[string]operation{}
	for _, o := range operationsOf(after) {
		next[o.method+" "+o.path] = o
	}
	for _, o := range operationsOf(before) {
		n, ok := next[o.method+" "+o.path]
		if !ok {
			b.add(o.OperationID, "the operation is gone")
			continue
		}
		b.operation(o, n)
	}
	slices.Sort(b.found)
	return slices.Compact(b.found)
}

func (b *breaks) operation(o, n operation) {
	at := o.OperationID
	if o.OperationID != n.OperationID {
		b.add(at, "is called %s now", n.OperationID)
	}
	if public(o.Operation) && !public(n.Operation) {
		b.add(at, "needs a token now")
	}
	for _, list := range []openapi3.Parameters{o.Parameters, o.item.Parameters} {
		for _, p := range list {
			m := n.param(p.Value.In, p.Value.Name)
			if m == nil {
				b.add(at, "parameter %s is gone", p.Value.Name)
				continue
			}
			b.request(at+" "+p.Value.Name, p.Value.Schema.Value, m.Schema.Value, nil)
		}
	}
	for _, list := range []openapi3.Parameters{n.Parameters, n.item.Parameters} {
		for _, p := range list {
			if was := o.param(p.Value.In, p.Value.Name); p.Value.Required && (was == nil || !was.Required) {
				b.add(at, "parameter %s is required now", p.Value.Name)
			}
		}
	}
	if was, is := body(o), body(n); was != nil && is == nil {
		b.add(at, "takes no body any more")
	} else if was == nil && is != nil && n.RequestBody.Value.Required {
		b.add(at, "requires a body now")
	} else if was != nil {
		b.request(at+" body", was, is, nil)
	}
	for code, r := range o.Responses.Map() {
		m := n.Responses.Value(code)
		if m == nil {
			b.add(at, "answer %s is gone", code)
			continue
		}
		for kind, media := range r.Value.Content {
			is := m.Value.Content[kind]
			if is == nil {
				b.add(at, "answer %s is no longer %s", code, kind)
				continue
			}
			b.answer(at+" "+code, media.Schema.Value, is.Schema.Value, nil)
		}
		for name := range r.Value.Headers {
			if m.Value.Headers[name] == nil {
				b.add(at, "answer %s has no header %s any more", code, name)
			}
		}
	}
}

func body(o operation) *openapi3.Schema {
	if o.RequestBody == nil {
		return nil
	}
	if m := o.RequestBody.Value.Content.Get("application/json"); m != nil {
		return m.Schema.Value
	}
	return nil
}

// request finds values that were accepted and are rejected now.
func (b *breaks) request(at string, was, is *openapi3.Schema, seen []*openapi3.Schema) {
	if slices.Contains(seen, was) || !b.sameType(at, was, is) {
		return
	}
	seen = append(seen, was)
	for _, v := range was.Enum {
		if len(is.Enum) > 0 && !slices.Contains(is.Enum, v) {
			b.add(at, "no longer takes %v", v)
		}
	}
	if len(was.Enum) == 0 && len(is.Enum) > 0 {
		b.add(at, "takes some values only now")
	}
	if is.Pattern != "" && !widens(was.Pattern, is.Pattern) {
		b.add(at, "has another pattern")
	}
	narrower(b, at, "least value", was.Min, is.Min, func(a, b float64) bool { return b > a })
	narrower(b, at, "greatest value", was.Max, is.Max, func(a, b float64) bool { return b < a })
	narrower(b, at, "greatest length", was.MaxLength, is.MaxLength, func(a, b uint64) bool { return b < a })
	narrower(b, at, "greatest number of entries", was.MaxItems, is.MaxItems, func(a, b uint64) bool { return b < a })
	if is.MinLength > was.MinLength || is.MinItems > was.MinItems {
		b.add(at, "wants more than before")
	}
	for _, name := range is.Required {
		if !slices.Contains(was.Required, name) {
			b.add(at, "field %s is required now", name)
		}
	}
	for name, p := range was.Properties {
		if n := is.Properties[name]; n == nil {
			b.add(at, "no longer takes field %s", name)
		} else {
			b.request(at+"/"+name, p.Value, n.Value, seen)
		}
	}
	if was.Items != nil && is.Items != nil {
		b.request(at+"/*", was.Items.Value, is.Items.Value, seen)
	}
}

// widens reports whether a pattern certainly matches everything that another did: they differ only by additional
// alternatives. In doubt it reports false.
func widens(was, is string) bool {
	if was == is {
		return true
	}
	a, err := syntax.Parse(was, syntax.Perl)
	b, errB := syntax.Parse(is, syntax.Perl)
	return was != "" && err == nil && errB == nil && includes(a, b)
}

func includes(was, is *syntax.Regexp) bool {
	switch {
	case was.Equal(is):
		return true
	case was.Op == syntax.OpAlternate:
		return !slices.ContainsFunc(was.Sub, func(x *syntax.Regexp) bool { return !includes(x, is) })
	case is.Op == syntax.OpAlternate:
		return slices.ContainsFunc(is.Sub, func(x *syntax.Regexp) bool { return includes(was, x) })
	case was.Op != is.Op || was.Flags != is.Flags || was.Min != is.Min || was.Max != is.Max || len(was.Sub) == 0 || len(was.Sub) != len(is.Sub):
		return false
	}
	for i := range was.Sub {
		if !includes(was.Sub[i], is.Sub[i]) {
			return false
		}
	}
	return true
}

func TestWidenedPatternsAreCompatible(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		was, is string
		want    bool
	}{
		{"^(ibsim:(unix|udp):|file:).+$", "^(ibsim:(unix|udp):|ethernet:|file:).+$", true},
		{"^((ibsim:(unix|udp):|file:).+)?$", "^((ibsim:(unix|udp):|ethernet:|file:).+)?$", true},
		{"^(ibsim:(unix|udp):|ethernet:|file:).+$", "^(ibsim:(unix|udp):|file:).+$", false},
		{"^(one|two).+$", "^(one|two|three).*$", false}, // wider, but beyond the check
		{"^(one|two)+$", "^(one|two|three){1,2}$", false},
		{"^one$", "^(one|two)$", false}, // the same
		{"^(?i:one|two)$", "^(one|two|three)$", false},
		{"", "^x$", false}, {"^x$", "^x$", true}, {"^x$", "^y$", false}, {"^(a|b)$", "^(b|c)$", false}, {"^(", "^x$", false},
	} {
		if got := widens(c.was, c.is); got != c.want {
			t.Errorf("from %q to %q: widens is %t", c.was, c.is, got)
		}
	}
}

func narrower[T float64 | uint64](b *breaks, at, what string, was, is *T, less func(a, b T) bool) {
	if is != nil && (was == nil || less(*was, *is)) {
		b.add(at, "has a narrower %s", what)
	}
}

// answer finds parts of answers that clients may rely on and that are missing now.
func (b *breaks) answer(at string, was, is *openapi3.Schema, seen []*openapi3.Schema) {
	if slices.Contains(seen, was) || !b.sameType(at, was, is) {
		return
	}
	seen = append(seen, was)
	for name, p := range was.Properties {
		n := is.Properties[name]
		switch {
		case n == nil:
			b.add(at, "field %s is gone", name)
			continue
		case slices.Contains(was.Required, name) && !slices.Contains(is.Required, name):
			b.add(at, "field %s may be absent now", name)
		}
		b.answer(at+"/"+name, p.Value, n.Value, seen)
	}
	if was.Items != nil && is.Items != nil {
		b.answer(at+"/*", was.Items.Value, is.Items.Value, seen)
	}
}

func (b *breaks) sameType(at string, was, is *openapi3.Schema) bool {
	same := fmt.Sprint(was.Type.Slice()) == fmt.Sprint(is.Type.Slice()) && was.Format == is.Format
	if !same {
		b.add(at, "is %v %s, was %v %s", is.Type.Slice(), is.Format, was.Type.Slice(), was.Format)
	}
	return same
}

func TestNothingBreaksAgainstTheReleasedContract(t *testing.T) {
	if *release {
		if err := os.WriteFile(released, contract, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(released)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range breaking(document(t, text), document(t, contract)) {
		t.Error(f)
	}
}

// TestTheComparisonFindsBreakingChanges checks that each kind of change is found, and its reverse is not.
func TestTheComparisonFindsBreakingChanges(t *testing.T) {
	t.Parallel()
	load := func() *openapi3.T { return document(t, contract) }
	fabrics := func(d *openapi3.T) *openapi3.PathItem { return d.Paths.Value("/api/v1/fabrics") }
	schema := func(d *openapi3.T, name string) *openapi3.Schema { return d.Components.Schemas[name].Value }
	least, most := 1.5, uint64(3)
	before := load() // never changed
	for name, c := range map[string]struct {
		change    func(*openapi3.T)
		want      string
		symmetric bool // the reverse breaks too
	}{
		"operation removed":  {func(d *openapi3.T) { fabrics(d).Post = nil }, "the operation is gone", false},
		"path removed":       {func(d *openapi3.T) { d.Paths.Delete("/api/v1/fabrics") }, "the operation is gone", false},
		"parameter removed":  {func(d *openapi3.T) { fabrics(d).Get.Parameters = fabrics(d).Get.Parameters[1:] }, "parameter limit is gone", false},
		"parameter required": {func(d *openapi3.T) { fabrics(d).Get.Parameters[0].Value.Required = true }, "parameter limit is required", false},
		"parameter narrowed": {func(d *openapi3.T) { *fabrics(d).Get.Parameters[0].Value.Schema.Value.Max = 10 }, "narrower greatest value", false},
		"field required": {func(d *openapi3.T) {
			schema(d, "FabricCreate").Required = append(schema(d, "FabricCreate").Required, "plane")
		}, "field plane is required", false},
		"field no longer taken": {func(d *openapi3.T) { delete(schema(d, "FabricCreate").Properties, "plane") }, "no longer takes field plane", false},
		"value no longer taken": {func(d *openapi3.T) { schema(d, "Stage").Enum = schema(d, "Stage").Enum[:1] }, "no longer takes settings", false},
		"least value raised":    {func(d *openapi3.T) { schema(d, "Weight").Min = &least }, "narrower least value", false},
		"fewer entries":         {func(d *openapi3.T) { schema(d, "TenantCreate").Properties["classes"].Value.MaxItems = &most }, "number of entries", false},
		"pattern narrowed":      {func(d *openapi3.T) { schema(d, "FabricCreate").Properties["source"].Value.Pattern = "^file:.+$" }, "another pattern", true},
		"alternative removed": {func(d *openapi3.T) {
			s := schema(d, "FabricCreate").Properties["source"].Value
			s.Pattern = strings.Replace(s.Pattern, "ethernet:|", "", 1)
		}, "another pattern", false},
		"another pattern":        {func(d *openapi3.T) { schema(d, "PKey").Pattern = "^x$" }, "another pattern", true},
		"another type":           {func(d *openapi3.T) { schema(d, "SL").Type = &openapi3.Types{"string"} }, "was [integer]", true},
		"answer without a field": {func(d *openapi3.T) { delete(schema(d, "Fabric").Properties, "source") }, "field source is gone", false},
		"answer may lack a field": {func(d *openapi3.T) {
			s := schema(d, "Fabric")
			s.Required = slices.DeleteFunc(s.Required, func(n string) bool { return n == "source" })
		}, "field source may be absent", false},
		"answer without a header": {func(d *openapi3.T) { fabrics(d).Post.Responses.Value("201").Value.Headers = nil }, "no header ETag", false},
		"answer removed":          {func(d *openapi3.T) { fabrics(d).Post.Responses.Delete("201") }, "answer 201 is gone", false},
		"token needed":            {func(d *openapi3.T) { d.Paths.Value("/api/v1/health").Get.Security = nil }, "needs a token", false},
	} {
		after := load()
		c.change(after)
		if found := strings.Join(breaking(before, after), "\n"); !strings.Contains(found, c.want) {
			t.Errorf("%s: found %q, want %q", name, found, c.want)
		}
		if found := breaking(after, before); len(found) > 0 != c.symmetric && !strings.HasPrefix(name, "answer without a h") {
			t.Errorf("the reverse of %s: found %q", name, found)
		}
	}
	if found := breaking(before, load()); len(found) > 0 {
		t.Errorf("the contract breaks itself: %q", found)
	}
}
