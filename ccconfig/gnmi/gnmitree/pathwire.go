package gnmitree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"
)

// FromProto converts a path from its wire form. Its target is not part of a Path. It returns an error for paths with only the
// deprecated form (field element), for elements and keys without a name, and for keys that are too many or too long.
func FromProto(p *gnmi.Path) (Path, error) {
	l, _ := Limits{}.complete()
	return fromProto(p, l)
}

func fromProto(p *gnmi.Path, l Limits) (Path, error) {
	if inElements(p) {
		return Path{}, fmt.Errorf("path uses the field element, which gNMI 0.4.0 deprecated: want elem")
	}
	if n := len(p.GetElem()); n > l.PathElements {
		return Path{}, fmt.Errorf("path has %d elements, want at most %d", n, l.PathElements)
	}
	if n := len(p.GetOrigin()); n > l.NameBytes {
		return Path{}, fmt.Errorf("origin has %d bytes, want at most %d", n, l.NameBytes)
	}
	out := Path{Origin: p.GetOrigin()}
	if len(p.GetElem()) == 0 {
		return out, nil
	}
	out.Elems = make([]Elem, len(p.GetElem()))
	for i, e := range p.GetElem() {
		if err := checkElem(e, l); err != nil {
			return Path{}, fmt.Errorf("element %d of %s: %w", i+1, out.First(i), err)
		}
		out.Elems[i].Name = e.GetName()
		if len(e.GetKey()) == 0 {
			continue
		}
		keys := make([]Key, 0, len(e.GetKey()))
		for k, v := range e.GetKey() {
			keys = append(keys, Key{k, v})
		}
		slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
		out.Elems[i].Keys = keys
	}
	return out, nil
}

func checkElem(e *gnmi.PathElem, l Limits) error {
	switch n := len(e.GetName()); {
	case n == 0:
		return fmt.Errorf("it has no name")
	case n > l.NameBytes:
		return fmt.Errorf("its name has %d bytes, want at most %d", n, l.NameBytes)
	case len(e.GetKey()) > l.Keys:
		return fmt.Errorf("%q has %d keys, want at most %d", e.GetName(), len(e.GetKey()), l.Keys)
	}
	for k, v := range e.GetKey() {
		switch {
		case k == "":
			return fmt.Errorf("%q has a key without a name", e.GetName())
		case len(k) > l.NameBytes:
			return fmt.Errorf("%q has a key whose name has %d bytes, want at most %d", e.GetName(), len(k), l.NameBytes)
		case len(v) > l.KeyBytes:
			return fmt.Errorf("%q has key %q with a value of %d bytes, want at most %d", e.GetName(), k, len(v), l.KeyBytes)
		}
	}
	return nil
}

// Proto converts p to its wire form.
func (p Path) Proto() *gnmi.Path {
	out := &gnmi.Path{Origin: p.Origin, Elem: make([]*gnmi.PathElem, len(p.Elems))}
	elems := make([]gnmi.PathElem, len(p.Elems))
	for i, e := range p.Elems {
		elems[i].Name = e.Name
		if len(e.Keys) > 0 {
			elems[i].Key = make(map[string]string, len(e.Keys))
			for _, k := range e.Keys {
				elems[i].Key[k.Name] = k.Value
			}
		}
		out.Elem[i] = &elems[i]
	}
	return out
}
