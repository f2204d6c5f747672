package gnmitree

import (
	"cmp"
	"slices"
	"strings"
)

// Path is a path of a target's tree, or a pattern of such paths: an element's name or a key's value may be "*", which
// stands for any one, an element may be "...", which stands for any number of elements, and a key that an element of a
// pattern leaves out may have any value (gNMI specification, 2.4.1). The zero value is the root. Paths share their
// parts: what made one must not change its slices afterwards.
type Path struct {
	Origin string // as the client or the tree says it, empty where neither does
	Elems  []Elem
}

// Elem is one element of a path: a container, a leaf, or with keys an entry of a list.
type Elem struct {
	Name string
	Keys []Key // sorted by name
}

// Key is a key of a list entry and its value as text.
type Key struct{ Name, Value string }

// Wildcards of names, key values and elements.
const (
	Any      = "*"   // any name of one element, any value of one key
	AnyDepth = "..." // any number of elements, none included
)

// PathOf is the path of elements without keys.
func PathOf(names ...string) Path {
	p := Path{Elems: make([]Elem, len(names))}
	for i, n := range names {
		p.Elems[i].Name = n
	}
	return p
}

// Child is the path of an element below p, which stays as it is.
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

// Join is the path of q's elements below p. The origin is p's, or q's where p has none.
func (p Path) Join(q Path) Path {
	if p.Origin == "" {
		p.Origin = q.Origin
	}
	p.Elems = slices.Concat(p.Elems, q.Elems)
	return p
}

// First is the path of p's first n elements, and the rest those below it. It takes n from 0 to len(p.Elems).
func (p Path) First(n int) Path { return Path{p.Origin, p.Elems[:n:n]} }

// Last is the name of p's last element, and empty for the root.
func (p Path) Last() string {
	if len(p.Elems) == 0 {
		return ""
	}
	return p.Elems[len(p.Elems)-1].Name
}

// Key is the value of a key of the element at index i, and empty where there is none.
func (p Path) Key(i int, name string) string {
	if i < 0 || i >= len(p.Elems) {
		return ""
	}
	v, _ := p.Elems[i].Key(name)
	return v
}

// Key is the value of a key of e.
func (e Elem) Key(name string) (string, bool) {
	for _, k := range e.Keys {
		if k.Name == name {
			return k.Value, true
		}
	}
	return "", false
}

// Equal tells whether p and q are the same path, origins included.
func (p Path) Equal(q Path) bool {
	return p.Origin == q.Origin && sameElems(p.Elems, q.Elems)
}

// sameElems is fast for paths that were made from one another.
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

// Compare orders paths: by origin, then element by element, what is above before what is below it.
func (p Path) Compare(q Path) int {
	return cmp.Or(strings.Compare(p.Origin, q.Origin), slices.CompareFunc(p.Elems, q.Elems, func(a, b Elem) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), slices.CompareFunc(a.Keys, b.Keys, func(x, y Key) int {
			return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Value, y.Value))
		}))
	}))
}

// Wild tells whether p has a wildcard that is written out. A key that is left out is one too, which only the tree can
// know.
func (p Path) Wild() bool {
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

// deep tells whether p has an element that stands for any number of elements.
func (p Path) deep() bool {
	return slices.ContainsFunc(p.Elems, func(e Elem) bool { return e.Name == AnyDepth })
}
