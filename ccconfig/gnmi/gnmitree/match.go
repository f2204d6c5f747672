package gnmitree

import (
	"slices"
	"strings"
)

// Match reports whether p matches path itself. Origins are not compared.
func (p Path) Match(path Path) bool {
	if !p.deep() {
		return len(p.Elems) == len(path.Elems) && matchElems(p.Elems, path.Elems)
	}
	return matchDeep(p.Elems, path.Elems)
}

// Covers reports whether p matches path or a node above it. Origins are not compared.
func (p Path) Covers(path Path) bool {
	_, ok := p.Node(path)
	return ok
}

// Node returns the smallest number of path's elements that p matches: path is at or below the node with these elements. ok is
// false if p matches no node at or above path. Origins are not compared.
func (p Path) Node(path Path) (n int, ok bool) {
	if !p.deep() {
		n = len(p.Elems)
		return n, n <= len(path.Elems) && matchElems(p.Elems, path.Elems[:n])
	}
	for n = range len(path.Elems) + 1 {
		if matchDeep(p.Elems, path.Elems[:n]) {
			return n, true
		}
	}
	return 0, false
}

// within returns a pattern of the nodes that are both at or below changed and at or below a node that p matches. ok is false if
// there are none. For patterns with "..." the result may match more.
func (p Path) within(changed Path) (Path, bool) {
	if p.deep() || changed.deep() {
		return p, mayMeet(p.Elems, changed.Elems)
	}
	longer, n := p.Elems, len(changed.Elems)
	if len(longer) < n {
		longer, n = changed.Elems, len(longer)
	}
	out := Path{Origin: p.Origin, Elems: slices.Clone(longer)}
	for i := range n {
		e, ok := meet(p.Elems[i], changed.Elems[i])
		if !ok {
			return Path{}, false
		}
		out.Elems[i] = e
	}
	return out, true
}

// mayMeet returns false only if no node at or below q is at or below a node that p matches: it compares the elements before the
// first "...".
func mayMeet(p, q []Elem) bool {
	for i := range min(len(p), len(q)) {
		if p[i].Name == AnyDepth || q[i].Name == AnyDepth {
			return true
		}
		if _, ok := meet(p[i], q[i]); !ok {
			return false
		}
	}
	return true
}

// meet returns a pattern of the elements that both a and b match.
func meet(a, b Elem) (Elem, bool) {
	if a.Name == Any {
		a.Name = b.Name
	}
	if a.Name != b.Name && b.Name != Any {
		return Elem{}, false
	}
	for _, k := range b.Keys {
		v, ok := a.Key(k.Name)
		switch {
		case !ok || v == Any:
			a.Keys = append(slices.DeleteFunc(slices.Clone(a.Keys), func(x Key) bool { return x.Name == k.Name }), k)
		case k.Value != Any && k.Value != v:
			return Elem{}, false
		}
	}
	slices.SortFunc(a.Keys, func(x, y Key) int { return strings.Compare(x.Name, y.Name) })
	return a, true
}

// matchElems compares slices of the same length, the pattern without "...".
func matchElems(pattern, path []Elem) bool {
	for i := range pattern {
		if !matchElem(pattern[i], path[i]) {
			return false
		}
	}
	return true
}

func matchElem(pattern, e Elem) bool {
	if pattern.Name != e.Name && pattern.Name != Any {
		return false
	}
	for _, k := range pattern.Keys {
		v, ok := e.Key(k.Name)
		if !ok || v != k.Value && k.Value != Any {
			return false
		}
	}
	return true
}

// matchDeep matches complete paths, in time proportional to the product of their lengths: if an element after "..." does not
// match, the last "..." consumes one more element.
func matchDeep(pattern, path []Elem) bool {
	at, star, from := 0, -1, 0
	for i := 0; i < len(path); {
		switch {
		case at < len(pattern) && pattern[at].Name == AnyDepth:
			star, from = at, i
			at++
		case at < len(pattern) && matchElem(pattern[at], path[i]):
			at++
			i++
		case star >= 0:
			from++
			at, i = star+1, from
		default:
			return false
		}
	}
	for at < len(pattern) && pattern[at].Name == AnyDepth {
		at++
	}
	return at == len(pattern)
}
