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

// MaxFaults bounds the faults that an error lists.
const MaxFaults = 50

// maxQuoted bounds what a fault quotes, in bytes.
const maxQuoted = 80

// Decoder reads nodes into Go values and notes what is wrong with a file. It is strict: an unknown or repeated key, a value of
// another type or out of its range, and a value that is missing are faults.
//
// The keys of a structure are its json tags, and those of structures embedded in it. Other tags of a field:
//
//	want:"want.file-path"      it must be given, and not be empty; the sentence that says what to write, or a word in place of one
//	of:"qp,sl"                 words that are allowed; of the items, for a list
//	in:"1..65535"              whole numbers that are allowed; of the items, for a list
//	most:"256"                 items that a list may have
//
// A value with a form of its own implements Noder, or encoding.TextUnmarshaler for a scalar; the error says what was found and
// what is allowed. What is left out keeps the value that it has.
type Decoder struct {
	// NullIsNone takes a null as a value that is left out.
	NullIsNone bool

	file   string
	doc    *yaml.Node // that is read, or was last
	faults []error
	shapes map[reflect.Type]*shape
}

// shape is what a structure may have.
type shape struct {
	keys   []string
	fields []reflect.StructField
}

// Noder is a value that reads its node itself, such as one with a short form beside its long one.
type Noder interface {
	DecodeNode(d *Decoder, n *yaml.Node, field string)
}

// NewDecoder returns a decoder of a file; the name is for messages.
func NewDecoder(file string) *Decoder { return &Decoder{file: file, shapes: map[reflect.Type]*shape{}} }

// Decode reads the only document of a file of at most most bytes into a T. What is wrong is Err of the decoder, to which
// readers add what they find.
func Decode[T any](file string, r io.Reader, most int) (*T, *Decoder) {
	d, to := NewDecoder(file), new(T)
	d.Only(r, most, to)
	return to, d
}

// Only reads the only document into what to points to.
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

// Documents goes through the documents of a file, up to the first fault.
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

// written is a document whose values are written out; nil when it is none.
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

// Fault notes a fault.
func (d *Decoder) Fault(line int, field string, said phrase.Text) {
	d.faults = append(d.faults, &Fault{File: d.file, Line: line, Field: field, Said: said})
}

// FaultAt notes a fault of a field, at its line or at that of the nearest one around it that the file has.
func (d *Decoder) FaultAt(field string, said phrase.Text) { d.Fault(d.Line(field), field, said) }

// Line is that of a field, or of the nearest one around it that the file has; 0 of a file without content.
func (d *Decoder) Line(field string) int {
	if n, _ := d.find(field); n != nil {
		return n.Line
	}
	return 0
}

// Has tells whether the file has a field.
func (d *Decoder) Has(field string) bool {
	_, ok := d.find(field)
	return ok
}

// find goes down the document to a field, as far as there is something.
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

// Faulty tells whether a field has a fault already.
func (d *Decoder) Faulty(field string) bool {
	return slices.ContainsFunc(d.faults, func(err error) bool {
		var f *Fault
		return errors.As(err, &f) && f.Field == field
	})
}

// Faults is the number of faults so far.
func (d *Decoder) Faults() int { return len(d.faults) }

// Err joins the faults, as Join.
func (d *Decoder) Err() error { return Join(d.faults) }

// Join joins the first MaxFaults of faults, and says how many more there are.
func Join(faults []error) error {
	if n := len(faults) - MaxFaults; n > 0 {
		faults = append(faults[:MaxFaults:MaxFaults], &phrase.Error{Text: phrase.Of("list.and-more", "n", n)})
	}
	return errors.Join(faults...)
}

// Value reads a node into what to points to.
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

// scalar returns a scalar's text; false, with a fault, when there is none.
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

// fields reads a mapping into a structure.
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
		case d.NullIsNone && IsNull(e.Value), isEmpty(e.Value) && fields[e.Index].Tag.Get("want") != "": // as if it were left out
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

// wanted is what the tag want says: the sentence of an id, or a word in place of one.
func wanted(tag string) phrase.Text {
	if said := (phrase.Text{ID: tag}); said.Known() {
		return said
	}
	return phrase.Verbatim(tag)
}

func wantKeys(keys []string) phrase.Text { return phrase.Of("yaml.want-keys", "keys", keys) }

func single() phrase.Text { return phrase.Of("yaml.want-single") }

// allowed says what a scalar may be.
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

// set sets a scalar from its text, if that is allowed.
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
	case reflect.Int: // as many bits as JSON clients have
		i, err := strconv.ParseInt(digits, base, 32)
		v.SetInt(i)
		return err == nil && within(float64(i), tag)
	default:
		u, err := strconv.ParseUint(digits, base, v.Type().Bits())
		v.SetUint(u)
		return err == nil && within(float64(u), tag)
	}
}

// within compares a whole number with the tag in, whose limits are exact as floats up to 2^53.
func within(x float64, tag reflect.StructTag) bool {
	first, last, ok := strings.Cut(tag.Get("in"), "..")
	least, _ := strconv.ParseFloat(first, 64)
	most, _ := strconv.ParseFloat(last, 64)
	return !ok || x >= least && x <= most
}

// Found says what a field has and what it may have.
func Found(found, want phrase.Text) phrase.Text {
	return phrase.Of("yaml.found", "found", found, "want", want)
}

// Missing says what a field that is left out may have.
func Missing(want phrase.Text) phrase.Text { return phrase.Of("yaml.missing", "want", want) }

// OneOf are words, one of which is allowed.
func OneOf(words ...string) phrase.Text {
	last := len(words) - 1
	if last == 0 {
		return phrase.Verbatim(words[0])
	}
	return phrase.Of("list.or", "list", words[:last], "last", words[last])
}

// Describe is a node for messages.
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

// Quoted is a text of a file for messages, as Quote has it.
func Quoted(s string) phrase.Text { return phrase.Verbatim(Quote(s)) }

// Quote quotes a text of a file, cut to what a message takes.
func Quote(s string) string {
	if len(s) > maxQuoted {
		s = s[:maxQuoted] + "…"
	}
	return strconv.Quote(s)
}
