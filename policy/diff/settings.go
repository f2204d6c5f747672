package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/ibcc"
	"fairlane/policy/plan"
	"fairlane/subnet/ident"
)

// unitsOf reads the units of fields from reasons, which identify fields by the end of their path.
func unitsOf(lists ...[]plan.Reason) map[string]string {
	out := map[string]string{}
	for _, rs := range lists {
		for _, r := range rs {
			if r.Unit != "" {
				out[r.Field[strings.LastIndexByte(r.Field, '.')+1:]] = r.Unit
			}
		}
	}
	return out
}

// value is one setting as text, with its sort key.
type value struct {
	text    string
	num     float64
	numeric bool
	unit    string
	exact   string // distinguishes values with equal texts
	table   bool   // exact is a congestion control table
}

func number(v float64) value {
	return value{text: plan.Decimals(v), num: v, numeric: true, exact: strconv.FormatFloat(v, 'g', -1, 64)}
}

// part is one field of a setting, by its path.
type part struct {
	path  string
	value value
}

// partsOf lists every scalar of v with its path of JSON names. Fields added to a type later are listed too: no setting can change without
// being compared.
func partsOf(v any) []part { return appendParts(nil, "", reflect.ValueOf(v)) }

func pointerParts[T any](p *T, without ...string) []part {
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(partsOf(*p), func(q part) bool {
		head, _, _ := strings.Cut(q.path, ".")
		head, _, _ = strings.Cut(head, "[")
		return slices.Contains(without, head)
	})
}

func appendParts(out []part, path string, v reflect.Value) []part {
	if x, ok := scalar(v); ok {
		if strings.Contains(x.text, " ") { // includes its unit
			path = strings.TrimSuffix(strings.TrimSuffix(path, "_bps"), "_ps")
		}
		return append(out, part{path, x})
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if name, ok := jsonName(f); ok {
				out = appendParts(out, joined(path, name), v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			out = appendParts(out, path+"["+strconv.Itoa(i)+"]", v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			out = appendParts(out, path, v.Elem())
		}
	case reflect.Map: // encoded with sorted keys
		if b, err := json.Marshal(v.Interface()); err == nil {
			out = append(out, part{path, value{text: string(b)}})
		}
	}
	return out
}

// jsonName returns a field's JSON name; false for a field that JSON omits. An embedded type has none.
func jsonName(f reflect.StructField) (string, bool) {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported() || name == "-":
		return "", false
	case name != "":
		return name, true
	case f.Anonymous:
		return "", true
	}
	return strings.ToLower(f.Name), true
}

func joined(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// scalar returns values that are reported as one: numbers, text, and types with a text of their own.
func scalar(v reflect.Value) (value, bool) {
	var out value
	switch v.Kind() {
	case reflect.Bool:
		out.text = strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		out = number(float64(v.Int()))
		out.exact = strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		out = number(float64(v.Uint()))
		out.exact = strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		out = number(v.Float())
	case reflect.String:
		out.text = v.String()
	}
	switch x := v.Interface().(type) {
	case []ibcc.Entry:
		return value{text: tableText(x), exact: fmt.Sprint(x), table: true}, true
	case []plan.VLWeight:
		return value{text: listText(x, func(w plan.VLWeight) string { return fmt.Sprintf("VL%d %d", w.VL, w.Weight) })}, true
	case [ident.NumSLs]ident.VL:
		return value{text: listText(x[:], func(v ident.VL) string { return strconv.Itoa(int(v)) })}, true
	case ibcc.Entry, ibcc.PortMask, ident.PortID, ident.GUID, ident.PKey, ident.LID:
		return value{text: fmt.Sprint(x)}, true
	case fmt.Stringer:
		if out.numeric {
			out.text = x.String()
			return out, true
		}
	}
	return out, out.numeric || out.text != "" || v.Kind() == reflect.String
}

// emptyList is the text of a list without entries.
const emptyList = "empty"

// listText prints a short table entry by entry.
func listText[T any](list []T, text func(T) string) string {
	if len(list) == 0 {
		return emptyList
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = text(v)
	}
	return strings.Join(out, ", ")
}

// tableText prints the length of a congestion control table and its last entry.
func tableText(t []ibcc.Entry) string {
	if len(t) == 0 {
		return "no entries"
	}
	e := t[len(t)-1]
	return fmt.Sprintf("%d entries down to 1/%s of line rate", len(t), plan.Decimals(1+float64(e.Multiplier)/float64(int(1)<<min(e.Shift, ibcc.MaxShift))))
}

// settingKey is the key by which changes are grouped.
type settingKey struct{ tenant, kind, field string }

type settingGroup struct {
	before, after spread
	unit          string
	places        plan.NameList
	last          string // place counted last: several indices of one field there are one place
}

// spread is the range of a field's values over places.
type spread struct {
	low, high value
	some      bool
	none      bool // some place had no value
}

func (s *spread) add(v *value) {
	switch {
	case v == nil:
		s.none = true
	case !s.some:
		s.low, s.high, s.some = *v, *v, true
	default:
		if v.less(s.low) {
			s.low = *v
		}
		if s.high.less(*v) {
			s.high = *v
		}
	}
}

func (v value) less(w value) bool {
	if v.numeric && w.numeric {
		return v.num < w.num
	}
	return v.text < w.text
}

func (s *spread) print(exact bool) string {
	text := func(v value) string {
		if exact && v.exact != "" {
			return v.exact
		}
		return v.text
	}
	out := "none"
	if s.some {
		if out = text(s.low); text(s.high) != out {
			if s.low.numeric {
				out += " to " + text(s.high)
			} else {
				out += " … " + text(s.high)
			}
		}
		if s.none {
			out = "none or " + out
		}
	}
	return out
}

func (g *settingGroup) change(k settingKey) SettingChange {
	c := SettingChange{Tenant: k.tenant, Kind: k.kind, Field: k.field, Unit: g.unit, Before: g.before.print(false), After: g.after.print(false), NameList: g.places}
	if c.Before == c.After && (g.before.low.exact != g.after.low.exact || g.before.high.exact != g.after.high.exact) {
		if before, after, ok := tableSteps(&g.before, &g.after); ok {
			c.Before, c.After = before, after
		} else {
			c.Before, c.After = g.before.print(true), g.after.print(true)
		}
	}
	return c
}

// tableSteps distinguishes two tables with the same length and end by the first entry in which they differ.
func tableSteps(before, after *spread) (from, to string, ok bool) {
	a, b := before.low, after.low
	if a.exact == b.exact {
		a, b = before.high, after.high
	}
	if !a.table || !b.table {
		return "", "", false
	}
	p, q := strings.Fields(strings.Trim(a.exact, "[]")), strings.Fields(strings.Trim(b.exact, "[]"))
	for i := range min(len(p), len(q)) {
		if p[i] != q[i] {
			return fmt.Sprintf("%s with entry %d at %s", a.text, i, p[i]), fmt.Sprintf("%s with entry %d at %s", b.text, i, q[i]), true
		}
	}
	return "", "", false
}

// compareFields compares two values of one type field by field.
func (x *differ) compareFields(kind, place, tenant string, before, after any) {
	if !reflect.DeepEqual(before, after) {
		x.parts(kind, place, tenant, partsOf(before), partsOf(after))
	}
}

// withUnits returns a differ that takes the units of fields without one from a table.
func (x *differ) withUnits(units map[string]string) *differ {
	y := *x
	y.units = units
	return &y
}

// parts records the fields in which two lists differ.
func (x *differ) parts(kind, place, tenant string, before, after []part) {
	match(before, after, func(p *part) string { return p.path }, func(a, b *part) {
		if a != nil && b != nil && a.value == b.value {
			return
		}
		x.touch(kind, place)
		field := withoutIndices(first(a, b).path)
		k := settingKey{tenant, kind, field}
		g := x.groups[k]
		if g == nil {
			g = &settingGroup{}
			x.groups[k] = g
		}
		g.unit = cmp.Or(g.unit, first(a, b).value.unit, x.units[field[strings.LastIndexByte(field, '.')+1:]])
		g.before.add(valueOf(a))
		g.after.add(valueOf(b))
		if g.last != place || g.places.Count == 0 {
			g.places.Add(place)
			g.last = place
		}
	})
}

func valueOf(p *part) *value {
	if p == nil {
		return nil
	}
	return &p.value
}

// withoutIndices drops list positions and the word "settings", which readers do not need.
func withoutIndices(path string) string {
	var b strings.Builder
	skip := false
	for _, r := range path {
		switch {
		case r == '[':
			skip = true
		case r == ']':
			skip = false
		case !skip:
			b.WriteRune(r)
		}
	}
	return strings.TrimPrefix(b.String(), "settings.")
}
