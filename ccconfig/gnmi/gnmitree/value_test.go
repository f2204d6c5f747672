package gnmitree_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"fairlane/ccconfig/gnmi/gnmitree"
)

func values() map[string]gnmitree.Value {
	return map[string]gnmitree.Value{
		`"text \"é\""`:                      gnmitree.String(`text "é"`),
		"true":                              gnmitree.Bool(true),
		`"18446744073709551615"`:            gnmitree.Uint(math.MaxUint64),
		"4294967295":                        gnmitree.Uint32(math.MaxUint32),
		`"-9223372036854775808"`:            gnmitree.Int(math.MinInt64),
		"-5":                                gnmitree.Int32(-5),
		`"2.5"`:                             gnmitree.Decimal(2.5),
		`"2.0"`:                             gnmitree.Decimal(2),
		`"AAH/"`:                            gnmitree.Bytes([]byte{0, 1, 255}),
		`["a","b"]`:                         gnmitree.List(gnmitree.String("a"), gnmitree.String("b")),
		`["1",2]`:                           gnmitree.List(gnmitree.Uint(1), gnmitree.Uint32(2)),
		"[]":                                gnmitree.List(),
		`{"a":1}`:                           gnmitree.JSON([]byte(`{"a":1}`)),
		"nothing":                           {},
		`"` + strings.Repeat("x", 63) + "…": gnmitree.String(strings.Repeat("x", 100)),
	}
}

func TestValuesAsJSON(t *testing.T) {
	t.Parallel()
	for want, v := range values() {
		if got := v.String(); got != want {
			t.Errorf("%s is written %s", want, got)
		}
	}
	if got := string(gnmitree.Uint(5).Typed(gnmitree.EncodingJSON).GetJsonVal()) + string(gnmitree.Decimal(1e300).Typed(gnmitree.EncodingJSON).GetJsonVal()); got != "51e+300" {
		t.Errorf("plain JSON is %s", got)
	}
	if gnmitree.Decimal(math.Inf(1)).Kind() != gnmitree.KindNone || gnmitree.Decimal(math.NaN()).Kind() != gnmitree.KindNone {
		t.Error("an invalid number was accepted")
	}
}

func TestScalarsSurviveTheWire(t *testing.T) {
	t.Parallel()
	for text, v := range values() {
		if v.Kind() == gnmitree.KindNone {
			continue
		}
		got, err := gnmitree.FromTyped(v.Typed(gnmitree.EncodingProto))
		if err != nil || !got.Equal(v) {
			t.Errorf("%s was read back as %s, %v", text, got, err)
		}
	}
	for _, v := range append(oldNumbers(), []*gnmi.TypedValue{
		{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("2.5")}},
		{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(`"2.5"`)}},
	}...) {
		got, err := gnmitree.FromTyped(v)
		if f, e := got.AsDecimal(); err != nil || e != nil || f != 2.5 {
			t.Errorf("%v is %s, %v, %v", v, got, err, e)
		}
	}
	for _, v := range []*gnmi.TypedValue{
		nil, {}, {Value: &gnmi.TypedValue_AnyVal{}}, {Value: &gnmi.TypedValue_DoubleVal{DoubleVal: math.NaN()}},
		{Value: &gnmi.TypedValue_LeaflistVal{LeaflistVal: &gnmi.ScalarArray{Element: []*gnmi.TypedValue{{Value: &gnmi.TypedValue_LeaflistVal{}}}}}},
		{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("[null]")}}, {Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("1 2")}}, {Value: &gnmi.TypedValue_JsonVal{}},
		{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("1e999")}}, {Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("18446744073709551616")}},
		{Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte("\"\xff\"")}}, {Value: &gnmi.TypedValue_JsonVal{JsonVal: []byte(`{"":1}`)}},
	} {
		if got, err := gnmitree.FromTyped(v); err == nil {
			t.Errorf("%v became %s", v, got)
		}
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	word := func(v any, err error) string {
		if err != nil {
			return "error"
		}
		b, _ := json.Marshal(v)
		return string(b)
	}
	all := func(v gnmitree.Value) string {
		s, e1 := v.AsString()
		b, e2 := v.AsBool()
		u, e3 := v.AsUint()
		i, e4 := v.AsInt()
		d, e5 := v.AsDecimal()
		y, e6 := v.AsBytes()
		return strings.Join([]string{word(s, e1), word(b, e2), word(u, e3), word(i, e4), word(d, e5), word(y, e6)}, " ")
	}
	for _, c := range []struct {
		v    gnmitree.Value
		want string
	}{
		{gnmitree.String("x!"), `"x!" error error error error error`},
		{gnmitree.String("12"), `"12" error 12 12 12 error`},
		{gnmitree.String("-3"), `"-3" error error -3 -3 error`},
		{gnmitree.String("true"), `"true" true error error error "true"`},
		{gnmitree.Bool(false), `error false error error error error`},
		{gnmitree.Uint(math.MaxUint64), `error error 18446744073709551615 error 18446744073709552000 error`},
		{gnmitree.Int(-1), `error error error -1 -1 error`},
		{gnmitree.Int32(7), `error error 7 7 7 error`},
		{gnmitree.Decimal(1.5), `error error error error 1.5 error`},
		{gnmitree.Bytes([]byte("hi")), `error error error error error "aGk="`},
		{gnmitree.List(), `error error error error error error`},
		{gnmitree.Value{}, `error error error error error error`},
	} {
		if got := all(c.v); got != c.want {
			t.Errorf("%s reads %s, want %s", c.v, got, c.want)
		}
	}
	if _, err := gnmitree.String("abc").AsUint(); err == nil || !strings.Contains(err.Error(), `a string ("abc"), want an integer from 0`) {
		t.Errorf("%v", err)
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	l := func(at string, v gnmitree.Value) gnmitree.Leaf { return gnmitree.Leaf{Path: path(at), Value: v} }
	leaves := []gnmitree.Leaf{
		l("/nics/nic[name=a]/state/mac", gnmitree.String("m")),
		l("/nics/nic[name=b]/ports/port[number=1]/number", gnmitree.Uint32(1)),
		l("/nics/nic[name=b]/ports/port[number=1]/state/up", gnmitree.Bool(true)),
		l("/nics/nic[name=b]/ports/port[number=2]/state/speed", gnmitree.Uint(7)),
		l("/nics/nic[name=a]/state/queues", gnmitree.List(gnmitree.Uint32(1))),
		l("/nics/nic[name=a]/raw", gnmitree.JSON([]byte(`{"x":[1]}`))),
		l("/agent/version", gnmitree.String("1")),
	}
	for _, c := range []struct {
		at, module string
		e          gnmitree.Encoding
		want       string
	}{
		{"/", "m", gnmitree.EncodingJSONIETF, `{"m:nics":{"nic":[{"name":"a","state":{"mac":"m","queues":[1]},"raw":{"x":[1]}},{"name":"b","ports":{"port":[{"number":1,"state":{"up":true}},{"number":"2","state":{"speed":"7"}}]}}]},"m:agent":{"version":"1"}}`},
		{"/nics/nic[name=b]/ports/port[number=2]", "m", gnmitree.EncodingJSON, `{"number":"2","state":{"speed":7}}`},
		{"/nics/nic[name=b]/ports/port[number=2]", "m", gnmitree.EncodingJSONIETF, `{"m:number":"2","m:state":{"speed":"7"}}`},
		{"/agent/version", "m", gnmitree.EncodingJSONIETF, `"1"`},
	} {
		at := path(c.at)
		below := slices.DeleteFunc(slices.Clone(leaves), func(l gnmitree.Leaf) bool { return !at.Covers(l.Path) })
		got := gnmitree.Compose(at, below, c.e, c.module)
		if string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s is\n%s\nwant\n%s", c.at, got, c.want)
		}
	}
	if got := gnmitree.Compose(path("/x"), nil, gnmitree.EncodingJSON, ""); string(got) != "{}" {
		t.Errorf("the zero value is %s", got)
	}
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	s := gnmitree.Schema{Modules: []string{"m"}, Keys: func(p gnmitree.Path) []string {
		if p.Last() == "port" {
			return []string{"number"}
		}
		return nil
	}}
	lines := func(at, text string) []string {
		v, err := gnmitree.ParseJSON([]byte(text))
		if err != nil {
			return []string{err.Error()}
		}
		leaves, err := gnmitree.Flatten(path(at), v, s)
		if err != nil {
			return []string{err.Error()}
		}
		var out []string
		for _, l := range leaves {
			out = append(out, l.Path.String()+" = "+l.Value.String())
		}
		return out
	}
	same(t, "an entry", lines("/a", `{"m:port":[{"number":1,"up":true},{"m:number":"x"}],"q":[1,2],"o:x":{}}`),
		"/a/port[number=1]/number = \"1\"", "/a/port[number=1]/up = true", "/a/port[number=x]/number = \"x\"", `/a/q = ["1","2"]`)
	same(t, "a list at its own path", lines("/a/port", `[{"number":3}]`), `/a/port[number=3]/number = "3"`)
	same(t, "an empty list", lines("/a/port", `[]`))
	same(t, "scalars for entries", lines("/a/port", `[1]`), "/a/port: an array of scalars, but this is a list, whose entries are objects")
	same(t, "scalars for entries below", lines("/a", `{"port":[1]}`), "/a/port: an array of scalars, but this is a list, whose entries are objects")
	same(t, "an empty list below", lines("/a", `{"port":[]}`))
	same(t, "an empty list of scalars", lines("/a/q", `[]`), "/a/q = []")
	same(t, "a scalar", lines("/a", "5"), `/a = "5"`)
	same(t, "an array for an entry", lines("/a/port[number=1]", `[{"number":1}]`), "/a/port[number=1]: an array, want an object for an entry of a list")
	same(t, "a key that is no scalar", lines("/a/port", `[{"number":{}}]`), `/a/port: entry 0: key "number" is no scalar`)
	same(t, "a mixed array", lines("/a/q", `[1,{}]`), "/a/q: an array of objects, but this is no list")
	same(t, "at the root", lines("/", `[{}]`), "/: an array of objects, but this is no list")
}

// TestComposeAndFlattenAreInverse flattens composed values.
func TestComposeAndFlattenAreInverse(t *testing.T) {
	t.Parallel()
	schema := gnmitree.Schema{Modules: []string{"m"}, Keys: func(p gnmitree.Path) []string {
		if p.Last() == "list" {
			return []string{"a", "b"}
		}
		return nil
	}}
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]gnmitree.Value{}
		var leaves []gnmitree.Leaf
		for range rapid.IntRange(0, 60).Draw(t, "leaves") {
			p := gnmitree.Path{}
			for range rapid.IntRange(0, 2).Draw(t, "lists") {
				p = p.Child(rapid.SampledFrom([]string{"c1", "c2"}).Draw(t, "container"))
				p = p.Child("list", gnmitree.Key{Name: "a", Value: rapid.StringN(0, 3, 9).Draw(t, "a")}, gnmitree.Key{Name: "b", Value: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "b")})
			}
			p = p.Child(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "leaf"))
			v := gnmitree.String(rapid.String().Draw(t, "value"))
			if want[p.String()].Kind() == gnmitree.KindNone {
				leaves = append(leaves, gnmitree.Leaf{Path: p, Value: v})
				want[p.String()] = v
			}
		}
		text := gnmitree.Compose(gnmitree.Path{}, leaves, gnmitree.EncodingJSONIETF, "m")
		v, err := gnmitree.ParseJSON(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := gnmitree.Flatten(gnmitree.Path{}, v, schema)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, l := range got {
			if l.Path.Last() == "a" || l.Path.Last() == "b" {
				continue
			}
			if !l.Value.Equal(want[l.Path.String()]) {
				t.Fatalf("%s is %s, want %s", l.Path, l.Value, want[l.Path.String()])
			}
			delete(want, l.Path.String())
		}
		if len(want) > 0 {
			t.Fatalf("%s lacks %v", text, want)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[{"k":1,"v":"x"}]}`, `[1,2.5,-3]`, `"x"`, `{"a":{"a":1,"a":2}}`, `null`, `{"m:list":[{"a":true,"b":1e3}]}`} {
		f.Add([]byte(s))
	}
	schema := gnmitree.Schema{Modules: []string{"m"}, Keys: func(gnmitree.Path) []string { return []string{"k"} }}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := gnmitree.ParseJSON(text)
		if err != nil {
			return
		}
		leaves, err := gnmitree.Flatten(path("/top"), v, schema)
		if err != nil {
			return
		}
		out := gnmitree.Compose(path("/top"), leaves, gnmitree.EncodingJSONIETF, "")
		if !json.Valid(out) {
			t.Fatalf("%q was put together as %q", text, out)
		}
	})
}

func FuzzTypedValue(f *testing.F) {
	for _, v := range values() {
		b, err := proto.Marshal(v.Typed(gnmitree.EncodingProto))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &gnmi.TypedValue{}
		if proto.Unmarshal(b, in) != nil {
			return
		}
		v, err := gnmitree.FromTyped(in)
		if err != nil {
			return
		}
		again, err := gnmitree.FromTyped(v.Typed(gnmitree.EncodingProto))
		if err != nil || !again.Equal(v) {
			t.Fatalf("%v is %s, then %s, %v", in, v, again, err)
		}
		for _, e := range []gnmitree.Encoding{gnmitree.EncodingJSON, gnmitree.EncodingJSONIETF} {
			if text := append(v.Typed(e).GetJsonVal(), v.Typed(e).GetJsonIetfVal()...); !json.Valid(text) {
				t.Fatalf("%v is %q in %s", in, text, e)
			}
		}
	})
}

func TestStringsOfASet(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"100"`: "100", `""`: "", ` "a" `: "a", `"a\\b"`: `a\b`, `"a\"b"`: `a"b`, `"é"`: "é", `"~"`: "~", `"\u0041"`: "A",
	} {
		v, err := gnmitree.ParseJSON([]byte(in))
		if s, notString := v.AsString(); err != nil || notString != nil || s != want {
			t.Errorf("%s is %q (%v, %v), want %q", in, s, err, notString, want)
		}
	}
	for _, in := range []string{`"`, `"a`, `"a"b"`, "\"a\nb\"", `"a" "b"`, "\"\xff\"", `"\"`} {
		if v, err := gnmitree.ParseJSON([]byte(in)); err == nil {
			t.Errorf("%q became %s", in, v)
		}
	}
}
