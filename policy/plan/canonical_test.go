package plan

import (
	"reflect"
	"testing"

	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/ibcc"
	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
	"fairlane/subnet/ident"
)

// everyField calls f for each settable leaf below v that a plan's name depends on, after growing empty slices and nil pointers to one element.
func everyField(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			t := v.Type().Field(i)
			if nested := v.Type() == reflect.TypeFor[phrase.Value]() && t.Name == "Texts"; nested {
				continue // sentences nest without limit
			}
			if tag := t.Tag.Get("canonical"); t.IsExported() && tag != "-" && tag != "1" {
				everyField(v.Field(i), path+"."+t.Name, f)
			}
		}
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		everyField(v.Elem(), path, f)
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		everyField(v.Index(0), path+"[0]", f)
	case reflect.Array:
		for i := range v.Len() {
			everyField(v.Index(i), path+"[]", f)
		}
	default:
		f(path, v)
	}
}

func TestEveryFieldOfAPlanButItsNameCounts(t *testing.T) {
	t.Parallel()
	p := Plan{Format: PlanFormat}
	everyField(reflect.ValueOf(&p).Elem(), "Plan", func(string, reflect.Value) {}) // grows it
	seen := map[string]string{p.Hash(): "the plan of zeros"}
	everyField(reflect.ValueOf(&p).Elem(), "Plan", func(path string, v reflect.Value) {
		if path == "Plan.Format" {
			return
		}
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(1)
		case reflect.Float64:
			v.SetFloat(1)
		case reflect.String:
			v.SetString("x")
		default:
			v.SetUint(1)
		}
		h := p.Hash()
		if other, ok := seen[h]; ok != (path == "Plan.Name") {
			t.Errorf("%s and %s: same name %t, want it only where the field is the plan's name", path, other, ok)
		}
		seen[h] = path
		v.Set(old)
	})
	if len(seen) < 100 {
		t.Errorf("walked %d fields, want a plan's hundred and more", len(seen))
	}
}

func TestTheFastEncodingIsTheWalk(t *testing.T) {
	t.Parallel()
	c := ibcc.CASettings{PerSL: true, Limit: 300, Table: []ibcc.Entry{{Shift: 3, Multiplier: 16000}, {Shift: 1}}}
	for i := range c.SLs {
		c.SLs[i] = ibcc.SLParams{Timer: uint16(i * 4000), Increase: uint8(i), Trigger: 3, Min: 200}
	}
	r := Reason{"f", "v", "u", "r", "t", "rule", "formula", "clamped"}
	l := LinkTenant{Tenant: "t", QPs: 300, Entitled: 5e9, Predicted: 6e9, Bound: 0.25}
	p := Placement{Tenant: "t", PKey: 0x8001, Port: ident.PortID{Node: 1 << 60, Port: 7}, SL: 14, Receives: true}
	q := ecn.QueueMarking{Port: 7, Queue: 3, Marking: ecn.Marking{Min: 1 << 20, Max: 1 << 21, PMaxPct: 50}}
	w := qos.QueueWeight{Port: 44, Queue: 4, Weight: 100}
	for _, v := range []reflect.Value{reflect.ValueOf(&q).Elem(), reflect.ValueOf(&w).Elem(), reflect.ValueOf(&c).Elem(), reflect.ValueOf(&r).Elem(), reflect.ValueOf(&l).Elem(), reflect.ValueOf(&p).Elem()} {
		var fast, slow encoder
		fast.value(v)
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("canonical") != "-" {
				slow.walk(v.Field(i))
			}
		}
		if string(fast.b) != string(slow.b) {
			t.Errorf("%s: by hand %x, by the walk %x", v.Type(), fast.b, slow.b)
		}
	}
}

func TestKnownDigestsAreReused(t *testing.T) {
	t.Parallel()
	p := Plan{CAs: []CAPlan{{Name: "a"}, {Name: "b"}}, Switches: []SwitchPlan{{Name: "s"}}}
	d := &Digests{}
	name := p.HashWith(d)
	if again := p.HashWith(d); again != name || len(d.CAs) != 2 || len(d.Switches) != 1 {
		t.Errorf("name %s with the digests known, want %s", again, name)
	}
	p.CAs[1].Name = "c"
	d.CAs[1] = Digest{}
	if got := p.HashWith(d); got == name || got != p.Hash() {
		t.Errorf("name %s after one device changed, want %s", got, p.Hash())
	}
}
