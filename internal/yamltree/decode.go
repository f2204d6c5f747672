package yamltree

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
)

// MaxFaults is the maximum number of faults in an error.
const MaxFaults = 50

// maxQuoted is the maximum length of a quotation in a fault, in bytes.
const maxQuoted = 80

// Decoder decodes nodes into Go values and collects the faults of a file. It is strict: an unknown or repeated key, a
// value of another type or out of range, and a missing value are faults.
//
// The keys of a structure are its json tags, and those of embedded structures. Other tags of a field:
//
//	want:"want.file-path"      it is required and must not be empty; the id of a sentence that says what to write, or a word
//	of:"qp,sl"                 allowed words; for a list, of the items
//	in:"1..65535"              allowed integers; for a list, of the items
//	most:"256"                 maximum number of items of a list
//
// A value with its own form implements Noder, or encoding.TextUnmarshaler for a scalar; the error says what was found
// and what is allowed. A missing key keeps the current value.
type Decoder struct {
	// NullIsNone treats null as a missing value.
	NullIsNone bool

	file   string
	doc    *yaml.Node // current document, or the last one
	faults []error
	shapes map[reflect.Type]*shape
}

// shape is the allowed content of a structure.
type shape struct {
	keys   []string
	fields []reflect.StructField
}

// Noder is a value that decodes its node itself, such as one with a short and a long form.
type Noder interface {
	DecodeNode(d *Decoder, n *yaml.Node, field string)
}

// NewDecoder returns a decoder for a file; the name is for messages.
func NewDecoder(file string) *Decoder { return &Decoder{file: file, shapes: map[reflect.Type]*shape{}} }

// Decode decodes the only document of a file of at most most bytes into a T. The decoder's Err returns the faults;
// callers add theirs.
func Decode[T any](file string, r io.Reader, most int) (*T, *Decoder) {
	d, to := NewDecoder(file), new(T)
	d.Only(r, most, to)
	return to, d
}

// Only decodes the only document into the value that to points to.
func (d *Decoder) Only(r io.Reader, most int, to any) {
	if root := d.root(r, most, to); root != nil {
		d.Value(root, to, "")
	}
}

func (d *Decoder) root(r io.Reader, most int, to any) *yaml.Node {
	text, ok := d.text(r, most)
	if !ok {
		return nil
	}
	root, err := Only(text)
	if err == nil && root == nil {
		d.Fault(0, "", Found(phrase.Of("yaml.nothing"), wantKeys(Keys(reflect.TypeOf(to).Elem()))))
		return nil
	}
	return d.written(root, err)
}

// Documents iterates over the documents of a file, up to the first fault.
func (d *Decoder) Documents(r io.Reader, most int) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		text, ok := d.text(r, most)
		if !ok {
			return
		}
		for n, err := range Documents(text) {
			if n = d.written(n, err); n == nil || !yield(n) {
				return
			}
		}
	}
}

func (d *Decoder) text(r io.Reader, most int) (text []byte, ok bool) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		d.faults = append(d.faults, fmt.Errorf("read %s: %w", d.file, err))
	case len(text) > most:
		d.Fault(0, "", phrase.Of("yaml.too-large", "max", most))
	default:
		return text, true
	}
	return nil, false
}

// written returns a document whose values are written out; nil if it is not one.
func (d *Decoder) written(n *yaml.Node, err error) *yaml.Node {
	var bad *SyntaxError
	var second *SecondError
	switch {
	case errors.As(err, &bad):
		d.Fault(bad.Line, "", Found(Quoted(bad.Text), phrase.Of("want.yaml")))
	case errors.As(err, &second):
		d.Fault(second.Line, "", phrase.Of("yaml.second-document"))
	case err != nil:
		d.faults = append(d.faults, err)
	default:
		d.doc = n
		a := FirstAlias(n)
		if a == nil {
			return n
		}
		d.Fault(a.Line, "", phrase.Of("yaml.alias", "name", Quote(a.Anchor+a.Value)))
	}
	return nil
}

// Fault records a fault.
func (d *Decoder) Fault(line int, field string, said phrase.Text) {
	d.faults = append(d.faults, &Fault{File: d.file, Line: line, Field: field, Said: said})
}

// FaultAt records a fault of a field, at its line or that of the nearest enclosing field in the file.
func (d *Decoder) FaultAt(field string, said phrase.Text) { d.Fault(d.Line(field), field, said) }

// Line returns the line of a field, or of the nearest enclosing field in the file; 0 for a file without content.
func (d *Decoder) Line(field string) int {
	if n, _ := d.find(field); n != nil {
		return n.Line
	}
	return 0
}

// Has reports whether the file has a field.
func (d *Decoder) Has(field string) bool {
	_, ok := d.find(field)
	return ok
}

// find descends the document to a field, as far as it exists.
func (d *Decoder) find(field string) (n *yaml.Node, ok bool) {
	n = d.doc
	for part := range strings.FieldsFuncSeq(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		next := child(n, part)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, n != nil
}

func child(n *yaml.Node, part string) *yaml.Node {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	case n.Kind == yaml.MappingNode:
		for e := range Entries(n, []string{part}) {
			if e.Index == 0 {
				return e.Value
			}
		}
	}
	return nil
}

// Faulty reports whether a field already has a fault.
func (d *Decoder) Faulty(field string) bool {
	return slices.ContainsFunc(d.faults, func(err error) bool {
		var f *Fault
		return errors.As(err, &f) && f.Field == field
	})
}

// Faults returns the number of faults so far.
func (d *Decoder) Faults() int { return len(d.faults) }

// Err joins the faults as Join does.
func (d *Decoder) Err() error { return Join(d.faults) }

// Join joins the first MaxFaults faults, and counts the rest.
func Join(faults []error) error {
	if n := len(faults) - MaxFaults; n > 0 {
		faults = append(faults[:MaxFaults:MaxFaults], &phrase.Error{Text: phrase.Of("list.and-more", "n", n)})
	}
	return errors.Join(faults...)
}

// Value decodes a node into the value that to points to.
func (d *Decoder) Value(n *yaml.Node, to any, field string) {
	d.value(n, reflect.ValueOf(to).Elem(), field, "")
}

func (d *Decoder) value(n *yaml.Node, v reflect.Value, field string, tag reflect.StructTag) {
	switch to := v.Addr().Interface().(type) {
	case **yaml.Node:
		*to = n
		return
	case Noder:
		to.DecodeNode(d, n, field)
		return
	case encoding.TextUnmarshaler:
		if text, ok := d.scalar(n, field, single); ok {
			if err := to.UnmarshalText([]byte(text)); err != nil {
				d.Fault(n.Line, field, phrase.OfError(err))
			}
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem(), field, tag)
	case reflect.Struct:
		d.fields(n, v, field)
	case reflect.Slice:
		d.items(n, v, field, tag)
	default:
		want := func() phrase.Text { return allowed(v, tag) }
		if text, ok := d.scalar(n, field, want); ok && !set(v, text, tag) {
			d.Fault(n.Line, field, Found(Quoted(text), want()))
		}
	}
}

// scalar returns a scalar's text; if there is none, it records a fault and returns false.
func (d *Decoder) scalar(n *yaml.Node, field string, want func() phrase.Text) (string, bool) {
	if n.Kind != yaml.ScalarNode || IsNull(n) {
		d.Fault(n.Line, field, Found(Describe(n), want()))
		return "", false
	}
	return n.Value, true
}

func (d *Decoder) items(n *yaml.Node, v reflect.Value, field string, tag reflect.StructTag) {
	if IsNull(n) {
		return
	}
	most := math.MaxInt
	if m := tag.Get("most"); m != "" {
		most, _ = strconv.Atoi(m)
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > most {
		want := phrase.Of("want.list")
		if most < math.MaxInt {
			want = phrase.Of("yaml.want-list-most", "max", most)
		}
		d.Fault(n.Line, field, Found(Describe(n), want))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		d.value(c, v.Index(i), fmt.Sprintf("%s[%d]", field, i), tag)
	}
}

// fields decodes a mapping into a structure.
func (d *Decoder) fields(n *yaml.Node, v reflect.Value, field string) {
	s := d.shapes[v.Type()]
	if s == nil {
		s = &shape{Keys(v.Type()), fieldsOf(v.Type())}
		d.shapes[v.Type()] = s
	}
	keys, fields := s.keys, s.fields
	if n.Kind != yaml.MappingNode {
		d.Fault(n.Line, field, Found(Describe(n), wantKeys(keys)))
		return
	}
	prefix := field
	if field != "" {
		prefix += "."
	}
	given := make([]bool, len(keys))
	for e := range Entries(n, keys) {
		switch name := prefix + e.Key.Value; {
		case e.Index < 0:
			d.Fault(e.Key.Line, field, phrase.Of("yaml.unknown-key", "key", Quote(e.Key.Value), "keys", keys))
		case e.Earlier > 0:
			d.Fault(e.Key.Line, name, phrase.Of("yaml.key-twice", "line", e.Earlier))
		case d.NullIsNone && IsNull(e.Value), isEmpty(e.Value) && fields[e.Index].Tag.Get("want") != "": // as if it were missing
		default:
			given[e.Index] = true
			d.value(e.Value, v.FieldByIndex(fields[e.Index].Index), name, fields[e.Index].Tag)
		}
	}
	for i, key := range keys {
		if want := fields[i].Tag.Get("want"); want != "" && !given[i] {
			d.Fault(n.Line, prefix+key, Missing(wanted(want)))
		}
	}
}

func isEmpty(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "" }

func fieldsOf(t reflect.Type) []reflect.StructField {
	if t.Kind() != reflect.Struct {
		return nil
	}
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Tag.Get("json") == "" })
}

// Keys lists the keys of a structure.
func Keys(t reflect.Type) []string {
	var out []string
	for _, f := range fieldsOf(t) {
		out = append(out, f.Tag.Get("json"))
	}
	return out
}

// wanted returns the meaning of the tag want: the sentence of an id, or a word.
func wanted(tag string) phrase.Text {
	if said := (phrase.Text{ID: tag}); said.Known() {
		return said
	}
	return phrase.Verbatim(tag)
}

func wantKeys(keys []string) phrase.Text { return phrase.Of("yaml.want-keys", "keys", keys) }

func single() phrase.Text { return phrase.Of("yaml.want-single") }

// allowed returns the allowed values of a scalar.
func allowed(v reflect.Value, tag reflect.StructTag) phrase.Text {
	if of := tag.Get("of"); of != "" {
		return OneOf(strings.Split(of, ",")...)
	}
	switch v.Kind() {
	case reflect.String:
		return phrase.Of("want.text")
	case reflect.Bool:
		return phrase.Of("want.boolean")
	case reflect.Float64:
		return phrase.Of("want.number")
	}
	if least, most, ok := strings.Cut(tag.Get("in"), ".."); ok {
		return phrase.Of("want.between", "kind", phrase.Of("want.integer"), "min", least, "max", most)
	}
	if v.CanUint() {
		return phrase.Of("want.between", "kind", phrase.Of("want.integer"), "min", 0, "max", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	}
	return phrase.Of("want.integer")
}

// set sets a scalar from its text if the value is allowed.
func set(v reflect.Value, text string, tag reflect.StructTag) bool {
	if of := tag.Get("of"); of != "" && !slices.Contains(strings.Split(of, ","), text) {
		return false
	}
	base, digits := 10, text
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		base, digits = 16, hex
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return true
	case reflect.Bool:
		v.SetBool(text == "true")
		return text == "true" || text == "false"
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	case reflect.Int: // 32 bits, as JSON clients have
		i, err := strconv.ParseInt(digits, base, 32)
		v.SetInt(i)
		return err == nil && within(float64(i), tag)
	default:
		u, err := strconv.ParseUint(digits, base, v.Type().Bits())
		v.SetUint(u)
		return err == nil && within(float64(u), tag)
	}
}

// within checks an integer against the tag in, whose limits are exact as floats up to 2^53.
func within(x float64, tag reflect.StructTag) bool {
	first, last, ok := strings.Cut(tag.Get("in"), "..")
	least, _ := strconv.ParseFloat(first, 64)
	most, _ := strconv.ParseFloat(last, 64)
	return !ok || x >= least && x <= most
}

// Found returns a sentence with the value found and the values allowed.
func Found(found, want phrase.Text) phrase.Text {
	return phrase.Of("yaml.found", "found", found, "want", want)
}

// Missing returns a sentence with the allowed values of a missing field.
func Missing(want phrase.Text) phrase.Text { return phrase.Of("yaml.missing", "want", want) }

// OneOf returns a phrase for one of several words.
func OneOf(words ...string) phrase.Text {
	last := len(words) - 1
	if last == 0 {
		return phrase.Verbatim(words[0])
	}
	return phrase.Of("list.or", "list", words[:last], "last", words[last])
}

// Describe returns a description of a node for messages.
func Describe(n *yaml.Node) phrase.Text {
	switch {
	case n.Kind == yaml.MappingNode:
		return phrase.Of("yaml.mapping")
	case n.Kind == yaml.SequenceNode:
		return phrase.Of("yaml.list", "n", len(n.Content))
	case IsNull(n):
		return phrase.Of("yaml.nothing")
	}
	return Quoted(n.Value)
}

// Quoted returns a text of a file, quoted as by Quote, for messages.
func Quoted(s string) phrase.Text { return phrase.Verbatim(Quote(s)) }

// Quote quotes a text of a file, truncated for messages.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return strconv.Quote(s)
}
