package gnmitree

import (
	"cmp"
	"slices"
	"strings"
)

// Path is a path of a target's tree, or a pattern of such paths. In a pattern, an element's name or a key's value "*" matches
// any one, an element "..." matches any number of elements, and a missing key matches any value (gNMI specification, 2.4.1).
// The zero value is the root. Paths may share slices, so do not change the slices of a Path.
type Path struct {
	Origin string // as the client or the tree states it; may be empty
	Elems  []Elem
}

// Elem is one element of a path: a container, a leaf, or, with keys, an entry of a list.
type Elem struct {
	Name string
	Keys []Key // sorted by name
}

// Key is a key of a list entry, with its value as text.
type Key struct{ Name, Value string }

// Wildcards of names, key values and elements.
const (
	Any      = "*"   // any name of one element, any value of one key
	AnyDepth = "..." // any number of elements, including zero
)

// PathOf returns the path of elements without keys.
func PathOf(names ...string) Path {
	p := Path{Elems: make([]Elem, len(names))}
	for i, n := range names {
		p.Elems[i].Name = n
	}
	return p
}

// Child returns the path of an element below p. It does not change p.
func (p Path) Child(name string, keys ...Key) Path {
	elems := make([]Elem, len(p.Elems)+1)
	copy(elems, p.Elems)
	if keys = slices.Clone(keys); len(keys) > 1 {
		slices.SortFunc(keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	}
	elems[len(p.Elems)] = Elem{name, keys}
	p.Elems = elems
	return p
}

// Join returns the path of q's elements below p. The origin is p's, or q's if p has none.
func (p Path) Join(q Path) Path {
	if p.Origin == "" {
		p.Origin = q.Origin
	}
	p.Elems = slices.Concat(p.Elems, q.Elems)
	return p
}

// First returns the path of p's first n elements, 0 to len(p.Elems).
func (p Path) First(n int) Path { return Path{p.Origin, p.Elems[:n:n]} }

// Last returns the name of p's last element, and an empty string for the root.
func (p Path) Last() string {
	if len(p.Elems) == 0 {
		return ""
	}
	return p.Elems[len(p.Elems)-1].Name
}

// Key returns the value of a key of the element at index i, or an empty string.
func (p Path) Key(i int, name string) string {
	if i < 0 || i >= len(p.Elems) {
		return ""
	}
	v, _ := p.Elems[i].Key(name)
	return v
}

// Key returns the value of a key of e.
func (e Elem) Key(name string) (string, bool) {
	for _, k := range e.Keys {
		if k.Name == name {
			return k.Value, true
		}
	}
	return "", false
}

// Equal reports whether p and q are the same path, including origins.
func (p Path) Equal(q Path) bool {
	return p.Origin == q.Origin && sameElems(p.Elems, q.Elems)
}

// sameElems compares elements. It is fast for paths that share slices.
func sameElems(a, b []Elem) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) > 0 && &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, equalElems)
}

func equalElems(a, b Elem) bool { return a.Name == b.Name && slices.Equal(a.Keys, b.Keys) }

// Compare orders paths: by origin, then element by element, parents before children.
func (p Path) Compare(q Path) int {
	return cmp.Or(strings.Compare(p.Origin, q.Origin), slices.CompareFunc(p.Elems, q.Elems, func(a, b Elem) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.CompareFunc(a.Keys, b.Keys, func(x, y Key) int {
			return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Value, y.Value))
		}))
	}))
}

// HasWildcard reports whether p has an explicit wildcard. A missing key is a wildcard too, but only the tree can detect it.
func (p Path) HasWildcard() bool {
	for _, e := range p.Elems {
		if e.Name == Any || e.Name == AnyDepth {
			return true
		}
		for _, k := range e.Keys {
			if k.Value == Any {
				return true
			}
		}
	}
	return false
}

// deep reports whether p has an element "...".
func (p Path) deep() bool {
	return slices.ContainsFunc(p.Elems, func(e Elem) bool { return e.Name == AnyDepth })
}
